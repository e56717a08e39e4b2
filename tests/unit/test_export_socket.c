/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The socket sink against receivers of every kind of manners. Sink and receiver take turns in one
 * thread, so that each step of the machine is seen; nothing sleeps, all waiting is poll() with an
 * end.
 */
#define _GNU_SOURCE /* O_TMPFILE */
#include <check.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/annot.h"
#include "core/base/sys.h"
#include "core/export/sink_socket.h"
#include "tests/unit/run.h"

#define MS 1000000ULL
#define PATIENCE_NS (20000 * MS) /* far more than any step needs */
#define BIG ((size_t)12 << 20)   /* more than the kernel's buffers hold */

static struct otp_sink_socket k;
static struct otp_sink_socket_options options;
static struct otp_heap heap;
static char target[128];
static char path[64];
static char resolv[80];
static char spool[80];
static unsigned char *big;
static uint64_t flush;

/* Cases run over both kinds: 0 is a Unix socket, 1 is TCP. */
static bool is_unix(int i)
{
    return i == 0;
}

static void set_up(void)
{
    otp_heap_init(&heap, (size_t)64 << 20);
    memset(&options, 0, sizeof(options));
    options.heap = &heap;
    options.queue_bytes = (size_t)32 << 20;
    options.backoff_min_ns = 20 * MS;
    options.backoff_max_ns = 160 * MS;
    snprintf(path, sizeof(path), "/tmp/otp-sock-%d", getpid());
    snprintf(resolv, sizeof(resolv), "%s.resolv", path);
    snprintf(spool, sizeof(spool), "%s.spool", path);
    big = malloc(BIG);
    ck_assert_ptr_nonnull(big);
    for (size_t i = 0; i < BIG; i++) {
        big[i] = (unsigned char)(i * 2654435761U >> 13);
    }
    flush = 0;
}

static void tear_down(void)
{
    char command[128];
    unlink(path);
    unlink(resolv);
    snprintf(command, sizeof(command), "rm -rf %s", spool);
    ck_assert_int_eq(system(command), 0);
    free(big);
    otp_heap_reset(&heap);
}

static int listen_at(const struct sockaddr *a, socklen_t len, int backlog)
{
    int one = 1;
    int fd = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_ge(fd, 0);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    ck_assert_msg(bind(fd, a, len) == 0, "bind: %s", strerror(errno));
    ck_assert_int_eq(listen(fd, backlog), 0);
    return fd;
}

static int listen_unix(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    strncpy(a.sun_path, path, sizeof(a.sun_path) - 1);
    unlink(path);
    return listen_at((const struct sockaddr *)&a, sizeof(a), 8);
}

static int listen_tcp(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(*port)};
    socklen_t len = sizeof(a);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = listen_at((const struct sockaddr *)&a, sizeof(a), 8);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&a, &len), 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static uint16_t port_of_target(void)
{
    const char *colon = strrchr(target, ':');
    return colon == NULL ? 0 : (uint16_t)strtoul(colon + 1, NULL, 10);
}

/* A listener of that kind, and the target that leads to it. Again: at the same target. */
static int listen_again(bool at_unix)
{
    uint16_t port = port_of_target();
    int fd = at_unix ? listen_unix() : listen_tcp(&port);
    if (at_unix) {
        snprintf(target, sizeof(target), "%s", path);
    } else {
        snprintf(target, sizeof(target), "127.0.0.1:%u", (unsigned)port);
    }
    return fd;
}

static int listen_fresh(bool at_unix)
{
    target[0] = '\0';
    return listen_again(at_unix);
}

static void open_sink(bool at_unix)
{
    options.is_unix = at_unix;
    options.target = otp_text_of(target);
    ck_assert_int_eq((int)otp_sink_socket_init(&k, &options), OTP_OK);
}

static enum otp_status put(const void *data, size_t len, uint64_t deadline_ns)
{
    struct otp_message m = {.data = data, .len = len, .flush = flush++};
    return otp_sink_put(&k.base, &m, deadline_ns);
}

static enum otp_status put_text(const char *text)
{
    return put(text, strlen(text), otp_sys_monotonic_ns() + PATIENCE_NS);
}

static int accept_one(int listener)
{
    struct pollfd p = {.fd = listener, .events = POLLIN};
    uint64_t end = otp_sys_monotonic_ns() + PATIENCE_NS;
    int n = 0;
    while (n == 0 && otp_sys_monotonic_ns() < end) {
        (void)otp_sink_pump(&k.base, 0, false);
        n = poll(&p, 1, 5);
    }
    ck_assert_int_eq(n, 1);
    int fd = accept(listener, NULL, NULL);
    ck_assert_int_ge(fd, 0);
    return fd;
}

