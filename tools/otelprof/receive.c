/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof receive: the other end of a socket output, and a small OTLP/HTTP server, both at the
 * same address: the first byte of a connection tells which. Frames are a length of four bytes,
 * big-endian, then that many bytes of one message.
 *
 * I1 Memory grows with what has arrived, never with what a length promises.
 * I2 After a frame that makes no sense nothing more of its connection is believed.
 * I3 A message has to arrive at a certain rate, and when all places are taken the one that has kept
 *    its place longest for nothing makes room: who sends slowly, or nothing, shuts nobody out.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "core/base/sys.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/command.h"
#include "tools/otelprof/intake.h"
#include "tools/otelprof/jsonout.h"
#include "tools/otelprof/receive.h"

#define MEMORY_MAX ((size_t)1 << 30) /* of all connections together */
#define READ_STEP ((size_t)256 << 10)
#define FIRST_STEPS_MAX ((size_t)256 << 20) /* the same, for their first steps beyond it */
#define HEAD 4U
#define FIRST_BYTE_MAX 4U /* of a frame's length */
#define SECOND_NS UINT64_C(1000000000)
#define FINISH_NS (2 * SECOND_NS)    /* the most that the end waits for what is under way */
#define GRACE_NS (10 * SECOND_NS)    /* a message may take so long, and */
#define BYTES_PER_S 8192U            /* a second more for so many bytes that have arrived */
#define ENDING_NS (2 * SECOND_NS)    /* for a refused client to see its answer */
#define SILENCE_NS (300 * SECOND_NS) /* between two requests */
#define PLACE_NS SECOND_NS           /* nobody is moved out within */
#define SPARE_DESCRIPTORS 32U

enum { RECEIVE_LISTEN, RECEIVE_FOLDER, RECEIVE_COUNT, RECEIVE_ONCE, RECEIVE_JSON };

void otp_receive_report(struct otp_receiver *r, const struct otp_connection *c, const char *what)
{
    (void)fprintf(stderr, "otelprof receive: from %s: %s\n", c->peer, what);
    r->has_lost = true;
}

static void drop(struct otp_receiver *r, struct otp_connection *c)
{
    r->memory -= c->capacity;
    free(c->bytes);
    (void)close(c->fd); /* all that was read is dealt with */
    memset(c, 0, sizeof(*c));
    c->fd = -1;
}

void otp_receive_consume(struct otp_connection *c, size_t n)
{
    c->size -= n;
    memmove(c->bytes, c->bytes + n, c->size);
    c->began_ns = otp_sys_monotonic_ns();
    c->arrived = c->size;
}

/* ---- frames ---- */

static size_t frame_size(const struct otp_connection *c)
{
    return (size_t)c->bytes[0] << 24 | (size_t)c->bytes[1] << 16 | (size_t)c->bytes[2] << 8 |
           c->bytes[3];
}

/* Checks and stores the message of len bytes; false: the connection is not to be believed. */
static bool take_message(struct otp_receiver *r, struct otp_connection *c, size_t len)
{
    struct otp_intake_message m = {.bytes = c->bytes + HEAD, .size = len, .peer = c->peer};
    char why[OTP_STORE_PATH];
    enum otp_intake result = otp_intake_take(&r->store, &m, why);

    if (result != OTP_INTAKE_STORED && result != OTP_INTAKE_EMPTY) {
        otp_receive_report(r, c, why);
    }
    r->is_over = r->wanted > 0 && r->store.count >= r->wanted;
    return result != OTP_INTAKE_MALFORMED && result != OTP_INTAKE_TOO_LARGE;
}

/* Takes all complete frames out of what has arrived; false: drop the connection. */
static bool take_frames(struct otp_receiver *r, struct otp_connection *c)
{
    while (c->size >= HEAD && !r->is_over) {
        size_t len = frame_size(c);
        if (len > OTP_RECEIVE_MESSAGE_MAX) {
            char text[120];
            (void)snprintf(text, sizeof(text),
                           "a frame claims %zu bytes, the limit is %zu: this is not the protocol",
                           len, OTP_RECEIVE_MESSAGE_MAX);
            otp_receive_report(r, c, text);
            return false;
        }
        if (c->size - HEAD < len) {
            return true;
        }
        if (len > 0 && !take_message(r, c, len)) {
            return false;
        }
        otp_receive_consume(c, HEAD + len);
    }
    return true;
}

