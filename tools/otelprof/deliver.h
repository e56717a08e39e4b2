/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles that were read, on their way to a server or a socket, as the library would send them. */
#ifndef OTP_OTELPROF_DELIVER_H
#define OTP_OTELPROF_DELIVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/conf/conf.h"
#include "core/decode/model.h"
#include "core/engine/peers.h"
#include "tools/otelprof/command.h"

struct otp_delivery {
    struct otp_conf conf;
    struct otp_heap heap;
    union otp_peer peer;
    bool is_open;
    size_t request_max; /* bytes of one message */
    uint64_t timeout_ns;
    bool has_told_wait; /* one line says that it waits, and for what */
    char why[1024];     /* of the last failure */
};

enum otp_delivered {
    OTP_DELIVERED,
    OTP_DELIVERY_REFUSED,   /* for good: it would be refused again */
    OTP_DELIVERY_NOT_NOW,   /* nobody took it within the time */
    OTP_DELIVERY_IMPOSSIBLE /* it cannot be made into requests */
};

/*
 * Prepares to send to output (as in OTELPROF_OUTPUT; NULL: what the OTEL_EXPORTER_OTLP_ variables
 * say). timeout_ns: the most that one message may take. False: a line was printed.
 */
bool otp_delivery_open(struct otp_delivery *d, const struct otp_command *command,
                       const char *output, uint64_t timeout_ns);
/* Sends all messages of the set, in parts where the other side wants them so. Profiles keep their
 * ids. Anything but OTP_DELIVERED: d->why says why; messages before that one have arrived. */
enum otp_delivered otp_delivery_send(struct otp_delivery *d, const struct otp_profile_set *set);
void otp_delivery_close(struct otp_delivery *d);

#endif