/* Reads exactly len bytes while the sink goes on sending. */
static void receive(int fd, void *to, size_t len, size_t most_at_once)
{
    uint64_t end = otp_sys_monotonic_ns() + PATIENCE_NS;
    size_t got = 0;
    while (got < len) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        (void)otp_sink_pump(&k.base, 0, false);
        if (poll(&p, 1, 5) > 0) {
            size_t most = len - got < most_at_once ? len - got : most_at_once;
            ssize_t n = recv(fd, (char *)to + got, most, 0);
            ck_assert_msg(n > 0, "after %zu of %zu: %s", got, len, strerror(errno));
            got += (size_t)n;
        }
        ck_assert_msg(otp_sys_monotonic_ns() < end, "only %zu of %zu bytes came", got, len);
    }
}

static void receive_message(int fd, const void *want, size_t want_len)
{
    unsigned char header[4];
    receive(fd, header, 4, 4);
    ck_assert_uint_eq((size_t)header[0] << 24 | (size_t)header[1] << 16 | (size_t)header[2] << 8 |
                          header[3],
                      want_len);
    unsigned char *got = malloc(want_len + 1);
    ck_assert_ptr_nonnull(got);
    receive(fd, got, want_len, 65536);
    ck_assert_int_eq(memcmp(got, want, want_len), 0);
    free(got);
}

static void receive_text(int fd, const char *want)
{
    receive_message(fd, want, strlen(want));
}

static void assert_nothing_more(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    (void)otp_sink_pump(&k.base, 0, false);
    ck_assert_int_eq(poll(&p, 1, 20), 0);
}

/* Pumps until the queue is empty. */
static void drain(void)
{
    uint64_t end = otp_sys_monotonic_ns() + PATIENCE_NS;
    ck_assert_int_eq((int)otp_sink_pump(&k.base, end, false), OTP_OK);
}

static void reset_connection(int fd)
{
    struct linger hard = {.l_onoff = 1, .l_linger = 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    close(fd);
}

START_TEST(test_messages_arrive_framed)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    ck_assert_int_eq(k.conn.fd.fd, -1);
    ck_assert_uint_eq(k.base.wake_ns, UINT64_MAX);
    ck_assert_int_eq((int)put_text("hello"), OTP_OK);
    int fd = accept_one(listener);
    ck_assert_int_eq(fcntl(k.conn.fd.fd, F_GETFD), FD_CLOEXEC);
    receive_text(fd, "hello");
    ck_assert_int_eq((int)put("", 0, otp_sys_monotonic_ns() + PATIENCE_NS), OTP_OK);
    ck_assert_int_eq((int)put_text("again"), OTP_OK);
    receive_text(fd, "");
    receive_text(fd, "again");
    assert_nothing_more(fd);
    ck_assert_uint_eq(k.base.sent_messages, 3);
    ck_assert_uint_eq(k.base.queued_messages, 0);
    ck_assert_uint_eq(k.base.queued_bytes, 0);
    ck_assert_uint_eq(k.base.dropped_messages, 0);
    otp_sink_close(&k.base);
    char c;
    ck_assert_int_eq(recv(fd, &c, 1, 0), 0);
}
END_TEST

/* What goes out after a failure is not believed to have arrived until the peer has it for a while.
 */
START_TEST(test_what_is_sent_after_a_failure_is_unsure)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    ck_assert_int_eq((int)put_text("one"), OTP_OK);
    ck_assert(!k.base.is_unsure);
    reset_connection(accept_one(listener));
    drain();
    ck_assert_uint_ge(k.backlog.failures, 1);
    ck_assert_uint_eq(k.base.unconfirmed_messages, 1);
    ck_assert(k.base.is_unsure);
    int fd = accept_one(listener);
    receive_text(fd, "one");
    ck_assert_int_eq((int)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + PATIENCE_NS, true),
                     OTP_OK);
    ck_assert_uint_eq(k.base.unconfirmed_messages, 0);
    ck_assert(!k.base.is_unsure);
    ck_assert_uint_eq(k.backlog.failures, 0);
    close(fd);
    close(listener);
}
END_TEST

START_TEST(test_receiver_that_comes_later)
{
    int listener = listen_fresh(is_unix(_i));
    struct otp_line line = {0};
    close(listener);
    unlink(path);
    open_sink(is_unix(_i));
    ck_assert_int_eq((int)put("one", 3, 0), OTP_AGAIN);
    ck_assert_int_eq((int)put("two", 3, 0), OTP_AGAIN);
    ck_assert_int_eq(k.base.error, is_unix(_i) ? ENOENT : ECONNREFUSED);
    ck_assert_uint_eq(k.base.queued_messages, 2);
    ck_assert_uint_eq(k.base.queued_bytes, 6);
    ck_assert_uint_ne(k.base.wake_ns, UINT64_MAX);
    otp_sink_describe(&k.base, &line);
    line.text[line.len] = '\0';
    char want[256];
    snprintf(want, sizeof(want), "cannot connect to %s:%s: %s", is_unix(_i) ? "unix" : "tcp",
             target, is_unix(_i) ? "no such file or folder" : "connection refused");
    ck_assert_str_eq(line.text, want);

    listener = listen_again(is_unix(_i));
    drain();
    int fd = accept_one(listener);
    receive_text(fd, "one");
    receive_text(fd, "two");
    ck_assert_int_eq(k.base.error, 0);
}
END_TEST

