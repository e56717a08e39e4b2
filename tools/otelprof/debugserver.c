/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The library is loaded when it is needed: linked, it would bring libcurl and what that needs to
 * everybody who only wants to look at a profile.
 */
#include "tools/otelprof/debugserver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIBRARY "libdebuginfod.so.1"

typedef void *begin_function(void);
typedef void end_function(void *client);
typedef int find_function(void *client, const unsigned char *build_id, int len, char **out_path);

struct otp_debugserver {
    void *library;
    void *client;
    end_function *end;
    find_function *find_debuginfo;
    find_function *find_executable;
};

bool otp_debugserver_is_wanted(void)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    return urls != NULL && urls[strspn(urls, " ")] != '\0';
}

/* Looks a function of the library up. */
static void find(void *library, const char *name, void *out_function)
{
    void *found = dlsym(library, name);
    memcpy(out_function, &found, sizeof(found));
}

struct otp_debugserver *otp_debugserver_open(const char **out_why)
{
    struct otp_debugserver *s = calloc(1, sizeof(*s));
    begin_function *begin = NULL;

    *out_why = "no memory";
    if (s == NULL) {
        return NULL;
    }
    s->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (s->library != NULL) {
        find(s->library, "debuginfod_begin", &begin);
        find(s->library, "debuginfod_end", &s->end);
        find(s->library, "debuginfod_find_debuginfo", &s->find_debuginfo);
        find(s->library, "debuginfod_find_executable", &s->find_executable);
    }
    if (begin != NULL && s->end != NULL && s->find_debuginfo != NULL &&
        s->find_executable != NULL) {
        s->client = begin();
    }
    if (s->client == NULL) {
        *out_why = s->library == NULL ? LIBRARY " is not installed" : LIBRARY " does not start";
        otp_debugserver_close(s);
        return NULL;
    }
    return s;
}

void otp_debugserver_close(struct otp_debugserver *s)
{
    if (s == NULL) {
        return;
    }
    if (s->client != NULL) {
        s->end(s->client);
    }
    if (s->library != NULL) {
        (void)dlclose(s->library); /* it is used no more either way */
    }
    free(s);
}

char *otp_debugserver_fetch(struct otp_debugserver *s, const unsigned char *build_id, size_t len,
                            int *out_status)
{
    char *path = NULL;
    int fd = s->find_debuginfo(s->client, build_id, (int)len, &path);

    if (fd < 0) {
        fd = s->find_executable(s->client, build_id, (int)len, &path);
    }
    *out_status = fd;
    if (fd < 0) {
        return NULL;
    }
    (void)close(fd); /* the file stays in the cache under its path */
    return path;
}
