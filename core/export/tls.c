/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include <mbedtls/entropy.h>
#include <mbedtls/net_sockets.h>
#include <mbedtls/ssl.h>
#include <mbedtls/x509_crt.h>

#include "core/base/fmt.h"
#include "core/base/sys.h"
#include "core/export/address.h"
#include "core/export/guest.h"

#define PEM_MAX_BYTES ((int64_t)8 << 20)
#define SAN_ADDRESS (MBEDTLS_ASN1_CONTEXT_SPECIFIC | 7) /* iPAddress, RFC 5280, 4.2.1.6 */
#define HOST_MAX 256

struct otp_tls {
    struct otp_heap *heap;
    const struct otp_fd *fd;
    short wants;
    bool is_numeric; /* the host: then its address must be in the certificate */
    struct otp_address address;
    const char *alpn[2];
    char host[HOST_MAX];
    mbedtls_ssl_context ssl;
    mbedtls_ssl_config conf;
    mbedtls_x509_crt trusted;
    mbedtls_x509_crt own;
    mbedtls_pk_context key;
};

/* ---- the library's world ---- */

static int give_random(void *arg, unsigned char *out, size_t len)
{
    (void)arg;
    while (len > 0) {
        long n = OTP_SYS3(SYS_getrandom, out, len, 0);
        if (n <= 0 && n != -EINTR) {
            return MBEDTLS_ERR_ENTROPY_SOURCE_FAILED; /* keys are not made of anything less */
        }
        out += n > 0 ? n : 0;
        len -= n > 0 ? (size_t)n : 0;
    }
    return 0;
}

static int send_bytes(void *arg, const unsigned char *data, size_t len)
{
    struct otp_tls *t = arg;
    if (!otp_fd_is_ours(t->fd)) {
        return MBEDTLS_ERR_NET_INVALID_CONTEXT;
    }
    long n = OTP_SYS6(SYS_sendto, t->fd->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT, 0, 0);
    if (n == -EAGAIN || n == -EINTR) {
        return MBEDTLS_ERR_SSL_WANT_WRITE;
    }
    return n == -EPIPE || n == -ECONNRESET ? MBEDTLS_ERR_NET_CONN_RESET
           : n < 0                         ? MBEDTLS_ERR_NET_SEND_FAILED
                                           : (int)n;
}

static int receive_bytes(void *arg, unsigned char *data, size_t len)
{
    struct otp_tls *t = arg;
    if (!otp_fd_is_ours(t->fd)) {
        return MBEDTLS_ERR_NET_INVALID_CONTEXT;
    }
    long n = OTP_SYS6(SYS_recvfrom, t->fd->fd, data, len, MSG_DONTWAIT, 0, 0);
    if (n == -EAGAIN || n == -EINTR) {
        return MBEDTLS_ERR_SSL_WANT_READ;
    }
    return n == -ECONNRESET ? MBEDTLS_ERR_NET_CONN_RESET
           : n < 0          ? MBEDTLS_ERR_NET_RECV_FAILED
                            : (int)n;
}

/* ---- certificates ---- */

static void wipe(struct otp_heap *heap, unsigned char *bytes, size_t len)
{
    memset(bytes, 0, len);
    __asm__ volatile("" : : "r"(bytes) : "memory"); /* the clearing may not be left out */
    otp_heap_free(heap, bytes);
}

/* A whole file and a NUL behind it (which PEM parsing wants and counts); NULL: *error says why. */
static unsigned char *read_file(struct otp_heap *heap, const char *path, size_t *len, int *error)
{
    int fd = otp_sys_open(path, O_RDONLY | O_NOCTTY | O_NONBLOCK, 0);
    int64_t size = fd < 0 ? fd : otp_sys_file_size(fd);
    unsigned char *bytes = NULL;

    *error = size < 0 ? (int)-size : size > PEM_MAX_BYTES ? EFBIG : ENOMEM;
    if (size >= 0 && size <= PEM_MAX_BYTES) {
        bytes = otp_heap_alloc(heap, (size_t)size + 1);
    }
    if (bytes != NULL) {
        long n = otp_sys_read_full(fd, bytes, (size_t)size);
        *len = n < 0 ? 1 : (size_t)n + 1;
        bytes[*len - 1] = '\0';
    }
    if (fd >= 0) {
        otp_sys_close(fd);
    }
    return bytes;
}