/* A length begins with a byte that no HTTP method does. */
static enum otp_receive_protocol protocol_of(uint8_t first)
{
    bool is_letter = first >= 'A' && first <= 'Z';
    return is_letter ? OTP_RECEIVE_HTTP : OTP_RECEIVE_FRAMES;
}

/* ---- reading ---- */

enum lack { LACK_PLACES, LACK_MEMORY };

static bool evict(struct otp_receiver *r, const struct otp_connection *but, enum lack lack);

/* Room for another step of reading. The first one is there for everybody, so that a small message
 * need not wait until large ones are dealt with. */
static bool make_room(struct otp_receiver *r, struct otp_connection *c)
{
    size_t most = c->capacity == 0 ? MEMORY_MAX + FIRST_STEPS_MAX : MEMORY_MAX;
    if (c->capacity - c->size >= READ_STEP) {
        return true;
    }
    size_t capacity = c->capacity + c->capacity / 2;
    capacity = capacity < c->size + READ_STEP ? c->size + READ_STEP : capacity;
    size_t more = capacity - c->capacity;
    while (r->memory + more > most && evict(r, c, LACK_MEMORY)) {
    }
    uint8_t *bytes = r->memory + more > most ? NULL : realloc(c->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    r->memory += more;
    c->bytes = bytes;
    c->capacity = capacity;
    return true;
}

/* Memory is given back once a message is dealt with: silent connections hold none. */
static void give_back(struct otp_receiver *r, struct otp_connection *c)
{
    if (c->size == 0 && c->capacity > 0) {
        r->memory -= c->capacity;
        free(c->bytes);
        c->bytes = NULL;
        c->capacity = 0;
    }
}

enum progress { READ_MORE, READ_NOTHING, READ_END /* the connection is to be dropped */ };

/* A refused client sends on until it sees its answer. */
static enum progress throw_away(struct otp_connection *c)
{
    char bytes[2048];
    ssize_t n = read(c->fd, bytes, sizeof(bytes));
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? READ_NOTHING : READ_END;
    }
    return n == 0 ? READ_END : READ_MORE;
}

/* The peer has closed, or half of it. */
static enum progress end_of_stream(struct otp_receiver *r, struct otp_connection *c)
{
    if (c->size > 0 && c->protocol == OTP_RECEIVE_FRAMES) {
        otp_receive_report(r, c, "the connection ended in the middle of a message");
    }
    return READ_END;
}

static bool no_room(struct otp_receiver *r, struct otp_connection *c)
{
    if (c->protocol == OTP_RECEIVE_HTTP) {
        bool keep = otp_receive_http_end(c, 503, "no memory for a message");
        give_back(r, c);
        return keep;
    }
    otp_receive_report(r, c, "no memory for a message");
    return false;
}

/* Reads what is there, at most some of it, and takes the messages out. */
static enum progress read_some(struct otp_receiver *r, struct otp_connection *c)
{
    if (c->is_ending) {
        return throw_away(c);
    }
    if (!make_room(r, c)) {
        return no_room(r, c) ? READ_MORE : READ_END;
    }
    ssize_t n = read(c->fd, c->bytes + c->size, c->capacity - c->size);
    if (n < 0) {
        return errno == EAGAIN || errno == EINTR ? READ_NOTHING : READ_END;
    }
    if (n == 0) {
        return end_of_stream(r, c);
    }
    if (c->size == 0) {
        c->began_ns = otp_sys_monotonic_ns();
        c->arrived = 0;
        c->protocol = c->protocol == OTP_RECEIVE_UNKNOWN ? protocol_of(c->bytes[0]) : c->protocol;
    }
    c->size += (size_t)n;
    c->arrived += (uint64_t)n;
    bool keep = c->protocol == OTP_RECEIVE_HTTP ? otp_receive_http(r, c) : take_frames(r, c);
    give_back(r, c);
    return keep ? READ_MORE : READ_END;
}

