/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What became of one request: delivered, to be tried again, or refused for good; and what the
 * server said about it. Text of the server is untrusted: it is cut and made printable here.
 */
#ifndef OTP_EXPORT_OUTCOME_H
#define OTP_EXPORT_OUTCOME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/text.h"

#define OTP_OUTCOME_TEXT_MAX 160

enum otp_outcome_kind {
    OTP_OUTCOME_DELIVERED,
    OTP_OUTCOME_RETRY,
    OTP_OUTCOME_REFUSED, /* final: never sent again */
};

struct otp_outcome {
    enum otp_outcome_kind kind;
    unsigned code;     /* HTTP status or gRPC status */
    bool is_grpc;      /* what code is */
    bool has_wait;     /* the server said when to come again */
    uint64_t wait_ns;  /* after so long */
    uint64_t rejected; /* profiles of a delivered message that the server did not take */
    bool has_warning;  /* partial success: rejected, text, or both */
    char text[OTP_OUTCOME_TEXT_MAX]; /* what the server said; may be empty */
};

/* What the sender knows of a response when it judges it. */
struct otp_reply {
    unsigned code;
    bool is_json;
    struct otp_text body;
};

/*
 * Judges a finished HTTP response: 2xx is delivered, 429, 502, 503 and 504 are tried again, the
 * rest is final. The body (ExportProfilesServiceResponse, or google.rpc.Status) is read as far as
 * it can be. The wait comes from the caller, who knows the headers. Context: worker.
 */
void otp_outcome_of_http(const struct otp_reply *reply, struct otp_outcome *out);

/*
 * Judges a finished gRPC call. message: grpc-message, decoded; details: the bytes of
 * grpc-status-details-bin (google.rpc.Status), where RetryInfo may be. RESOURCE_EXHAUSTED is tried
 * again only with RetryInfo. body: the response message when the code is 0. Context: worker.
 */
void otp_outcome_of_grpc(const struct otp_reply *reply, struct otp_text message,
                         struct otp_text details, struct otp_outcome *out);

#endif
