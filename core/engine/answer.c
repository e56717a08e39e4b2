/* SPDX-License-Identifier: Apache-2.0 */
#include "core/engine/answer.h"

#include <string.h>

#include "core/capture/capture.h"
#include "core/conf/command.h"
#include "core/engine/power.h"
#include "core/engine/rates.h"
#include "core/engine/state.h"
#include "core/engine/status.h"

static void add(struct otp_reply *r, const char *text)
{
    size_t len = strlen(text);
    len = len < sizeof(r->text) - r->len ? len : sizeof(r->text) - r->len;
    memcpy(r->text + r->len, text, len);
    r->len += len;
}

/* NULL: done; else why not. */
static const char *set_all(const struct otp_conf *wanted)
{
    struct otp_conf *conf = &otp_engine.conf;
    struct otp_conf before = *conf;
    *conf = *wanted;
    if (otp_rates_apply()) {
        return NULL;
    }
    conf->heap_interval_bytes = before.heap_interval_bytes;
    (void)otp_rates_apply();
    return "this process has used 16 different heap intervals; only those can be set again";
}

/* NULL: done; else why not. */
static const char *obey(enum otp_command_kind kind, const struct otp_conf *wanted)
{
    bool is_on = kind == OTP_COMMAND_START;
    switch (kind) {
    case OTP_COMMAND_START:
    case OTP_COMMAND_STOP:
        otp_power_wish(is_on);
        otp_power_obey();
        return otp_capture_is_on() == is_on ? NULL : "the process ends";
    case OTP_COMMAND_FLUSH:
        if (!otp_capture_is_on()) {
            return "no samples are taken: start comes first";
        }
        otp_power_wish_flush();
        otp_power_obey();
        return NULL;
    case OTP_COMMAND_SET:
        return set_all(wanted);
    case OTP_COMMAND_STATUS:
    default:
        return NULL;
    }
}

void otp_answer(struct otp_text request, struct otp_reply *reply)
{
    static struct otp_conf wanted; /* the worker's; large */
    enum otp_command_kind kind = OTP_COMMAND_STATUS;
    const char *why = NULL;
    wanted = otp_engine.conf;
    reply->len = 0;
    if (otp_command_parse(request, &wanted, &kind, &why)) {
        why = obey(kind, &wanted);
    }
    add(reply, why == NULL ? "ok\n" : "error: ");
    if (why != NULL) {
        add(reply, why);
        add(reply, "\n");
    } else if (kind == OTP_COMMAND_STATUS) {
        otp_status_write(reply);
    }
}