static bool load_trusted(struct otp_tls *t, struct otp_text path, struct otp_tls_fault *fault)
{
    static const char *const places[] = {
        "/etc/ssl/certs/ca-certificates.crt",                /* Debian, Ubuntu, Alpine, Arch */
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", /* Fedora, RHEL */
        "/etc/pki/tls/certs/ca-bundle.crt",                  /* older RHEL */
        "/etc/ssl/ca-bundle.pem",                            /* SUSE */
        "/etc/ssl/cert.pem",
    };
    unsigned char *pem = NULL;
    size_t len = 0;

    if (path.len > 0) {
        pem = read_file(t->heap, path.data, &len, &fault->error);
        fault->text = pem == NULL && fault->error == ENOENT
                          ? "the file of OTEL_EXPORTER_OTLP_CERTIFICATE does not exist"
                          : NULL;
    }
    for (size_t i = 0; path.len == 0 && pem == NULL && i < OTP_ARRAY_LEN(places); i++) {
        pem = read_file(t->heap, places[i], &len, &fault->error);
        fault->text = pem == NULL ? "no certificates of the system were found (package "
                                    "ca-certificates?)"
                                  : NULL;
    }
    if (pem == NULL) {
        return false;
    }
    int r = mbedtls_x509_crt_parse(&t->trusted, pem, len);
    otp_heap_free(t->heap, pem);
    if (r < 0 || t->trusted.version == 0) {
        fault->error = r == MBEDTLS_ERR_X509_ALLOC_FAILED ? ENOMEM : EINVAL;
        fault->text = fault->error == ENOMEM ? NULL : "the file of trusted certificates has none";
        return false;
    }
    mbedtls_ssl_conf_ca_chain(&t->conf, &t->trusted, NULL);
    return true;
}

static bool load_own(struct otp_tls *t, const struct otp_tls_options *o,
                     struct otp_tls_fault *fault)
{
    size_t len = 0;
    if (o->cert_path.len == 0 && o->key_path.len == 0) {
        return true;
    }
    fault->text = "the client's certificate cannot be read";
    unsigned char *pem = read_file(t->heap, o->cert_path.data, &len, &fault->error);
    int r = pem == NULL ? -1 : mbedtls_x509_crt_parse(&t->own, pem, len);
    if (pem != NULL) {
        wipe(t->heap, pem, len); /* the key may be in the same file */
    }
    if (r != 0) {
        return false;
    }
    fault->text = "the client's key cannot be read, or has a password";
    pem = read_file(t->heap, o->key_path.data, &len, &fault->error);
    r = pem == NULL ? -1 : mbedtls_pk_parse_key(&t->key, pem, len, NULL, 0);
    if (pem != NULL) {
        wipe(t->heap, pem, len);
    }
    if (r != 0) {
        return false;
    }
    fault->text = "the client's key is not that of its certificate";
    if (mbedtls_pk_check_pair(&t->own.pk, &t->key) != 0 ||
        mbedtls_ssl_conf_own_cert(&t->conf, &t->own, &t->key) != 0) {
        return false;
    }
    fault->text = NULL;
    return true;
}

static void drop_certificates(struct otp_tls *t)
{
    mbedtls_ssl_conf_ca_chain(&t->conf, NULL, NULL);
    mbedtls_x509_crt_free(&t->trusted);
    mbedtls_x509_crt_free(&t->own);
    mbedtls_pk_free(&t->key);
}

/* ---- the connection ---- */

