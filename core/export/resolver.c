/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/resolver.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/export/stream.h"

#define CONF_BYTES_MAX 2048U
#define DNS_PORT 53
#define SECOND_NS UINT64_C(1000000000)
#define TIMEOUT_MAX_S 10U
#define ATTEMPTS_MAX 5U
#define NDOTS_MAX 15U

/* ---- resolv.conf ---- */

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

static struct otp_text next_word(struct otp_text *line)
{
    size_t begin = 0;
    while (begin < line->len && is_blank(line->data[begin])) {
        begin++;
    }
    size_t end = begin;
    while (end < line->len && !is_blank(line->data[end])) {
        end++;
    }
    struct otp_text word = otp_text_make(line->data + begin, end - begin);
    *line = otp_text_make(line->data + end, line->len - end);
    return word;
}

static bool is_word(struct otp_text text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

static void read_search(struct otp_resolver_conf *conf, struct otp_text line)
{
    size_t used = 0;
    conf->search_count = 0;
    for (struct otp_text w = next_word(&line); w.len > 0; w = next_word(&line)) {
        if (conf->search_count == OTP_RESOLVER_SEARCH_MAX || w.len >= sizeof(conf->search) - used) {
            return;
        }
        if (is_word(w, ".")) {
            continue;
        }
        memcpy(conf->search + used, w.data, w.len);
        used += w.len;
        conf->search[used++] = '\0';
        conf->search_count++;
    }
}

/* The number behind "NAME:", at most most; before when the option is another. */
static unsigned option(struct otp_text word, const char *name, unsigned most, unsigned before)
{
    size_t len = strlen(name);
    uint64_t v;
    if (word.len <= len || memcmp(word.data, name, len) != 0 ||
        !otp_fmt_parse_u64(word.data + len, word.len - len, &v)) {
        return before;
    }
    return v < most ? (unsigned)v : most;
}

static void read_options(struct otp_resolver_conf *conf, struct otp_text line)
{
    unsigned timeout = (unsigned)(conf->timeout_ns / SECOND_NS);
    for (struct otp_text w = next_word(&line); w.len > 0; w = next_word(&line)) {
        conf->ndots = option(w, "ndots:", NDOTS_MAX, conf->ndots);
        timeout = option(w, "timeout:", TIMEOUT_MAX_S, timeout);
        conf->attempts = option(w, "attempts:", ATTEMPTS_MAX, conf->attempts);
    }
    conf->timeout_ns = (timeout == 0 ? 1 : timeout) * SECOND_NS;
    conf->attempts = conf->attempts == 0 ? 1 : conf->attempts;
}

/* An address, perhaps with a port in brackets' form ("[::1]:5353"), as some resolvers write it. */
static void add_server(struct otp_resolver_conf *conf, struct otp_text word)
{
    struct otp_addresses *all = &conf->servers;
    struct otp_text host = word;
    uint16_t port = DNS_PORT;
    if (word.len > 0 && word.data[0] == '[') {
        (void)otp_address_split(word, &host, &port);
    }
    if (all->count < OTP_RESOLVER_SERVERS_MAX &&
        otp_address_parse(host, port, &all->items[all->count])) {
        all->count++;
    }
}

static void read_line(struct otp_resolver_conf *conf, struct otp_text line)
{
    struct otp_text key = next_word(&line);
    if (is_word(key, "nameserver")) {
        add_server(conf, next_word(&line));
    } else if (is_word(key, "search") || is_word(key, "domain")) {
        read_search(conf, line);
    } else if (is_word(key, "options")) {
        read_options(conf, line);
    }
}

void otp_resolver_read_conf(struct otp_resolver_conf *conf, const char *path)
{
    char text[CONF_BYTES_MAX];
    long len = 0;
    size_t begin = 0;
    int fd = otp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);

    memset(conf, 0, sizeof(*conf));
    conf->ndots = 1;
    conf->timeout_ns = 2 * SECOND_NS;
    conf->attempts = 2;
    if (fd >= 0) {
        len = otp_sys_read_full(fd, text, sizeof(text));
        otp_sys_close(fd);
    }
    for (size_t i = 0; len > 0 && i <= (size_t)len; i++) {
        if (i == (size_t)len || text[i] == '\n') {
            read_line(conf, otp_text_make(text + begin, i - begin));
            begin = i + 1;
        }
    }
    if (conf->servers.count == 0) {
        add_server(conf, otp_text_of("127.0.0.1"));
    }
}

/* ---- names ---- */

static unsigned dots_of(struct otp_text host)
{
    unsigned dots = 0;
    for (size_t i = 0; i < host.len; i++) {
        dots += host.data[i] == '.';
    }
    return dots;
}