/* Sends what is left of an answer, then goes on with the requests behind it. */
static enum progress write_some(struct otp_receiver *r, struct otp_connection *c)
{
    bool keep = otp_receive_http_send(c) && otp_receive_http(r, c);
    give_back(r, c);
    return keep ? READ_MORE : READ_END;
}

/* ---- places ---- */

static bool is_idle(const struct otp_connection *c)
{
    return c->size == 0 && c->out_len == 0 && !c->is_ending;
}

/* Has something arrived that is not read yet? */
static bool is_waiting(const struct otp_connection *c)
{
    int bytes = 0;
    return ioctl(c->fd, FIONREAD, &bytes) == 0 && bytes > 0;
}

/* How much for nothing a connection keeps what another needs, 0: not at all. */
static unsigned rank_of(const struct otp_connection *c, enum lack lack)
{
    if (lack == LACK_MEMORY && c->capacity == 0) {
        return 0;
    }
    if (c->is_ending) {
        return 3;
    }
    if (!is_idle(c) || is_waiting(c)) {
        return 1;
    }
    return c->protocol == OTP_RECEIVE_UNKNOWN ? 4 : 2;
}

/* Drops the connection that has kept longest for nothing what there is too little of: idle ones go
 * first, those that have never sent anything before others. False: none has had it for long. */
static bool evict(struct otp_receiver *r, const struct otp_connection *but, enum lack lack)
{
    struct otp_connection *victim = NULL;
    uint64_t oldest = otp_sys_monotonic_ns() - PLACE_NS;
    unsigned best = 0;

    for (size_t i = 0; i < r->slots; i++) {
        struct otp_connection *c = &r->connections[i];
        if (c->fd < 0 || c == but || c->began_ns > otp_sys_monotonic_ns() - PLACE_NS) {
            continue;
        }
        unsigned rank = rank_of(c, lack);
        if (rank > best || (rank == best && rank > 0 && c->began_ns < oldest)) {
            victim = c;
            best = rank;
            oldest = c->began_ns;
        }
    }
    if (victim == NULL) {
        return false;
    }
    if (victim->protocol == OTP_RECEIVE_FRAMES && victim->size > 0) {
        otp_receive_report(r, victim, "a slow message has lost its place");
    }
    drop(r, victim);
    return true;
}

static struct otp_connection *free_place(struct otp_receiver *r)
{
    for (size_t i = 0; i < r->slots; i++) {
        if (r->connections[i].fd < 0) {
            return &r->connections[i];
        }
    }
    return NULL;
}

/* False: those that wait have to wait on. */
static bool accept_some(struct otp_receiver *r)
{
    for (size_t i = 0; i < r->slots; i++) {
        struct otp_connection *c = free_place(r);
        if (c == NULL) {
            if (!evict(r, NULL, LACK_PLACES)) {
                return false;
            }
            c = free_place(r);
        }
        c->fd = otp_listener_accept(&r->listener, c->peer, sizeof(c->peer));
        if (c->fd < 0) {
            return errno != EMFILE && errno != ENFILE;
        }
        c->began_ns = otp_sys_monotonic_ns();
    }
    return true;
}

/* When the connection's time is over. */
static uint64_t limit_of(const struct otp_connection *c)
{
    if (c->is_ending) {
        return c->began_ns + ENDING_NS;
    }
    if (!is_idle(c) || c->protocol == OTP_RECEIVE_UNKNOWN) {
        return c->began_ns + GRACE_NS + c->arrived / BYTES_PER_S * SECOND_NS;
    }
    /* A sender of frames may be silent for an interval of any length. */
    return c->protocol == OTP_RECEIVE_HTTP ? c->began_ns + SILENCE_NS : UINT64_MAX;
}

/* True: it is dropped. */
static bool is_late(struct otp_receiver *r, struct otp_connection *c, uint64_t now)
{
    if (now < limit_of(c)) {
        return false;
    }
    bool is_told =
        c->protocol == OTP_RECEIVE_HTTP && c->size > 0 && !c->is_ending && c->out_len == 0;
    if (is_told && otp_receive_http_end(c, 408, "the request came too slowly")) {
        give_back(r, c);
        return false;
    }
    if (c->protocol == OTP_RECEIVE_FRAMES && c->size > 0) {
        otp_receive_report(r, c, "a message came too slowly");
    }
    drop(r, c);
    return true;
}