static bool set_up(struct otp_tls *t, const struct otp_tls_options *o,
                   const struct otp_tls_peer *peer, struct otp_tls_fault *fault)
{
    fault->error = ENOMEM;
    if (peer->host.len >= sizeof(t->host)) {
        fault->error = ENAMETOOLONG;
        return false;
    }
    memcpy(t->host, peer->host.data, peer->host.len);
    t->host[peer->host.len] = '\0';
    t->is_numeric = otp_address_parse(peer->host, 0, &t->address);
    t->alpn[0] = peer->alpn;
    if (mbedtls_ssl_config_defaults(&t->conf, MBEDTLS_SSL_IS_CLIENT, MBEDTLS_SSL_TRANSPORT_STREAM,
                                    MBEDTLS_SSL_PRESET_DEFAULT) != 0 ||
        mbedtls_ssl_conf_alpn_protocols(&t->conf, t->alpn) != 0) {
        return false;
    }
    mbedtls_ssl_conf_min_version(&t->conf, MBEDTLS_SSL_MAJOR_VERSION_3,
                                 MBEDTLS_SSL_MINOR_VERSION_3); /* TLS 1.2 */
    mbedtls_ssl_conf_authmode(&t->conf, MBEDTLS_SSL_VERIFY_REQUIRED);
    mbedtls_ssl_conf_rng(&t->conf, give_random, NULL);
    if (!load_trusted(t, o->ca_path, fault) || !load_own(t, o, fault)) {
        return false;
    }
    fault->error = ENOMEM;
    /* A numeric address is no name: neither told to the server nor compared as one. */
    if (mbedtls_ssl_setup(&t->ssl, &t->conf) != 0 ||
        mbedtls_ssl_set_hostname(&t->ssl, t->is_numeric ? NULL : t->host) != 0) {
        return false;
    }
    mbedtls_ssl_set_bio(&t->ssl, t, send_bytes, receive_bytes, NULL);
    return true;
}

struct otp_tls *otp_tls_open(struct otp_heap *heap, const struct otp_tls_options *options,
                             const struct otp_tls_peer *peer, struct otp_tls_fault *fault)
{
    struct otp_tls *t = otp_heap_calloc(heap, 1, sizeof(*t));
    fault->error = ENOMEM;
    fault->text = NULL;
    if (t == NULL) {
        return NULL;
    }
    otp_guest_use(heap);
    t->heap = heap;
    t->fd = peer->fd;
    mbedtls_ssl_init(&t->ssl);
    mbedtls_ssl_config_init(&t->conf);
    mbedtls_x509_crt_init(&t->trusted);
    mbedtls_x509_crt_init(&t->own);
    mbedtls_pk_init(&t->key);
    if (!set_up(t, options, peer, fault)) {
        otp_tls_close(t);
        return NULL;
    }
    return t;
}

/* Is the numeric address one of the certificate's? */
static bool has_address(const struct otp_tls *t)
{
    const mbedtls_x509_crt *crt = mbedtls_ssl_get_peer_cert(&t->ssl);
    bool is_v4 = t->address.to.any.sa_family == AF_INET;
    const void *bytes = is_v4 ? (const void *)&t->address.to.in.sin_addr
                              : (const void *)&t->address.to.in6.sin6_addr;
    size_t len = is_v4 ? 4 : 16;
    for (const mbedtls_x509_sequence *s = crt == NULL ? NULL : &crt->subject_alt_names; s != NULL;
         s = s->next) {
        if (s->buf.tag == SAN_ADDRESS && s->buf.len == len && memcmp(s->buf.p, bytes, len) == 0) {
            return true;
        }
    }
    return false;
}

static const char *text_of_verdict(uint32_t flags)
{
    static const struct {
        uint32_t flag;
        const char *text;
    } texts[] = {
        {MBEDTLS_X509_BADCERT_CN_MISMATCH, "its certificate is for another host"},
        {MBEDTLS_X509_BADCERT_EXPIRED, "its certificate has expired"},
        {MBEDTLS_X509_BADCERT_FUTURE, "its certificate is not valid yet"},
        {MBEDTLS_X509_BADCERT_REVOKED, "its certificate is revoked"},
        {MBEDTLS_X509_BADCERT_NOT_TRUSTED, "its certificate is not signed by a trusted authority"},
        {MBEDTLS_X509_BADCERT_BAD_KEY, "the key of its certificate is too weak"},
        {MBEDTLS_X509_BADCERT_BAD_MD, "its certificate is signed in an unsafe way"},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(texts); i++) {
        if ((flags & texts[i].flag) != 0) {
            return texts[i].text;
        }
    }
    return "its certificate is not acceptable";
}