START_TEST(test_pauses_grow_to_a_limit)
{
    int listener = listen_fresh(is_unix(_i));
    close(listener);
    unlink(path);
    open_sink(is_unix(_i));
    (void)put("x", 1, 0);
    for (unsigned attempt = 1; attempt <= 8; attempt++) {
        uint64_t full = 20 * MS << (attempt - 1);
        full = full > 160 * MS ? 160 * MS : full;
        uint64_t before = otp_sys_monotonic_ns();
        k.backlog.failures = attempt - 1;
        k.backlog.retry_ns = 0;
        ck_assert_int_eq((int)otp_sink_pump(&k.base, 0, false), OTP_AGAIN);
        uint64_t after = otp_sys_monotonic_ns();
        ck_assert_uint_eq(k.backlog.failures, attempt);
        ck_assert_uint_ge(k.backlog.retry_ns, before + full / 2);
        ck_assert_uint_le(k.backlog.retry_ns, after + full);
        ck_assert_uint_eq(k.base.wake_ns, k.backlog.retry_ns);
    }
    /* Within the pause there is no attempt. */
    k.backlog.retry_ns = otp_sys_monotonic_ns() + PATIENCE_NS;
    (void)otp_sink_pump(&k.base, 0, false);
    ck_assert_uint_eq(k.backlog.failures, 8);
    /* With time enough there are some, and the deadline holds. */
    k.backlog.retry_ns = 0;
    uint64_t begin = otp_sys_monotonic_ns();
    ck_assert_int_eq((int)otp_sink_pump(&k.base, begin + 400 * MS, false), OTP_AGAIN);
    ck_assert_uint_ge(otp_sys_monotonic_ns(), begin + 400 * MS);
    ck_assert_uint_gt(k.backlog.failures, 8);
    ck_assert_uint_lt(k.backlog.failures, 8 + 8);
    /* At the end of the process the pause is cut short. */
    k.backlog.retry_ns = otp_sys_monotonic_ns() + 3600000 * MS;
    unsigned failures = k.backlog.failures;
    (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + 200 * MS, true);
    ck_assert_uint_gt(k.backlog.failures, failures);
}
END_TEST

START_TEST(test_slow_reader_gets_it_whole)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    uint64_t begin = otp_sys_monotonic_ns();
    ck_assert_int_eq((int)put(big, BIG, begin + 30 * MS), OTP_AGAIN);
    ck_assert_uint_ge(otp_sys_monotonic_ns(), begin + 30 * MS);
    ck_assert_uint_gt(k.first_sent, 0);
    ck_assert_int_eq((int)put("after", 5, 0), OTP_AGAIN);
    int fd = accept_one(listener);
    receive_message(fd, big, BIG);
    receive_text(fd, "after");
    ck_assert_uint_eq(k.base.sent_messages, 2);
}
END_TEST

/* Closed with bytes unread, or reset, in the middle: the whole message comes over the next one. */
START_TEST(test_connection_lost_in_the_middle)
{
    unsigned char some[1000];
    int listener = listen_fresh(is_unix(_i % 2));
    open_sink(is_unix(_i % 2));
    ck_assert_int_eq((int)put(big, BIG, 0), OTP_AGAIN);
    ck_assert_int_eq((int)put("after", 5, 0), OTP_AGAIN);
    int fd = accept_one(listener);
    receive(fd, some, _i < 2 ? sizeof(some) : 1, sizeof(some));
    if (_i < 4) {
        close(fd);
    } else {
        reset_connection(fd);
    }
    fd = accept_one(listener);
    receive_message(fd, big, BIG);
    receive_text(fd, "after");
    assert_nothing_more(fd);
    ck_assert_uint_eq(k.base.sent_messages, 2);
    ck_assert_uint_eq(k.base.dropped_messages, 0);
}
END_TEST

/* The kernel has taken all of a small message, the receiver nothing. */
START_TEST(test_message_that_nobody_read_comes_again)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    ck_assert_int_eq((int)put_text("unread"), OTP_OK);
    ck_assert_uint_ne(k.base.wake_ns, UINT64_MAX);
    int fd = accept_one(listener);
    struct pollfd p = {.fd = fd, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 10000), 1);
    close(fd);
    fd = accept_one(listener);
    receive_text(fd, "unread");
    ck_assert_int_eq((int)put_text("next"), OTP_OK);
    receive_text(fd, "next");
    assert_nothing_more(fd);
    ck_assert_uint_eq(k.base.sent_messages, 2);
}
END_TEST