/* ---- the loop ---- */

struct polls {
    struct pollfd fds[OTP_RECEIVE_CONNECTIONS + 2];
    size_t owners[OTP_RECEIVE_CONNECTIONS + 2];
    nfds_t count;
    uint64_t until_ns; /* then the first connection's time is over */
};

/* The signals, the listener, and all connections. */
static void fill_polls(struct otp_receiver *r, struct polls *p, bool may_accept)
{
    uint64_t now = otp_sys_monotonic_ns();
    p->count = 2;
    p->until_ns = may_accept ? UINT64_MAX : now + SECOND_NS;
    for (size_t i = 0; i < r->slots; i++) {
        struct otp_connection *c = &r->connections[i];
        if (c->fd < 0 || is_late(r, c, now)) {
            continue;
        }
        uint64_t limit = limit_of(c);
        p->until_ns = limit < p->until_ns ? limit : p->until_ns;
        p->owners[p->count] = i;
        p->fds[p->count++] =
            (struct pollfd){.fd = c->fd, .events = c->out_len > 0 ? POLLOUT : POLLIN};
    }
    p->fds[0] = (struct pollfd){.fd = r->signal_fd, .events = POLLIN};
    p->fds[1] = (struct pollfd){.fd = may_accept ? r->listener.fd : -1, .events = POLLIN};
}

/* Milliseconds until then, rounded up; -1: for ever. */
static int wait_ms(uint64_t until_ns)
{
    uint64_t now = otp_sys_monotonic_ns();
    if (until_ns == UINT64_MAX) {
        return -1;
    }
    uint64_t ms = until_ns > now ? (until_ns - now) / 1000000U + 1 : 0;
    return ms > 3600000U ? 3600000 : (int)ms;
}

static void serve_connection(struct otp_receiver *r, struct otp_connection *c)
{
    if (c->fd < 0) {
        return; /* it has made room for another since */
    }
    enum progress progress = c->out_len > 0 ? write_some(r, c) : read_some(r, c);
    if (progress == READ_END && c->fd >= 0) {
        drop(r, c);
    }
}

/* Reads once more from connections whose time is over: it may be we who were late. */
static void read_late(struct otp_receiver *r)
{
    uint64_t now = otp_sys_monotonic_ns();

    for (size_t i = 0; i < r->slots && !r->is_over; i++) {
        struct otp_connection *c = &r->connections[i];
        if (c->fd >= 0 && now >= limit_of(c) && !c->is_ending && c->out_len == 0 && is_waiting(c)) {
            serve_connection(r, c);
        }
    }
}

static void serve(struct otp_receiver *r)
{
    static struct polls p;
    bool may_accept = true;

    while (!r->is_over) {
        read_late(r);
        if (r->is_over) {
            return;
        }
        fill_polls(r, &p, may_accept);
        if (poll(p.fds, p.count, wait_ms(p.until_ns)) < 0 && errno != EINTR) {
            (void)fprintf(stderr, "otelprof receive: %s\n", strerror(errno));
            r->has_lost = true;
            return;
        }
        for (nfds_t i = 2; i < p.count && !r->is_over; i++) {
            if (p.fds[i].revents != 0) {
                serve_connection(r, &r->connections[p.owners[i]]);
            }
        }
        may_accept = p.fds[1].revents == 0 || accept_some(r);
        r->is_over = r->is_over || p.fds[0].revents != 0;
    }
}

/* ---- the end ---- */

/* Reads what has arrived at one connection, but does not wait for a sender that never stops. */
static void finish_connection(struct otp_receiver *r, struct otp_connection *c,
                              uint64_t deadline_ns)
{
    enum progress progress = READ_MORE;

    while (progress == READ_MORE && !r->is_over && otp_sys_monotonic_ns() < deadline_ns) {
        progress = c->out_len > 0 ? write_some(r, c) : read_some(r, c);
        progress = c->out_len > 0 ? READ_NOTHING : progress;
    }
    /* A request without an answer is sent again; a frame is not. */
    if (progress != READ_END && c->size > 0 && !r->is_over && c->protocol == OTP_RECEIVE_FRAMES) {
        otp_receive_report(r, c, "an incomplete message was left behind");
    }
    drop(r, c);
}