static void explain(struct otp_tls *t, int r, struct otp_tls_fault *fault)
{
    static char code_text[48]; /* outlives the connection; there is one thread */
    size_t len = sizeof("TLS error -0x") - 1;
    uint32_t flags = mbedtls_ssl_get_verify_result(&t->ssl);

    fault->error = EPROTO;
    if (r == MBEDTLS_ERR_X509_CERT_VERIFY_FAILED) {
        fault->text = text_of_verdict(flags);
    } else if (r == MBEDTLS_ERR_SSL_FATAL_ALERT_MESSAGE) {
        fault->text = "it does not accept our side (protocol version, or a client certificate)";
    } else if (r == MBEDTLS_ERR_NET_CONN_RESET || r == MBEDTLS_ERR_SSL_CONN_EOF) {
        fault->text = "it closed the connection during the handshake";
    } else if (r == MBEDTLS_ERR_SSL_INVALID_RECORD) {
        fault->text = "it does not speak TLS";
    } else {
        memcpy(code_text, "TLS error -0x", len);
        len += otp_fmt_hex(code_text + len, (uint64_t)-r, 4);
        code_text[len] = '\0';
        fault->text = code_text;
    }
}

int otp_tls_handshake(struct otp_tls *t, struct otp_tls_fault *fault)
{
    otp_guest_use(t->heap);
    int r = mbedtls_ssl_handshake(&t->ssl);
    if (r == MBEDTLS_ERR_SSL_WANT_READ || r == MBEDTLS_ERR_SSL_WANT_WRITE) {
        t->wants = r == MBEDTLS_ERR_SSL_WANT_READ ? POLLIN : POLLOUT;
        return -EAGAIN;
    }
    if (r != 0) {
        explain(t, r, fault);
        return -EPROTO;
    }
    if (t->is_numeric && !has_address(t)) {
        fault->error = EPROTO;
        fault->text = text_of_verdict(MBEDTLS_X509_BADCERT_CN_MISMATCH);
        return -EPROTO;
    }
    drop_certificates(t);
    return 0;
}

static long result(struct otp_tls *t, int r)
{
    if (r >= 0) {
        return r;
    }
    switch (r) {
    case MBEDTLS_ERR_SSL_WANT_READ:
        t->wants = POLLIN;
        return -EAGAIN;
    case MBEDTLS_ERR_SSL_WANT_WRITE:
        t->wants = POLLOUT;
        return -EAGAIN;
    case MBEDTLS_ERR_SSL_PEER_CLOSE_NOTIFY:
    case MBEDTLS_ERR_SSL_CONN_EOF:
        return 0;
    case MBEDTLS_ERR_NET_CONN_RESET:
        return -ECONNRESET;
    default:
        return -EIO;
    }
}

long otp_tls_read(struct otp_tls *t, void *buf, size_t len)
{
    otp_guest_use(t->heap);
    return result(t, mbedtls_ssl_read(&t->ssl, buf, len));
}

long otp_tls_write(struct otp_tls *t, const void *buf, size_t len)
{
    otp_guest_use(t->heap);
    long n = result(t, mbedtls_ssl_write(&t->ssl, buf, len));
    return n == 0 ? -EPIPE : n;
}

short otp_tls_wants(const struct otp_tls *t)
{
    return t->wants == 0 ? POLLIN : t->wants;
}

void otp_tls_close(struct otp_tls *t)
{
    if (t == NULL) {
        return;
    }
    otp_guest_use(t->heap);
    mbedtls_ssl_free(&t->ssl);
    mbedtls_ssl_config_free(&t->conf);
    mbedtls_x509_crt_free(&t->trusted);
    mbedtls_x509_crt_free(&t->own);
    mbedtls_pk_free(&t->key);
    otp_heap_free(t->heap, t);
}

void otp_tls_forget(void)
{
    otp_guest_use(NULL);
}
