/* SPDX-License-Identifier: Apache-2.0 */
/* Source: unix(7). */
#define _GNU_SOURCE /* struct ucred */
#include "core/engine/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/conf/command.h"
#include "core/engine/answer.h"
#include "core/engine/creds.h"
#include "core/engine/state.h"
#include "core/export/sink.h"

#define CLIENTS 8
#define BACKLOG 16
#define ACCEPTS 16                     /* in one look */
#define ASK_NS UINT64_C(5000000000)    /* to send a request in, unless others need the place */
#define LOOK_NS UINT64_C(100000000)    /* between two looks */
#define LOOK_BUSY_NS UINT64_C(5000000) /* the same while somebody is connected */
#define LOOK_NEVER_NS UINT64_C(10000000000)
#define OVERFLOW_UID 65534U /* any user that this process's user namespace does not know */

struct client {
    int fd; /* plus 1; 0: free */
    uint64_t until_ns;
    struct ucred who;
};

static int listener; /* plus 1; 0: none */
static struct client clients[CLIENTS];
static uint32_t client_count;

/* The name in the abstract namespace; its length as bind wants it. */
static size_t make_name(struct sockaddr_un *a, int number)
{
    struct otp_line line = {0};
    otp_line_str(&line, OTP_COMMAND_SOCKET);
    otp_line_u64(&line, (uint64_t)otp_engine.pid);
    if (number > 0) {
        otp_line_str(&line, ".");
        otp_line_u64(&line, (uint64_t)number);
    }
    memset(a, 0, sizeof(*a));
    a->sun_family = AF_UNIX;
    memcpy(a->sun_path + 1, line.text, line.len);
    return offsetof(struct sockaddr_un, sun_path) + 1 + line.len;
}

/* Binds the first name that is free; 0 or -errno. */
static long bind_name(int fd)
{
    long r = -EADDRINUSE;
    for (int i = 0; i < OTP_COMMAND_SOCKETS && r == -EADDRINUSE; i++) {
        struct sockaddr_un a;
        size_t len = make_name(&a, i);
        r = OTP_SYS3(SYS_bind, fd, &a, len);
    }
    return r < 0 ? r : OTP_SYS2(SYS_listen, fd, BACKLOG);
}

static void log_failure(long error)
{
    struct otp_line line = {0};
    otp_line_str(&line, "the control socket cannot be opened: ");
    otp_line_str(&line,
                 error == EADDRINUSE ? "all its names are taken" : otp_errno_text((int)error));
    otp_engine_log(OTP_LOG_ERROR, line.text, line.len);
}

void otp_control_open(void)
{
    listener = 0;
    client_count = 0;
    memset(clients, 0, sizeof(clients));
    if (!otp_engine.conf.control) {
        return;
    }
    int fd = (int)OTP_SYS3(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    long r = fd < 0 ? fd : bind_name(fd);
    if (r < 0) {
        if (fd >= 0) {
            otp_sys_close(fd);
        }
        log_failure(-r);
        return;
    }
    listener = fd + 1;
}

static void drop(struct client *c)
{
    otp_sys_close(c->fd - 1);
    c->fd = 0;
    client_count--;
}

void otp_control_close(void)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        if (clients[i].fd != 0) {
            drop(&clients[i]);
        }
    }
    if (listener != 0) {
        otp_sys_close(listener - 1);
        listener = 0;
    }
}