/* Complete messages that are here already are stored, unless enough have been. */
static void finish_all(struct otp_receiver *r)
{
    uint64_t deadline_ns = otp_sys_monotonic_ns() + FINISH_NS;

    r->is_over = r->wanted > 0 && r->store.count >= r->wanted;
    if (!r->is_over) {
        (void)accept_some(r);
    }
    for (size_t i = 0; i < r->slots; i++) {
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

/* As many places as there are descriptors. */
static size_t count_slots(void)
{
    struct rlimit limit;
    rlim_t wanted = OTP_RECEIVE_CONNECTIONS + SPARE_DESCRIPTORS;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return OTP_RECEIVE_CONNECTIONS / 4;
    }
    if (limit.rlim_cur < wanted) {
        limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
        (void)setrlimit(RLIMIT_NOFILE, &limit); /* what there is, is read again */
        (void)getrlimit(RLIMIT_NOFILE, &limit);
    }
    rlim_t slots = limit.rlim_cur > 2 * SPARE_DESCRIPTORS ? limit.rlim_cur - SPARE_DESCRIPTORS
                                                          : SPARE_DESCRIPTORS / 2;
    return slots < OTP_RECEIVE_CONNECTIONS ? (size_t)slots : OTP_RECEIVE_CONNECTIONS;
}

static void tell_address(const struct otp_receiver *r)
{
    struct otp_jsonout j;

    if (r->store.is_json) {
        otp_jsonout_begin_row(&j, stdout);
        otp_jsonout_string(&j, "event", "listening");
        otp_jsonout_string(&j, "address", r->listener.shown);
        otp_jsonout_end(&j);
    } else {
        (void)printf("listening on %s\n", r->listener.shown);
    }
    (void)fflush(stdout);
}

static void tell_end(const struct otp_receiver *r)
{
    struct otp_jsonout j;

    if (r->store.is_json) {
        otp_jsonout_begin_row(&j, stdout);
        otp_jsonout_string(&j, "event", "end");
        otp_jsonout_uint(&j, "stored", r->store.count);
        otp_jsonout_uint(&j, "there_already", r->store.again);
        otp_jsonout_bool(&j, "is_complete", !r->has_lost);
        otp_jsonout_end(&j);
    }
}

static int receive(struct otp_receiver *r, const char *address, const char *folder)
{
    r->slots = count_slots();
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
    tell_address(r);
    serve(r);
    finish_all(r);
    tell_end(r);
    (void)close(r->signal_fd); /* nothing depends on it any more */
    return r->has_lost ? OTP_EXIT_FOUND : OTP_EXIT_OK;
}

static int run_receive(const struct otp_args *args)
{
    static struct otp_receiver r; /* too large for the stack */

    for (size_t i = 0; i < OTP_RECEIVE_CONNECTIONS; i++) {
        r.connections[i].fd = -1;
    }
    r.wanted = otp_args_has(args, RECEIVE_ONCE) ? 1 : 0;
    r.store.is_json = otp_args_has(args, RECEIVE_JSON);
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
    [RECEIVE_JSON] = {"json", 0, NULL, "print JSON, one line for each event"},
    {NULL, 0, NULL, NULL},
};

const struct otp_command otp_command_receive = {
    .name = "receive",
    .operands = "--listen ADDR -o DIR",
    .summary = "store the profiles that arrive at a socket, one file per message",
    .options = options,
    .details =
        "For programs profiled with OTELPROF_OUTPUT=unix:PATH, tcp:HOST:PORT or, at the same\n"
        "address, http://HOST:PORT (OTLP: protobuf or JSON, gzip, zstd). A message that is sent "
        "again\n"
        "is known by the ids of its profiles and stored once. Ends on SIGTERM and SIGINT, when "
        "all\n"
        "complete messages are stored. Exit status 1: something that arrived could not be "
        "stored.\n",
    .run = run_receive,
};
