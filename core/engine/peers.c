/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/peers.h"

#include "core/base/version.h"

/* What a Collector takes as it comes, with some room for the frame around it. */
#define HTTP_REQUEST_MAX (((size_t)20 << 20) - 65536)
#define GRPC_REQUEST_MAX (((size_t)4 << 20) - 65536)
#define JSON_GROWTH 4U /* a message is longer as text, at most so many times */

bool otp_peer_is(enum otp_output_kind kind)
{
    return kind != OTP_OUTPUT_FILE && kind != OTP_OUTPUT_NONE;
}

static bool is_socket(enum otp_output_kind kind)
{
    return kind == OTP_OUTPUT_UNIX || kind == OTP_OUTPUT_TCP;
}

/* A URL of OTELPROF_OUTPUT says itself whether it is gRPC; "otlp" is what the variables say. */
static bool is_grpc(const struct otp_output *o, const struct otp_conf_otlp *conf)
{
    return o->kind == OTP_OUTPUT_OTLP ? conf->protocol == OTP_OTLP_GRPC
                                      : o->kind == OTP_OUTPUT_GRPC;
}

static enum otp_status open_socket(union otp_peer *p, const struct otp_output *o,
                                   const struct otp_peer_setup *setup)
{
    struct otp_sink_socket_options options = {
        .is_unix = o->kind == OTP_OUTPUT_UNIX,
        .target = o->text,
        .base_path = setup->base_path,
        .heap = setup->heap,
        .queue_bytes = setup->queue_bytes,
        .spool = setup->conf->spool,
        .identity = setup->service,
        .wants_receipt = setup->wants_receipt,
    };
    return otp_sink_socket_init(&p->socket, &options);
}

static enum otp_compression compression_of(enum otp_otlp_compression c)
{
    switch (c) {
    case OTP_OTLP_COMPRESSION_GZIP:
        return OTP_COMPRESSION_GZIP;
    case OTP_OTLP_COMPRESSION_ZSTD:
        return OTP_COMPRESSION_ZSTD;
    case OTP_OTLP_COMPRESSION_NONE:
    default:
        return OTP_COMPRESSION_NONE;
    }
}

static const char *endpoint_name(bool is_url, const struct otp_peer_setup *setup)
{
    if (is_url) {
        return setup->output_name == NULL ? "an endpoint in OTELPROF_OUTPUT" : setup->output_name;
    }
    return setup->conf->otlp.endpoint_is_whole ? "OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT"
                                               : "OTEL_EXPORTER_OTLP_ENDPOINT";
}

static enum otp_status open_otlp(union otp_peer *p, const struct otp_output *o,
                                 const struct otp_peer_setup *setup)
{
    const struct otp_conf_otlp *conf = &setup->conf->otlp;
    bool is_url = o->kind != OTP_OUTPUT_OTLP;
    struct otp_sink_otlp_options options = {
        .endpoint = is_url ? o->text : conf->endpoint,
        .kind = is_url                    ? OTP_ENDPOINT_OUTPUT
                : conf->endpoint_is_whole ? OTP_ENDPOINT_WHOLE
                                          : OTP_ENDPOINT_BASE,
        .endpoint_name = endpoint_name(is_url, setup),
        .is_grpc = is_grpc(o, conf),
        .is_json = conf->protocol == OTP_OTLP_HTTP_JSON,
        .is_insecure = conf->insecure,
        .compression = compression_of(conf->compression),
        .headers = conf->headers,
        .headers_name = conf->headers_are_own ? "OTEL_EXPORTER_OTLP_PROFILES_HEADERS"
                                              : "OTEL_EXPORTER_OTLP_HEADERS",
        .tls = {.ca_path = conf->certificate,
                .key_path = conf->client_key,
                .cert_path = conf->client_certificate},
        .user_agent = otp_text_of("libotelprof/" OTP_VERSION),
        .timeout_ns = conf->timeout_ms * UINT64_C(1000000),
        .heap = setup->heap,
        .queue_bytes = setup->queue_bytes,
        .spool = setup->conf->spool,
        .base_path = setup->base_path,
        .identity = setup->service,
    };
    if (options.endpoint.len == 0) {
        options.endpoint =
            otp_text_of(options.is_grpc ? "http://localhost:4317" : "http://localhost:4318");
    }
    return otp_sink_otlp_init(&p->otlp, &options);
}

enum otp_status otp_peer_open(union otp_peer *p, const struct otp_output *o,
                              const struct otp_peer_setup *setup)
{
    return is_socket(o->kind) ? open_socket(p, o, setup) : open_otlp(p, o, setup);
}

size_t otp_peer_request_max(const struct otp_output *o, const struct otp_peer_setup *setup)
{
    const struct otp_conf_otlp *conf = &setup->conf->otlp;
    size_t most = setup->queue_bytes;
    if (is_socket(o->kind)) {
        return most;
    }
    size_t request = is_grpc(o, conf) ? GRPC_REQUEST_MAX : HTTP_REQUEST_MAX;
    bool is_json = conf->protocol == OTP_OTLP_HTTP_JSON && !is_grpc(o, conf);
    most = most < request ? most : request;
    return is_json ? most / JSON_GROWTH : most;
}
