/* SPDX-License-Identifier: Apache-2.0 */
/* A file to be written: its name says format and compression, a builder makes the content. */
#ifndef OTP_OTELPROF_PRODUCT_H
#define OTP_OTELPROF_PRODUCT_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/buf.h"
#include "core/base/heap.h"
#include "core/base/status.h"
#include "core/encode/envelope.h"
#include "core/encode/gperftools.h"
#include "core/encode/otep239.h"
#include "core/encode/otlp.h"
#include "core/encode/pprof.h"
#include "core/encode/visitor.h"
#include "core/export/template.h"
#include "tools/otelprof/command.h"

struct otp_product {
    const char *path;
    enum otp_format format; /* where it is none of gperftools' */
    enum otp_compression compression;
    bool is_gperftools;
    enum otp_gperftools_kind kind; /* of gperftools' */
    struct otp_heap heap;
    struct otp_otlp_builder *otlp;
    struct otp_pprof_builder *pprof;
    struct otp_otep239_builder *otep239;
    struct otp_gperftools_builder *gperftools;
    struct otp_visitor *visitor;
    struct otp_buf out; /* the message, once it is finished */
    struct otp_gperftools_losses losses;
    uint8_t next_id[16]; /* of the profile that is told next; all zero: none */
};

struct otp_product_options {
    struct otp_envelope_options envelope; /* the first one */
    struct otp_text default_type;         /* for pprof, where the scope does not say it */
    struct otp_text main_file;
    struct otp_text timestamp_label;
    bool mark_symbols;
    bool refer; /* attributes of resources as references */
};

/* Is it pprof? */
static inline bool otp_product_is_pprof(const struct otp_product *p)
{
    return p->format == OTP_FORMAT_PPROF && !p->is_gperftools;
}
/* Reads format and compression from the name; false: a line was printed. */
bool otp_product_init(struct otp_product *p, const struct otp_command *command, const char *path);
/* Makes the builder, so that p->visitor can be told to. */
enum otp_status otp_product_open(struct otp_product *p, const struct otp_product_options *o);
/* True when a message of the format may hold several resources and scopes. */
bool otp_product_has_envelopes(const struct otp_product *p);
/* Another resource or scope; only where there may be several. */
enum otp_status otp_product_envelope(struct otp_product *p, const struct otp_envelope_options *o);
/* Makes the message of what was told. The builder and what it has borrowed are not needed after it;
 * there is nothing more to tell. */
enum otp_status otp_product_finish(struct otp_product *p);
/* Writes the file, whole or not at all; the exit status, after a line on stderr when not OK. */
int otp_product_write(struct otp_product *p, const struct otp_command *command);
/* Frees all. */
void otp_product_fini(struct otp_product *p);

#endif