START_TEST(test_orderly_close_repeats_nothing)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    for (int round = 0; round < 3; round++) {
        char text[32];
        snprintf(text, sizeof(text), "round %d", round);
        ck_assert_int_ne((int)put(text, strlen(text), 0), OTP_TOO_LARGE);
        int fd = accept_one(listener);
        receive_text(fd, text);
        close(fd);
        ck_assert_uint_eq(k.backlog.failures, 0);
    }
    (void)otp_sink_pump(&k.base, 0, false);
    ck_assert_uint_eq(k.base.sent_messages, 3);
    ck_assert_uint_eq(k.base.queued_messages, 0);
    struct pollfd p = {.fd = listener, .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 20), 0);
}
END_TEST

/* Unix sockets tell when all was read; then the copy is given back. */
START_TEST(test_memory_is_given_back)
{
    int listener = listen_fresh(true);
    open_sink(true);
    ck_assert_int_eq((int)put_text("x"), OTP_OK);
    ck_assert_ptr_nonnull(k.held);
    int fd = accept_one(listener);
    receive_text(fd, "x");
    (void)otp_sink_pump(&k.base, 0, false);
    ck_assert_ptr_null(k.held);
    ck_assert_uint_eq(k.base.wake_ns, UINT64_MAX);
    for (int i = 0; i < 50; i++) {
        (void)put(big, (size_t)3 << 20, 0);
        receive_message(fd, big, (size_t)3 << 20);
    }
    otp_sink_close(&k.base);
    ck_assert_uint_le(heap.mapped_bytes, (size_t)1 << 20);
}
END_TEST

/* Accepts and closes at once, for ever: the attempts come in growing pauses. */
START_TEST(test_receiver_that_hangs_up)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    uint64_t begin = otp_sys_monotonic_ns();
    (void)put(big, BIG, 0);
    for (unsigned i = 0; i < 6; i++) {
        close(accept_one(listener));
    }
    /* Five pauses, each at least half of 20, 40, 80, 160 and 160 ms. */
    ck_assert_uint_ge(otp_sys_monotonic_ns(), begin + 230 * MS);
    ck_assert_uint_eq(k.base.queued_messages, 1);
}
END_TEST

static void put_numbered(unsigned number)
{
    unsigned char text[1000];
    memset(text, (int)number, sizeof(text));
    ck_assert_int_eq((int)put(text, sizeof(text), 0), OTP_AGAIN);
}

static void receive_numbered(int fd, unsigned number)
{
    unsigned char text[1000];
    memset(text, (int)number, sizeof(text));
    receive_message(fd, text, sizeof(text));
}

START_TEST(test_full_queue_keeps_the_newest)
{
    int listener = listen_fresh(is_unix(_i));
    close(listener);
    unlink(path);
    options.queue_bytes = 10 * 1000;
    open_sink(is_unix(_i));
    for (unsigned i = 0; i < 25; i++) {
        put_numbered(i);
        ck_assert_uint_le(k.base.queued_bytes, options.queue_bytes);
    }
    ck_assert_uint_eq(k.base.queued_messages, 10);
    ck_assert_uint_eq(k.base.dropped_messages, 15);
    ck_assert_uint_eq(k.base.dropped_bytes, 15000);
    listener = listen_again(is_unix(_i));
    int fd = accept_one(listener);
    for (unsigned i = 15; i < 25; i++) {
        receive_numbered(fd, i);
    }
    assert_nothing_more(fd);
    ck_assert_uint_eq(k.base.sent_messages, 10);
}
END_TEST

/* The message of which bytes are under way goes last, and never as a torn one before another. */
START_TEST(test_full_queue_while_sending)
{
    int listener = listen_fresh(is_unix(_i));
    options.queue_bytes = BIG + 2 * 1000;
    open_sink(is_unix(_i));
    (void)put(big, BIG, 0);
    int fd = accept_one(listener);
    ck_assert_uint_gt(k.first_sent, 0);
    for (unsigned i = 0; i < 5; i++) {
        put_numbered(i);
    }
    ck_assert_uint_eq(k.base.dropped_messages, 3);
    receive_message(fd, big, BIG);
    receive_numbered(fd, 3);
    receive_numbered(fd, 4);
    assert_nothing_more(fd);

    (void)put(big, BIG, 0);
    (void)put(big + 1, BIG - 1, 0);
    ck_assert_uint_eq(k.base.dropped_messages, 4);
    fd = accept_one(listener);
    receive_message(fd, big + 1, BIG - 1);
    assert_nothing_more(fd);
}
END_TEST

START_TEST(test_message_larger_than_the_queue_is_refused)
{
    (void)listen_fresh(true);
    options.queue_bytes = 1000;
    open_sink(true);
    ck_assert_int_eq((int)put(big, 1001, 0), OTP_TOO_LARGE);
    ck_assert_int_eq(k.base.error, EMSGSIZE);
    ck_assert_uint_eq(k.base.queued_messages, 0);
    ck_assert_int_eq((int)put(big, 1000, otp_sys_monotonic_ns() + PATIENCE_NS), OTP_OK);
}
END_TEST

