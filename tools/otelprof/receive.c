/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof receive: the other end of a socket output. Each connection carries frames: a length of
 * four bytes, big-endian, then that many bytes of one message.
 *
 * I1 Memory grows with what has arrived, never with what a length promises.
 * I2 After a frame that makes no sense nothing more of its connection is believed.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/sys.h"
#include "core/decode/input.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/listen.h"
#include "tools/otelprof/store.h"

#define CONNECTIONS_MAX 256
#define MESSAGE_MAX ((size_t)64 << 20)
#define MEMORY_MAX ((size_t)1 << 30) /* of all connections together */
#define READ_STEP ((size_t)256 << 10)
#define HEAD 4U
#define FINISH_NS 2000000000U /* the most that the end waits for what is under way */

enum { RECEIVE_LISTEN, RECEIVE_FOLDER, RECEIVE_COUNT, RECEIVE_ONCE };

struct connection {
    int fd; /* -1: free */
    char peer[80];
    uint8_t *bytes; /* what has arrived of the present frame, its length included */
    size_t size;
    size_t capacity;
};

struct receiver {
    struct otp_listener listener;
    struct otp_store store;
    struct connection connections[CONNECTIONS_MAX];
    size_t memory;   /* bytes that all connections have taken */
    uint64_t wanted; /* messages to end after, 0: no end */
    int signal_fd;
    bool has_lost; /* something that arrived was not stored */
    bool is_over;
};

static void report(struct receiver *r, const struct connection *c, const char *what)
{
    (void)fprintf(stderr, "otelprof receive: from %s: %s\n", c->peer, what);
    r->has_lost = true;
}

static void drop(struct receiver *r, struct connection *c)
{
    r->memory -= c->capacity;
    free(c->bytes);
    (void)close(c->fd); /* all that was read is dealt with */
    memset(c, 0, sizeof(*c));
    c->fd = -1;
}

static size_t frame_size(const struct connection *c)
{
    return c->size < HEAD ? 0
                          : (size_t)c->bytes[0] << 24 | (size_t)c->bytes[1] << 16 |
                                (size_t)c->bytes[2] << 8 | c->bytes[3];
}

static bool is_plain_otlp(const struct otp_profile_set *set)
{
    return set->message_count == 1 && set->blob_count == 1 && set->blobs[0]->packing == NULL &&
           set->messages[0]->off == 0;
}

/* Checks and stores the message of len bytes; false: the connection is not to be believed. */
static bool take_message(struct receiver *r, struct connection *c, const uint8_t *bytes, size_t len)
{
    struct otp_profile_set set;
    struct otp_input_fault fault;
    struct otp_input in = {.name = c->peer, .bytes = malloc(len + 1), .size = len};
    char path[OTP_STORE_PATH];
    bool believed = false;

    if (in.bytes == NULL) {
        report(r, c, "no memory for a message");
        return false;
    }
    memcpy(in.bytes, bytes, len);
    otp_profile_set_init(&set);
    if (otp_profile_set_add(&set, &in, &fault) != OTP_OK) {
        (void)snprintf(path, sizeof(path),
                       "a message of %zu bytes is not a profile: offset %llu: %s", len,
                       (unsigned long long)fault.off, fault.reason);
        report(r, c, path);
    } else if (!is_plain_otlp(&set)) {
        report(r, c, "a message is not one bare ProfilesData");
    } else if (!otp_store_add(&r->store, set.messages[0], path)) {
        report(r, c, path);
        believed = true;
    } else {
        (void)printf("%s: %zu bytes, %u profiles, from %s\n", path, len,
                     (unsigned)set.messages[0]->profiles.count, c->peer);
        (void)fflush(stdout);
        r->is_over = r->wanted > 0 && r->store.count >= r->wanted;
        believed = true;
    }
    otp_profile_set_fini(&set);
    return believed;
}

/* Takes all complete frames out of what has arrived; false: drop the connection. */
static bool take_frames(struct receiver *r, struct connection *c)
{
    while (c->size >= HEAD && !r->is_over) {
        size_t len = frame_size(c);
        if (len > MESSAGE_MAX) {
            char text[120];
            (void)snprintf(text, sizeof(text),
                           "a frame claims %zu bytes, the limit is %zu: this is not the protocol",
                           len, MESSAGE_MAX);
            report(r, c, text);
            return false;
        }
        if (c->size - HEAD < len) {
            return true;
        }
        if (len > 0 && !take_message(r, c, c->bytes + HEAD, len)) {
            return false;
        }
        c->size -= HEAD + len;
        memmove(c->bytes, c->bytes + HEAD + len, c->size);
    }
    return true;
}

