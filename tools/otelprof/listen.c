/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4 */
#include "tools/otelprof/listen.h"

#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/base/fmt.h"

#define BACKLOG 512
#define HOST_ROOM 256
#define PORT_ROOM 32

static bool fail(struct otp_listener *l, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool fail(struct otp_listener *l, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(l->why, sizeof(l->why), format, args);
    va_end(args);
    if (l->fd >= 0) {
        (void)close(l->fd); /* nothing was received on it */
    }
    l->fd = -1;
    return false;
}

/* True when something answers at the path. */
static bool is_listened_on(const struct sockaddr_un *addr)
{
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool answers = fd >= 0 && (connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) == 0 ||
                               errno != ECONNREFUSED);
    if (fd >= 0) {
        (void)close(fd); /* nothing was sent */
    }
    return answers;
}

/* Makes way for the socket, but only where a dead socket lies. */
static bool clear_path(struct otp_listener *l, const struct sockaddr_un *addr)
{
    struct stat st;

    if (lstat(addr->sun_path, &st) != 0) {
        return true;
    }
    if (!S_ISSOCK(st.st_mode)) {
        return fail(l, "%s is there and is not a socket", addr->sun_path);
    }
    if (is_listened_on(addr)) {
        return fail(l, "somebody listens on %s already", addr->sun_path);
    }
    return unlink(addr->sun_path) == 0 || fail(l, "%s: %s", addr->sun_path, strerror(errno));
}

static bool open_unix(struct otp_listener *l, const char *path)
{
    struct sockaddr_un addr = {.sun_family = AF_UNIX};
    size_t len = strlen(path);

    if (len == 0 || len >= sizeof(addr.sun_path)) {
        return fail(l, "the path of a unix socket has 1 to %zu characters",
                    sizeof(addr.sun_path) - 1);
    }
    memcpy(addr.sun_path, path, len + 1);
    /* An abstract name has no file; its length counts. */
    bool is_abstract = path[0] == '@';
    socklen_t addr_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
    addr.sun_path[0] = is_abstract ? '\0' : addr.sun_path[0];
    if (!is_abstract && !clear_path(l, &addr)) {
        return false;
    }
    l->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (l->fd < 0 ||
        bind(l->fd, (const struct sockaddr *)&addr, addr_len + (is_abstract ? 0 : 1)) != 0 ||
        listen(l->fd, BACKLOG) != 0) {
        return fail(l, "%s: %s", path, strerror(errno));
    }
    (void)snprintf(l->path, sizeof(l->path), "%s", is_abstract ? "" : path);
    (void)snprintf(l->shown, sizeof(l->shown), "unix:%s", path);
    return true;
}

/* HOST:PORT, an IPv6 address in brackets. */
static bool split(const char *text, char *host, char *port)
{
    const char *colon = strrchr(text, ':');
    uint64_t number;

    if (colon == NULL || strlen(colon + 1) >= PORT_ROOM ||
        !otp_fmt_parse_u64(colon + 1, strlen(colon + 1), &number) || number > 65535) {
        return false;
    }
    size_t len = (size_t)(colon - text);
    if (len > 1 && text[0] == '[' && text[len - 1] == ']') {
        text++;
        len -= 2;
    }
    if (len == 0 || len >= HOST_ROOM) {
        return false;
    }
    memcpy(host, text, len);
    host[len] = '\0';
    memcpy(port, colon + 1, strlen(colon + 1) + 1);
    return true;
}

static void show_tcp(struct otp_listener *l)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    char host[HOST_ROOM];
    char port[PORT_ROOM];

    if (getsockname(l->fd, (struct sockaddr *)&addr, &len) == 0 &&
        getnameinfo((const struct sockaddr *)&addr, len, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        bool is_v6 = strchr(host, ':') != NULL;
        (void)snprintf(l->shown, sizeof(l->shown), "tcp:%s%s%s:%s", is_v6 ? "[" : "", host,
                       is_v6 ? "]" : "", port);
    }
}

static bool open_tcp(struct otp_listener *l, const char *text)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char host[HOST_ROOM];
    char port[PORT_ROOM];
    int on = 1;

    if (!split(text, host, port)) {
        return fail(l, "\"%s\" is not HOST:PORT, with a port from 0 to 65535", text);
    }
    int error = getaddrinfo(host, port, &hints, &found);
    if (error != 0) {
        return fail(l, "%s: %s", text, gai_strerror(error));
    }
    l->fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool ok = l->fd >= 0 && setsockopt(l->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
              bind(l->fd, found->ai_addr, found->ai_addrlen) == 0 && listen(l->fd, BACKLOG) == 0;
    error = errno;
    freeaddrinfo(found);
    if (!ok) {
        return fail(l, "%s: %s", text, strerror(error));
    }
    show_tcp(l);
    return true;
}

bool otp_listener_open(struct otp_listener *l, const char *address)
{
    memset(l, 0, sizeof(*l));
    l->fd = -1;
    if (strncmp(address, "unix:", 5) == 0) {
        return open_unix(l, address + 5);
    }
    if (strncmp(address, "tcp:", 4) == 0) {
        return open_tcp(l, address + 4);
    }
    return fail(l, "\"%s\" is neither unix:PATH nor tcp:HOST:PORT", address);
}

void otp_listener_close(struct otp_listener *l)
{
    if (l->fd >= 0) {
        (void)close(l->fd); /* what was waiting there was never ours */
    }
    if (l->path[0] != '\0') {
        (void)unlink(l->path); /* it may be gone already */
    }
    l->fd = -1;
    l->path[0] = '\0';
}

int otp_listener_accept(const struct otp_listener *l, char *out_peer, size_t room)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof(addr);
    char host[HOST_ROOM];
    char port[PORT_ROOM];
    int fd = accept4(l->fd, (struct sockaddr *)&addr, &len, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0) {
        return -1;
    }
    struct ucred who;
    socklen_t who_len = sizeof(who);
    if (addr.ss_family == AF_UNIX && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &who_len) == 0) {
        (void)snprintf(out_peer, room, "pid %ld", (long)who.pid);
    } else if (getnameinfo((const struct sockaddr *)&addr, len, host, sizeof(host), port,
                           sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) == 0) {
        (void)snprintf(out_peer, room, "%s:%s", host, port);
    } else {
        (void)snprintf(out_peer, room, "(unknown)");
    }
    return fd;
}