START_TEST(test_memory_limit_is_an_answer)
{
    (void)listen_fresh(true);
    otp_heap_init(&heap, (size_t)2 << 20);
    open_sink(true);
    ck_assert_int_eq((int)put(big, (size_t)3 << 20, 0), OTP_NO_MEMORY);
    ck_assert_int_eq(k.base.error, ENOMEM);
    ck_assert_int_eq((int)put(big, 1000, otp_sys_monotonic_ns() + PATIENCE_NS), OTP_OK);
}
END_TEST

/* The host closes our descriptor and gets the same number for a file of its own. */
START_TEST(test_descriptor_taken_by_the_host)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    ck_assert_int_eq((int)put_text("one"), OTP_OK);
    int fd = accept_one(listener);
    receive_text(fd, "one");
    int file = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    ck_assert_int_ge(file, 0);
    int number = k.conn.fd.fd;
    ck_assert_int_eq(dup2(file, number), number);
    (void)put("two", 3, 0);
    int next = accept_one(listener);
    receive_text(next, "two");
    ck_assert_int_ge(fcntl(number, F_GETFD), 0);
    ck_assert_int_eq(lseek(file, 0, SEEK_END), 0);
    otp_sink_close(&k.base);
    ck_assert_int_ge(fcntl(number, F_GETFD), 0);
}
END_TEST

/* The same in the middle of a message: its rest must not go to the host's peer. */
START_TEST(test_descriptor_taken_in_the_middle)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    (void)put(big, BIG, 0);
    (void)accept_one(listener);
    ck_assert_uint_gt(k.first_sent, 0);
    int number = k.conn.fd.fd;
    int pair[2];
    ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    ck_assert_int_eq(dup2(pair[0], number), number);
    int fd = accept_one(listener);
    receive_message(fd, big, BIG);
    struct pollfd p = {.fd = pair[1], .events = POLLIN};
    ck_assert_int_eq(poll(&p, 1, 0), 0);
}
END_TEST

/* A connection that was closed before it was of any use needs a pause before the next one. */
START_TEST(test_useless_connection_is_a_failure)
{
    int listener = listen_fresh(is_unix(_i));
    options.backoff_min_ns = options.backoff_max_ns = PATIENCE_NS;
    open_sink(is_unix(_i));
    ck_assert_int_eq((int)put_text("one"), OTP_OK);
    int fd = accept_one(listener);
    receive_text(fd, "one");
    k.has_sent = false;
    close(fd);
    (void)put("two", 3, 0);
    ck_assert_int_eq((int)k.state, OTP_SOCKET_IDLE);
    ck_assert_uint_eq(k.backlog.failures, 1);
    ck_assert_uint_gt(k.backlog.retry_ns, otp_sys_monotonic_ns());
    k.backlog.retry_ns = 0;
    receive_text(accept_one(listener), "two");
}
END_TEST

START_TEST(test_peer_that_takes_nothing_is_given_up)
{
    int listener = listen_fresh(is_unix(_i));
    options.stall_timeout_ns = 50 * MS;
    open_sink(is_unix(_i));
    uint64_t begin = otp_sys_monotonic_ns();
    (void)put(big, BIG, 0);
    (void)accept_one(listener);
    while (k.base.error != ETIMEDOUT && otp_sys_monotonic_ns() < begin + PATIENCE_NS) {
        (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + 10 * MS, false);
    }
    ck_assert_int_eq(k.base.error, ETIMEDOUT);
    ck_assert_uint_ge(otp_sys_monotonic_ns(), begin + 50 * MS);
    k.options.stall_timeout_ns = PATIENCE_NS;
    int fd = accept_one(listener);
    receive_message(fd, big, BIG);
}
END_TEST

/* A listener whose queue is full lets a TCP connection attempt hang. */
START_TEST(test_connecting_has_a_limit)
{
    struct sockaddr_in a = {.sin_family = AF_INET};
    socklen_t len = sizeof(a);
    a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int listener = listen_at((const struct sockaddr *)&a, sizeof(a), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&a, &len), 0);
    for (int i = 0; i < 4; i++) {
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)!connect(fd, (const struct sockaddr *)&a, len);
    }
    snprintf(target, sizeof(target), "127.0.0.1:%u", (unsigned)ntohs(a.sin_port));
    options.connect_timeout_ns = PATIENCE_NS;
    open_sink(false);
    uint64_t begin = otp_sys_monotonic_ns();
    ck_assert_int_eq((int)put("x", 1, begin + 30 * MS), OTP_AGAIN);
    ck_assert_int_eq((int)k.state, OTP_SOCKET_CONNECTING);
    ck_assert_uint_ge(otp_sys_monotonic_ns(), begin + 30 * MS);
    otp_sink_close(&k.base);
    options.connect_timeout_ns = 200 * MS;
    open_sink(false);
    begin = otp_sys_monotonic_ns();
    ck_assert_int_eq((int)put("x", 1, 0), OTP_AGAIN);
    while (k.base.error == 0 && otp_sys_monotonic_ns() < begin + PATIENCE_NS) {
        (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + 10 * MS, false);
    }
    ck_assert_int_eq(k.base.error, ETIMEDOUT);
    ck_assert_uint_ge(otp_sys_monotonic_ns(), begin + 200 * MS);
    ck_assert_str_eq(k.base.failed_step, "connect to");
}
END_TEST