/* Room for another step of reading. */
static bool make_room(struct receiver *r, struct connection *c)
{
    if (c->capacity - c->size >= READ_STEP) {
        return true;
    }
    size_t capacity = c->capacity + c->capacity / 2;
    capacity = capacity < c->size + READ_STEP ? c->size + READ_STEP : capacity;
    size_t more = capacity - c->capacity;
    uint8_t *bytes = r->memory + more > MEMORY_MAX ? NULL : realloc(c->bytes, capacity);
    if (bytes == NULL) {
        report(r, c, "no memory for a message");
        return false;
    }
    r->memory += more;
    c->bytes = bytes;
    c->capacity = capacity;
    return true;
}

/* Memory that a large message took is given back once it is dealt with. */
static void give_back(struct receiver *r, struct connection *c)
{
    if (c->size == 0 && c->capacity > 4 * READ_STEP) {
        r->memory -= c->capacity;
        free(c->bytes);
        c->bytes = NULL;
        c->capacity = 0;
    }
}

enum progress { READ_MORE, READ_NOTHING, READ_END /* the connection is to be dropped */ };

/* Reads what is there, at most some of it, and takes the messages out. */
static enum progress read_some(struct receiver *r, struct connection *c)
{
    if (!make_room(r, c)) {
        return READ_END;
    }
    ssize_t n = read(c->fd, c->bytes + c->size, c->capacity - c->size);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? READ_NOTHING : READ_END;
    }
    if (n == 0) {
        if (c->size > 0) {
            report(r, c, "the connection ended in the middle of a message");
        }
        return READ_END;
    }
    c->size += (size_t)n;
    bool believed = take_frames(r, c);
    give_back(r, c);
    return believed ? READ_MORE : READ_END;
}

static void accept_some(struct receiver *r)
{
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        struct connection *c = &r->connections[i];
        if (c->fd >= 0) {
            continue;
        }
        c->fd = otp_listener_accept(&r->listener, c->peer, sizeof(c->peer));
        if (c->fd < 0) {
            return;
        }
    }
}

/* Fills fds: the signals, the listener while there is room, and all connections. */
static nfds_t fill_polls(const struct receiver *r, struct pollfd *fds, size_t *owners)
{
    nfds_t count = 2;
    bool has_room = false;

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (r->connections[i].fd >= 0) {
            owners[count] = i;
            fds[count++] = (struct pollfd){.fd = r->connections[i].fd, .events = POLLIN};
        } else {
            has_room = true;
        }
    }
    fds[0] = (struct pollfd){.fd = r->signal_fd, .events = POLLIN};
    fds[1] = (struct pollfd){.fd = has_room ? r->listener.fd : -1, .events = POLLIN};
    return count;
}

static void serve(struct receiver *r)
{
    static struct pollfd fds[CONNECTIONS_MAX + 2];
    static size_t owners[CONNECTIONS_MAX + 2];

    while (!r->is_over) {
        nfds_t count = fill_polls(r, fds, owners);
        if (poll(fds, count, -1) < 0 && errno != EINTR) {
            (void)fprintf(stderr, "otelprof receive: %s\n", strerror(errno));
            r->has_lost = true;
            return;
        }
        for (nfds_t i = 2; i < count && !r->is_over; i++) {
            struct connection *c = &r->connections[owners[i]];
            if (fds[i].revents != 0 && read_some(r, c) == READ_END) {
                drop(r, c);
            }
        }
        if (fds[1].revents != 0) {
            accept_some(r);
        }
        r->is_over = r->is_over || fds[0].revents != 0;
    }
}

/* Reads what has arrived at one connection, but does not wait for a sender that never stops. */
static void finish_connection(struct receiver *r, struct connection *c, uint64_t deadline_ns)
{
    enum progress progress = READ_MORE;

    while (progress == READ_MORE && !r->is_over && otp_sys_monotonic_ns() < deadline_ns) {
        progress = read_some(r, c);
    }
    if (progress != READ_END && c->size > 0 && !r->is_over) {
        report(r, c, "an incomplete message was left behind");
    }
    drop(r, c);
}

