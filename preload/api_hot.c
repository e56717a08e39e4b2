/* SPDX-License-Identifier: Apache-2.0 */
/* What otelprof.h calls. */
#include "core/api/otelprof.h"

#include "core/base/annot.h"
#include "core/base/version.h"
#include "core/capture/ids.h"
#include "core/capture/labels.h"
#include "core/capture/thread.h"

OTP_EXPORT const char *otelprof_v1_version(void)
{
    return OTP_VERSION;
}

OTP_EXPORT void otelprof_v1_span_set(const void *trace_id, const void *span_id)
{
    otp_span_set(trace_id, span_id);
}

OTP_EXPORT void otelprof_v1_span_clear(void)
{
    otp_span_clear();
}

OTP_EXPORT int otelprof_v1_span_get(void *trace_id, void *span_id)
{
    return otp_span_get(trace_id, span_id);
}

OTP_EXPORT void otelprof_v1_label_push(const char *key, const char *value)
{
    otp_labels_push(key, value);
}

OTP_EXPORT void otelprof_v1_label_push_int(const char *key, otelprof_number value)
{
    otp_labels_push_int(key, value);
}

OTP_EXPORT void otelprof_v1_label_pop(void)
{
    otp_labels_pop();
}

OTP_EXPORT void otelprof_v1_thread_name(const char *name)
{
    otp_thread_name_for_profiles(name);
}

OTP_EXPORT int otelprof_v1_profile_id(const char *type, void *id)
{
    return otp_ids_get(type, id);
}