/* localhost means both loopback addresses, whatever the hosts file says. */
START_TEST(test_localhost)
{
    int listener = listen_fresh(false);
    options.hosts_path = "/nonexistent";
    snprintf(target, sizeof(target), "localhost:%u", (unsigned)port_of_target());
    open_sink(false);
    ck_assert_int_eq((int)put_text("v4"), OTP_OK);
    receive_text(accept_one(listener), "v4");
    otp_sink_close(&k.base);

    struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    socklen_t len = sizeof(a);
    int probe = socket(AF_INET6, SOCK_STREAM, 0);
    if (probe < 0 || bind(probe, (struct sockaddr *)&a, len) != 0) {
        return; /* a machine without IPv6 */
    }
    close(probe);
    listener = listen_at((const struct sockaddr *)&a, len, 4);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&a, &len), 0);
    snprintf(target, sizeof(target), "LocalHost:%u", (unsigned)ntohs(a.sin6_port));
    open_sink(false);
    ck_assert_int_eq((int)put_text("v6"), OTP_OK);
    receive_text(accept_one(listener), "v6");
    otp_sink_close(&k.base);

    snprintf(target, sizeof(target), "[::1]:%u", (unsigned)ntohs(a.sin6_port));
    open_sink(false);
    ck_assert_int_eq((int)put_text("v6 number"), OTP_OK);
    receive_text(accept_one(listener), "v6 number");
}
END_TEST

START_TEST(test_names_of_the_hosts_file)
{
    int listener = listen_fresh(false);
    unsigned port = port_of_target();
    FILE *hosts = fopen(path, "w");
    ck_assert_ptr_nonnull(hosts);
    fputs("127.0.0.1 collector # not this\n", hosts);
    fclose(hosts);
    options.hosts_path = path;
    options.resolv_path = resolv;
    FILE *conf = fopen(resolv, "w");
    ck_assert_ptr_nonnull(conf);
    fputs("nameserver [127.0.0.1]:1\n", conf); /* nobody is there */
    fclose(conf);
    snprintf(target, sizeof(target), "Collector:%u", port);
    open_sink(false);
    ck_assert_int_eq((int)put_text("x"), OTP_OK);
    receive_text(accept_one(listener), "x");
    otp_sink_close(&k.base);

    snprintf(target, sizeof(target), "not:%u", port);
    open_sink(false);
    ck_assert_int_eq((int)put("x", 1, 0), OTP_AGAIN);
    uint64_t end = otp_sys_monotonic_ns() + PATIENCE_NS;
    while (k.backlog.failures == 0 && otp_sys_monotonic_ns() < end) {
        (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + 10 * MS, false);
    }
    struct otp_line line = {0};
    otp_sink_describe(&k.base, &line);
    line.text[line.len] = '\0';
    ck_assert_ptr_nonnull(strstr(line.text, "cannot find tcp:not:"));
    ck_assert_ptr_nonnull(strstr(line.text, "(no name server could answer)"));
    ck_assert_uint_gt(k.backlog.retry_ns, 0);
}
END_TEST

START_TEST(test_abstract_and_relative_unix_names)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int n = snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "otp-%d", getpid());
    int listener =
        listen_at((const struct sockaddr *)&a,
                  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n), 4);
    snprintf(target, sizeof(target), "@otp-%d", getpid());
    options.base_path = otp_text_of("/tmp");
    open_sink(true);
    ck_assert_int_eq((int)put_text("abstract"), OTP_OK);
    receive_text(accept_one(listener), "abstract");
    otp_sink_close(&k.base);

    listener = listen_unix();
    ck_assert_int_eq(chdir("/"), 0);
    snprintf(target, sizeof(target), "%s", path + strlen("/tmp/"));
    open_sink(true);
    ck_assert_int_eq((int)put_text("relative"), OTP_OK);
    receive_text(accept_one(listener), "relative");
}
END_TEST