/* Complete messages that are here already are stored, unless enough have been. */
static void finish_all(struct receiver *r)
{
    uint64_t deadline_ns = otp_sys_monotonic_ns() + FINISH_NS;

    r->is_over = r->wanted > 0 && r->store.count >= r->wanted;
    if (!r->is_over) {
        accept_some(r);
    }
    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        if (r->connections[i].fd >= 0) {
            finish_connection(r, &r->connections[i], deadline_ns);
        }
    }
    otp_listener_close(&r->listener);
}

static int open_signals(void)
{
    sigset_t set;

    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    if (sigprocmask(SIG_BLOCK, &set, NULL) != 0) {
        return -1;
    }
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int receive(struct receiver *r, const char *address, const char *folder)
{
    if (!otp_store_open(&r->store, folder)) {
        return OTP_EXIT_INPUT;
    }
    r->signal_fd = open_signals();
    if (r->signal_fd < 0) {
        (void)fprintf(stderr, "otelprof receive: %s\n", strerror(errno));
        return OTP_EXIT_INPUT;
    }
    if (!otp_listener_open(&r->listener, address)) {
        (void)fprintf(stderr, "otelprof receive: %s\n", r->listener.why);
        (void)close(r->signal_fd); /* nothing depends on it any more */
        return OTP_EXIT_INPUT;
    }
    (void)printf("listening on %s\n", r->listener.shown);
    (void)fflush(stdout);
    serve(r);
    finish_all(r);
    (void)close(r->signal_fd); /* nothing depends on it any more */
    return r->has_lost ? OTP_EXIT_FOUND : OTP_EXIT_OK;
}

static int run_receive(const struct otp_args *args)
{
    static struct receiver r; /* too large for the stack */

    for (size_t i = 0; i < CONNECTIONS_MAX; i++) {
        r.connections[i].fd = -1;
    }
    r.wanted = otp_args_has(args, RECEIVE_ONCE) ? 1 : 0;
    if (args->operand_count > 0) {
        return otp_usage_error(args->command, "\"%s\" is not understood", args->operands[0]);
    }
    if (!otp_args_has(args, RECEIVE_LISTEN) || !otp_args_has(args, RECEIVE_FOLDER)) {
        return otp_usage_error(args->command, "--listen ADDR and -o DIR are needed");
    }
    if (strncmp(args->values[RECEIVE_LISTEN], "unix:", 5) != 0 &&
        strncmp(args->values[RECEIVE_LISTEN], "tcp:", 4) != 0) {
        return otp_usage_error(args->command,
                               "--listen: \"%s\" is neither unix:PATH nor tcp:HOST:PORT",
                               args->values[RECEIVE_LISTEN]);
    }
    if (otp_args_has(args, RECEIVE_COUNT) &&
        !otp_args_number(args, RECEIVE_COUNT, 1, UINT64_MAX, &r.wanted)) {
        return OTP_EXIT_USAGE;
    }
    return receive(&r, args->values[RECEIVE_LISTEN], args->values[RECEIVE_FOLDER]);
}

static const struct otp_option options[] = {
    [RECEIVE_LISTEN] = {"listen", 'l', "ADDR", "unix:PATH or tcp:HOST:PORT (port 0: any)"},
    [RECEIVE_FOLDER] = {"output", 'o', "DIR", "folder for the profiles, made if need be"},
    [RECEIVE_COUNT] = {"count", 'n', "N", "end after N messages"},
    [RECEIVE_ONCE] = {"once", '1', NULL, "end after one message"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_receive = {
    .name = "receive",
    .operands = "--listen ADDR -o DIR",
    .summary = "store the profiles that arrive at a socket, one file per message",
    .options = options,
    .details = "For programs profiled with OTELPROF_OUTPUT=unix:PATH or tcp:HOST:PORT. Ends on "
               "SIGTERM and\n"
               "SIGINT, when all complete messages are stored. Exit status 1: something that "
               "arrived could\n"
               "not be stored.\n",
    .run = run_receive,
};