/* Whether every user there is has a number of its own here. */
static bool knows_all_users(void)
{
    char text[64] = {0};
    int fd = otp_sys_open("/proc/self/uid_map", O_RDONLY, 0);
    if (fd < 0) {
        return false;
    }
    long n = otp_sys_read_full(fd, text, sizeof(text) - 1);
    otp_sys_close(fd);
    static const char all[] = "4294967295";
    for (long i = 0; i + (long)sizeof(all) - 1 <= n; i++) {
        if (memcmp(text + i, all, sizeof(all) - 1) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_allowed(const struct ucred *who)
{
    uint32_t own = (uint32_t)OTP_SYS0(SYS_geteuid);
    return who->uid == 0 || (who->uid == own && (own != OVERFLOW_UID || knows_all_users()));
}

/* One that fits, or that of whoever has been connected longest. */
static struct client *free_client(void)
{
    struct client *oldest = &clients[0];
    for (size_t i = 0; i < CLIENTS; i++) {
        if (clients[i].fd == 0) {
            return &clients[i];
        }
        oldest = clients[i].until_ns < oldest->until_ns ? &clients[i] : oldest;
    }
    drop(oldest);
    return oldest;
}

static void send_all(int fd, const char *text, size_t len)
{
    (void)OTP_SYS6(SYS_sendto, fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

static void log_request(const struct client *c, struct otp_text request)
{
    struct otp_line line = {0};
    otp_line_str(&line, "control: process ");
    otp_line_i64(&line, c->who.pid);
    otp_line_str(&line, " of user ");
    otp_line_u64(&line, c->who.uid);
    otp_line_str(&line, " asks: ");
    otp_command_show(&line, request);
    otp_engine_log(OTP_LOG_DEBUG, line.text, line.len);
}

/* True when it has asked something. */
static bool hear(struct client *c, uint64_t now)
{
    static struct otp_reply reply;
    char text[OTP_COMMAND_MAX + 1];
    long n = OTP_SYS6(SYS_recvfrom, c->fd - 1, text, sizeof(text), MSG_DONTWAIT, 0, 0);
    if (n == -EAGAIN && now < c->until_ns) {
        return false;
    }
    if (n > 0) {
        struct otp_text request = otp_text_make(text, (size_t)n);
        log_request(c, request);
        otp_answer(request, &reply);
        send_all(c->fd - 1, reply.text, reply.len);
    }
    drop(c);
    return n > 0;
}

/* An end with something unread in it would take the answer away, too. */
static void refuse(int fd)
{
    static const char refusal[] = "error: only root and the user of the process may ask\n";
    char unread[16];
    send_all(fd, refusal, sizeof(refusal) - 1);
    (void)OTP_SYS2(SYS_shutdown, fd, SHUT_RD);
    for (int i = 0;
         i < ACCEPTS && OTP_SYS6(SYS_recvfrom, fd, unread, sizeof(unread), MSG_DONTWAIT, 0, 0) > 0;
         i++) {
    }
    otp_sys_close(fd);
}

/* True when it has asked something already. */
static bool admit(int fd, uint64_t now)
{
    struct ucred who = {0};
    socklen_t len = sizeof(who);
    if (OTP_SYS5(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &who, &len) < 0 ||
        !is_allowed(&who)) {
        refuse(fd);
        return false;
    }
    struct client *c = free_client();
    c->fd = fd + 1;
    c->until_ns = now + ASK_NS;
    c->who = who;
    client_count++;
    return hear(c, now);
}

static bool accept_some(uint64_t now)
{
    bool has_asked = false;
    for (int i = 0; i < ACCEPTS; i++) {
        int fd = (int)OTP_SYS4(SYS_accept4, listener - 1, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd < 0) {
            break;
        }
        if (i == 0) {
            otp_creds_follow(); /* the process may have another user by now */
        }
        has_asked = admit(fd, now) || has_asked;
    }
    return has_asked;
}

bool otp_control_serve(void)
{
    if (listener == 0) {
        return false;
    }
    uint64_t now = otp_sys_monotonic_ns();
    bool has_asked = accept_some(now);
    for (size_t i = 0; i < CLIENTS; i++) {
        if (clients[i].fd != 0) {
            has_asked = hear(&clients[i], now) || has_asked;
        }
    }
    return has_asked;
}

uint64_t otp_control_pause_ns(void)
{
    if (listener == 0) {
        return LOOK_NEVER_NS;
    }
    return client_count > 0 ? LOOK_BUSY_NS : LOOK_NS;
}