START_TEST(test_what_the_peer_says_is_ignored)
{
    static char noise[4096];
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    ck_assert_int_eq((int)put_text("one"), OTP_OK);
    int fd = accept_one(listener);
    receive_text(fd, "one");
    for (int i = 0; i < 20; i++) {
        ck_assert_int_eq(send(fd, noise, sizeof(noise), 0), sizeof(noise));
        (void)otp_sink_pump(&k.base, 0, false);
    }
    ck_assert_int_eq((int)put_text("two"), OTP_OK);
    receive_text(fd, "two");
    ck_assert_uint_eq(k.backlog.failures, 0);
}
END_TEST

/* The child of a fork throws its copy away; the parent's connection and queue go on. */
START_TEST(test_abandon_in_a_fork_child)
{
    int listener = listen_fresh(is_unix(_i));
    open_sink(is_unix(_i));
    (void)put(big, BIG, 0);
    int fd = accept_one(listener);
    pid_t pid = fork();
    ck_assert_int_ge(pid, 0);
    if (pid == 0) {
        int number = k.conn.fd.fd;
        otp_sink_abandon(&k.base);
        _exit(k.backlog.queue.first == NULL && k.conn.fd.fd == -1 && fcntl(number, F_GETFD) == -1
                  ? 0
                  : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_int_eq(status, 0);
    receive_message(fd, big, BIG);
}
END_TEST

START_TEST(test_targets_that_make_no_sense)
{
    static const char *const bad[] = {"",        "host",   "host:", ":80",     "h:0",
                                      "h:65536", "::1:80", "[]:80", "[::1:80", "h:8x"};
    static char longest[200];
    for (size_t i = 0; i < OTP_ARRAY_LEN(bad); i++) {
        options.target = otp_text_of(bad[i]);
        ck_assert_int_eq((int)otp_sink_socket_init(&k, &options), OTP_INVALID);
        ck_assert_int_eq(k.base.error, EINVAL);
    }
    memset(longest, 'p', sizeof(longest));
    options.is_unix = true;
    options.target = otp_text_make(longest, 107);
    ck_assert_int_eq((int)otp_sink_socket_init(&k, &options), OTP_OK);
    options.target = otp_text_make(longest, 108);
    ck_assert_int_eq((int)otp_sink_socket_init(&k, &options), OTP_INVALID);
    ck_assert_int_eq(k.base.error, ENAMETOOLONG);
    otp_sink_close(&k.base);
}
END_TEST

static int spooled(void)
{
    int count = 0;
    DIR *d = opendir(spool);
    ck_assert_ptr_nonnull(d);
    for (struct dirent *e = readdir(d); e != NULL; e = readdir(d)) {
        count += e->d_name[0] != '.';
    }
    closedir(d);
    return count;
}

static void open_spooling(int i)
{
    options.spool = otp_text_of(spool);
    options.identity = otp_text_of("service");
    open_sink(is_unix(i));
}

/* While nobody is there all is on disk; another sink of the same service delivers it in order. */
START_TEST(test_spool_outlives_the_sink)
{
    int listener = listen_fresh(is_unix(_i));
    close(listener);
    unlink(path);
    open_spooling(_i);
    ck_assert_int_eq((int)put("one", 3, 0), OTP_OK);
    ck_assert_int_eq((int)put("two", 3, 0), OTP_OK);
    ck_assert_int_eq(spooled(), 2);
    ck_assert_uint_eq(k.base.queued_messages, 0);
    ck_assert_uint_eq(k.base.dropped_messages, 0);
    ck_assert(otp_sink_rescue(&k.base));
    otp_sink_close(&k.base);

    listener = listen_again(is_unix(_i));
    open_spooling(_i);
    k.backlog.spool_ns = 0;
    int fd = accept_one(listener);
    receive_text(fd, "one");
    receive_text(fd, "two");
    ck_assert_int_eq((int)put_text("three"), OTP_OK);
    receive_text(fd, "three");
    /* The last one is believed when the peer has read it, at the latest at the end. */
    (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + PATIENCE_NS, true);
    ck_assert_uint_eq(k.base.unconfirmed_messages, 0);
    ck_assert(otp_sink_rescue(&k.base));
    ck_assert_int_eq(spooled(), 0);
    assert_nothing_more(fd);
    otp_sink_close(&k.base);
}
END_TEST

/* What the peer has not read when the time is up is in the spool, also what the kernel had taken.
 */
START_TEST(test_spool_gets_what_nobody_read)
{
    (void)listen_fresh(true);
    open_spooling(0);
    ck_assert_int_eq((int)put_text("unread"), OTP_OK);
    ck_assert_uint_eq(k.base.unconfirmed_messages, 1);
    ck_assert_int_eq((int)put("behind it", 9, 0), OTP_AGAIN);
    (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + 30 * MS, true);
    ck_assert_uint_eq(k.base.unconfirmed_messages, 1);
    ck_assert(otp_sink_rescue(&k.base));
    ck_assert_int_eq(spooled(), 2);
    ck_assert_uint_eq(k.base.dropped_messages, 0);
    otp_sink_close(&k.base);
}
END_TEST

/* A file of the spool stays until its message has arrived: the connection is lost twice. */
START_TEST(test_spooled_message_stays_until_it_is_read)
{
    unsigned char some[1000];
    int listener = listen_fresh(is_unix(_i));
    close(listener);
    unlink(path);
    open_spooling(_i);
    (void)put(big, BIG, 0);
    ck_assert_int_eq(spooled(), 1);
    listener = listen_again(is_unix(_i));
    for (int round = 0; round < 2; round++) {
        k.backlog.spool_ns = k.backlog.retry_ns = 0;
        int fd = accept_one(listener);
        receive(fd, some, sizeof(some), sizeof(some));
        reset_connection(fd);
        while (k.state == OTP_SOCKET_CONNECTED) {
            (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + 5 * MS, false);
        }
        ck_assert_int_eq(spooled(), 1);
    }
    k.backlog.spool_ns = k.backlog.retry_ns = 0;
    int fd = accept_one(listener);
    receive_message(fd, big, BIG);
    (void)otp_sink_pump(&k.base, otp_sys_monotonic_ns() + PATIENCE_NS, true);
    ck_assert_int_eq(spooled(), 0);
    ck_assert_uint_eq(k.base.sent_messages, 1);
    otp_sink_close(&k.base);
}
END_TEST

/* A spool that takes nothing any more: memory holds what it can. */
START_TEST(test_spool_that_fails)
{
    char command[128];
    struct otp_line note;
    int listener = listen_fresh(true);
    close(listener);
    unlink(path);
    open_spooling(0);
    snprintf(command, sizeof(command), "rm -rf %s", spool);
    ck_assert_int_eq(system(command), 0);
    ck_assert_int_eq((int)put("one", 3, 0), OTP_AGAIN);
    ck_assert_int_eq((int)put("two", 3, 0), OTP_AGAIN);
    ck_assert_uint_eq(k.base.queued_messages, 2);
    ck_assert_uint_eq(k.base.dropped_messages, 0);
    ck_assert(otp_sink_take_note(&k.base, &note));
    ck_assert(!otp_sink_take_note(&k.base, &note));
    listener = listen_again(true);
    int fd = accept_one(listener);
    receive_text(fd, "one");
    receive_text(fd, "two");
    otp_sink_close(&k.base);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("export_socket");
    TCase *both = tcase_create("both");
    tcase_add_checked_fixture(both, set_up, tear_down);
    tcase_set_timeout(both, 100);
    tcase_add_loop_test(both, test_messages_arrive_framed, 0, 2);
    tcase_add_loop_test(both, test_receiver_that_comes_later, 0, 2);
    tcase_add_loop_test(both, test_what_is_sent_after_a_failure_is_unsure, 0, 2);
    tcase_add_loop_test(both, test_pauses_grow_to_a_limit, 0, 2);
    tcase_add_loop_test(both, test_slow_reader_gets_it_whole, 0, 2);
    tcase_add_loop_test(both, test_connection_lost_in_the_middle, 0, 6);
    tcase_add_loop_test(both, test_message_that_nobody_read_comes_again, 0, 2);
    tcase_add_loop_test(both, test_orderly_close_repeats_nothing, 0, 2);
    tcase_add_test(both, test_memory_is_given_back);
    tcase_add_loop_test(both, test_receiver_that_hangs_up, 0, 2);
    tcase_add_loop_test(both, test_full_queue_keeps_the_newest, 0, 2);
    tcase_add_loop_test(both, test_full_queue_while_sending, 0, 2);
    tcase_add_test(both, test_message_larger_than_the_queue_is_refused);
    tcase_add_test(both, test_memory_limit_is_an_answer);
    tcase_add_loop_test(both, test_descriptor_taken_by_the_host, 0, 2);
    tcase_add_loop_test(both, test_descriptor_taken_in_the_middle, 0, 2);
    tcase_add_loop_test(both, test_useless_connection_is_a_failure, 0, 2);
    tcase_add_loop_test(both, test_peer_that_takes_nothing_is_given_up, 0, 2);
    tcase_add_test(both, test_connecting_has_a_limit);
    tcase_add_test(both, test_localhost);
    tcase_add_test(both, test_names_of_the_hosts_file);
    tcase_add_test(both, test_abstract_and_relative_unix_names);
    tcase_add_loop_test(both, test_what_the_peer_says_is_ignored, 0, 2);
    tcase_add_loop_test(both, test_abandon_in_a_fork_child, 0, 2);
    tcase_add_test(both, test_targets_that_make_no_sense);
    tcase_add_loop_test(both, test_spool_outlives_the_sink, 0, 2);
    tcase_add_test(both, test_spool_gets_what_nobody_read);
    tcase_add_loop_test(both, test_spooled_message_stays_until_it_is_read, 0, 2);
    tcase_add_test(both, test_spool_that_fails);
    suite_add_tcase(suite, both);

    return unit_run(suite);
}