/*
 * The candidates in their order: a name with enough dots first as it is, then with each domain of
 * the search list; another the other way round. One with a dot at its end is complete.
 */
static bool make_candidate(struct otp_resolver *r)
{
    struct otp_text host = r->host;
    bool is_complete = host.data[host.len - 1] == '.';
    unsigned count = is_complete ? 1 : r->conf.search_count + 1;
    bool is_plain_first = is_complete || dots_of(host) >= r->conf.ndots;
    unsigned plain = is_plain_first ? 0 : count - 1;
    const char *domain = r->conf.search;

    if (r->candidate >= count) {
        return false;
    }
    host.len -= is_complete;
    memcpy(r->name, host.data, host.len);
    r->name_len = host.len;
    if (r->candidate == plain) {
        return true;
    }
    for (unsigned i = r->candidate - (is_plain_first ? 1 : 0); i > 0; i--) {
        domain += strlen(domain) + 1;
    }
    size_t len = strlen(domain);
    if (host.len + 1 + len > OTP_DNS_NAME_MAX) {
        return true; /* too long with the domain: the plain name once more does no harm */
    }
    r->name[r->name_len++] = '.';
    memcpy(r->name + r->name_len, domain, len);
    r->name_len += len;
    return true;
}

/* ---- questions ---- */

static void stop_waiting(struct otp_resolver *r)
{
    (void)otp_fd_close(&r->fd);
    r->is_waiting = false;
}

/* Sends the question, with its length in front over TCP, in one piece; false: it does not go out.
 */
static bool send_question(struct otp_resolver *r)
{
    unsigned char bytes[2 + OTP_DNS_MESSAGE_MAX];
    size_t len = otp_dns_write(&r->question, bytes + 2);
    size_t skip = r->over_tcp ? 0 : 2;
    bytes[0] = (unsigned char)(len >> 8);
    bytes[1] = (unsigned char)(len & 0xffU);
    long whole = (long)(2 + len - skip);
    return len > 0 && OTP_SYS6(SYS_sendto, r->fd.fd, bytes + skip, whole,
                               MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0) == whole;
}

/* Asks the next server; each question gets a socket, and with it a port, of its own. */
static bool ask(struct otp_resolver *r)
{
    const struct otp_address *server = &r->conf.servers.items[r->tries % r->conf.servers.count];
    int kind = r->over_tcp ? SOCK_STREAM : SOCK_DGRAM;
    int type = kind | SOCK_CLOEXEC | SOCK_NONBLOCK;

    otp_sys_random(&r->question.id, sizeof(r->question.id));
    r->question.type = r->asks_v6 ? OTP_DNS_TYPE_AAAA : OTP_DNS_TYPE_A;
    r->question.name = otp_text_make(r->name, r->name_len);
    r->tries++;
    r->is_sent = false;
    r->tcp_len = 0;
    if (otp_fd_adopt(&r->fd, OTP_SYS3(SYS_socket, server->to.any.sa_family, type, 0)) != 0) {
        return false;
    }
    long connected = OTP_SYS3(SYS_connect, r->fd.fd, &server->to, server->len);
    bool is_under_way = r->over_tcp && (connected == -EINPROGRESS || connected == -EINTR);
    if ((connected < 0 && !is_under_way) || (!r->over_tcp && !send_question(r))) {
        stop_waiting(r);
        return false;
    }
    r->is_waiting = true;
    r->limit_ns = otp_sys_monotonic_ns() + r->conf.timeout_ns;
    return true;
}

/* The answer over UDP, when one is there; OTP_DNS_FOREIGN: not yet. */
static enum otp_dns_result hear_datagrams(struct otp_resolver *r, struct otp_addresses *out)
{
    char bytes[OTP_DNS_MESSAGE_MAX];
    enum otp_dns_result result = OTP_DNS_FOREIGN;

    while (result == OTP_DNS_FOREIGN) {
        long n = OTP_SYS6(SYS_recvfrom, r->fd.fd, bytes, sizeof(bytes), MSG_DONTWAIT, 0, 0);
        if (n == -EAGAIN || n == -EINTR) {
            break;
        }
        if (n < 0) {
            return OTP_DNS_FAILED; /* nobody listens there */
        }
        result = otp_dns_read(&r->question, otp_text_make(bytes, (size_t)n), r->port, out);
    }
    return result;
}

