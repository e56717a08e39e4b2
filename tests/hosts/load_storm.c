/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that twenty libraries loaded and unloaded all the time, while their code runs and the
 * profile is written, are no trouble; that code of a library which is gone has kept its name; and
 * that a library finds what it needs by its own path.
 */
/* host: rows B89 B90 */
/* host: libs plug */
/* host: flags -ldl */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=2000 OTELPROF_INTERVAL=50ms */
/* host: sees cpu plug_work */
/* host: runs dlopen|dlmopen */
#include "host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

#define COPIES 20
#define ROUNDS 60

/* In the test's own folder, which goes when the test is over: the files are read once more when the
 * process ends, for the names of what was seen last. */
static char folder[4096];
static char paths[COPIES][4200];
static int is_other_space;

static int copy(const char *from, const char *to)
{
    char bytes[65536];
    int in = open(from, O_RDONLY);
    int out = open(to, O_WRONLY | O_CREAT | O_EXCL, 0755);
    ssize_t n;
    while ((n = read(in, bytes, sizeof(bytes))) > 0) {
        if (write(out, bytes, (size_t)n) != n) {
            return 0;
        }
    }
    close(in);
    close(out);
    return n == 0;
}

static void *storm(void *arg)
{
    int *first = arg;
    int good = 0;
    for (int i = 0; i < ROUNDS; i++) {
        const char *path = paths[(*first + i) % COPIES];
        void *h = is_other_space ? dlmopen(LM_ID_NEWLM, path, RTLD_NOW)
                                 : dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (h == NULL) {
            printf("%s\n", dlerror());
            break;
        }
        unsigned long (*work)(unsigned long) =
            (unsigned long (*)(unsigned long))dlsym(h, "plug_work");
        host_sink += work(is_other_space ? 2000000 : 800000);
        good += dlclose(h) == 0;
    }
    return good == ROUNDS ? arg : NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[4];
    int firsts[4];
    char from[4096];
    int good = 0;
    /* The other name spaces are few: one thread alone uses them. */
    is_other_space = argc > 1 && strcmp(argv[1], "dlmopen") == 0;
    int count = is_other_space ? 1 : 4;
    snprintf(from, sizeof(from), "%s/plug.so", getenv("HOST_LIBS"));
    if (getcwd(folder, sizeof(folder) - 30) == NULL) {
        return 1;
    }
    memcpy(folder + strlen(folder), "/plugs.XXXXXX", sizeof("/plugs.XXXXXX"));
    host_check(mkdtemp(folder) != NULL, "a folder");
    for (int i = 0; i < COPIES; i++) {
        snprintf(paths[i], sizeof(paths[i]), "%s/plug%d.so", folder, i);
        host_check(copy(from, paths[i]), "a copy");
    }
    for (int i = 0; i < count; i++) {
        firsts[i] = i * 5;
        pthread_create(&t[i], NULL, storm, &firsts[i]);
    }
    for (int i = 0; i < count; i++) {
        void *result = NULL;
        pthread_join(t[i], &result);
        good += result != NULL;
    }
    host_check(good == count, "each library was loaded, ran and went");
    return host_end("twenty libraries, loaded and unloaded");
}