/* How many bytes of length and answer are waited for: no more than there is room. */
static size_t stream_goal(const struct otp_resolver *r)
{
    size_t len = (size_t)r->tcp[0] << 8 | r->tcp[1];
    return r->tcp_len < 2 ? 2 : 2 + (len < OTP_RESOLVER_TCP_MAX ? len : OTP_RESOLVER_TCP_MAX);
}

/* The same over TCP: the connection, the question, the answer. */
static enum otp_dns_result hear_stream(struct otp_resolver *r, struct otp_addresses *out)
{
    if (!r->is_sent) {
        if (!otp_stream_wait(r->fd.fd, POLLOUT, 0)) {
            return OTP_DNS_FOREIGN;
        }
        if (otp_stream_take_error(&r->fd) != 0 || !send_question(r)) {
            return OTP_DNS_FAILED;
        }
        r->is_sent = true;
    }
    while (r->tcp_len < stream_goal(r)) {
        long n = OTP_SYS6(SYS_recvfrom, r->fd.fd, r->tcp + r->tcp_len, stream_goal(r) - r->tcp_len,
                          MSG_DONTWAIT, 0, 0);
        if (n == -EAGAIN || n == -EINTR) {
            return OTP_DNS_FOREIGN;
        }
        if (n <= 0) {
            return OTP_DNS_FAILED;
        }
        r->tcp_len += (size_t)n;
    }
    struct otp_text answer = otp_text_make((const char *)r->tcp + 2, r->tcp_len - 2);
    enum otp_dns_result result = otp_dns_read(&r->question, answer, r->port, out);
    /* Nothing else will come over this connection. */
    return result == OTP_DNS_FOREIGN || result == OTP_DNS_CUT ? OTP_DNS_FAILED : result;
}

static enum otp_dns_result hear(struct otp_resolver *r, struct otp_addresses *out)
{
    if (!otp_fd_is_ours(&r->fd)) {
        return OTP_DNS_FAILED;
    }
    enum otp_dns_result result = r->over_tcp ? hear_stream(r, out) : hear_datagrams(r, out);
    bool is_late = otp_sys_monotonic_ns() >= r->limit_ns;
    return result == OTP_DNS_FOREIGN && is_late ? OTP_DNS_FAILED : result;
}

short otp_resolver_wants(const struct otp_resolver *r)
{
    return r->over_tcp && !r->is_sent ? POLLOUT : POLLIN;
}

/* The next question after a result; false: there is none left. */
static bool next_question(struct otp_resolver *r, enum otp_dns_result result,
                          const struct otp_addresses *out)
{
    if (result == OTP_DNS_FAILED && r->tries < r->conf.servers.count * r->conf.attempts) {
        return true;
    }
    r->has_failed = r->has_failed || result == OTP_DNS_FAILED;
    r->tries = 0;
    if (!r->asks_v6 && result != OTP_DNS_NO_NAME) {
        r->asks_v6 = true;
        return true;
    }
    r->asks_v6 = false;
    r->candidate++;
    return out->count == 0 && make_candidate(r);
}

enum otp_status otp_resolver_turn(struct otp_resolver *r, struct otp_addresses *out)
{
    for (;;) {
        enum otp_dns_result result = OTP_DNS_FAILED;
        if (r->is_waiting) {
            result = hear(r, out);
        } else if (ask(r)) {
            return OTP_AGAIN;
        }
        if (result == OTP_DNS_FOREIGN) {
            return OTP_AGAIN;
        }
        stop_waiting(r);
        r->over_tcp = result == OTP_DNS_CUT;
        if (r->over_tcp) {
            r->tries--; /* the same server once more */
            continue;
        }
        if (!next_question(r, result, out)) {
            break;
        }
    }
    return out->count > 0 ? OTP_OK : r->has_failed ? OTP_IO : OTP_NOT_FOUND;
}

enum otp_status otp_resolver_start(struct otp_resolver *r, struct otp_text host, uint16_t port,
                                   const char *hosts_path, const char *conf_path,
                                   struct otp_addresses *out)
{
    memset(r, 0, sizeof(*r));
    r->fd = OTP_FD_NONE;
    r->host = host;
    r->port = port;
    if (otp_address_find(host, port, hosts_path, out) == OTP_OK) {
        return OTP_OK;
    }
    if (host.len == 0 || host.len > OTP_DNS_NAME_MAX || memchr(host.data, ':', host.len) != NULL) {
        return OTP_INVALID;
    }
    otp_resolver_read_conf(&r->conf, conf_path);
    if (!make_candidate(r) || r->name_len == 0) {
        return OTP_INVALID;
    }
    return otp_resolver_turn(r, out);
}

void otp_resolver_stop(struct otp_resolver *r)
{
    stop_waiting(r);
}
