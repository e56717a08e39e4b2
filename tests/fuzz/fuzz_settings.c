/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what users and other programs may put into the environment of a program, and what
 * somebody may ask of a running one. The first byte chooses the reader.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/fmt.h"
#include "core/conf/command.h"
#include "core/conf/conf.h"
#include "core/conf/glob.h"
#include "core/conf/outputs.h"
#include "core/export/address.h"
#include "core/export/spool.h"
#include "core/export/template.h"
#include "core/resource/resource.h"
#include "core/resource/user.h"
#include "tests/fuzz/target.h"

#define VARIABLES_MAX 64

/* A line for the log: nothing in it that a terminal would act on, and one line. */
static void look_at_line(const char *line, size_t len)
{
    require(len > 0 && len < (size_t)64 << 10);
    for (size_t i = 0; i < len; i++) {
        require((unsigned char)line[i] >= 0x20 && line[i] != 0x7f);
    }
}

static void see_report(void *arg, enum otp_log_level level, const char *line, size_t len)
{
    require(arg == NULL && level <= OTP_LOG_DEBUG);
    look_at_line(line, len);
}

static void see_resource_line(void *arg, const char *line, size_t len)
{
    require(arg == NULL);
    look_at_line(line, len);
}

static void look_at_conf(const struct otp_conf *c)
{
    require(c->output_count >= 1 && c->output_count <= OTP_CONF_OUTPUTS_MAX);
    require(c->cpu_hz >= 1 && c->cpu_hz <= 10000);
    require(c->max_depth >= 1 && c->max_depth <= 1024);
    require(c->heap_interval_bytes >= 1 && c->memory_limit_bytes >= (uint64_t)1 << 20);
    for (size_t i = 0; i < c->output_count; i++) {
        require(c->outputs[i].text.len > 0);
    }
    (void)otp_conf_wants_program(c, otp_text_of("a.out"), otp_text_of("sh"));
}

/* NAME=VALUE strings with NUL behind each. */
static void read_environment(char *text, size_t len)
{
    char *variables[VARIABLES_MAX + 1];
    struct otp_conf conf;
    size_t count = 0;
    for (size_t at = 0; at < len && count < VARIABLES_MAX; at += strlen(text + at) + 1) {
        variables[count++] = text + at;
    }
    variables[count] = NULL;
    otp_conf_load(&conf, variables, see_report, NULL);
    look_at_conf(&conf);
}

static void read_command(struct otp_text text)
{
    struct otp_conf conf;
    enum otp_command_kind kind;
    const char *why = NULL;
    struct otp_line line = {0};
    otp_conf_load(&conf, NULL, NULL, NULL);
    bool is_good = otp_command_parse(text, &conf, &kind, &why);
    require(is_good || (why != NULL && why[0] != '\0'));
    look_at_conf(&conf);
    otp_command_show(&line, text);
}

/* A pattern, a NUL, a name. */
static void match(struct otp_text text)
{
    const char *nul = memchr(text.data, 0, text.len);
    size_t len = nul == NULL ? text.len : (size_t)(nul - text.data);
    struct otp_text name = otp_text_make(text.data + len, text.len - len);
    if (text.len > 4096) {
        return; /* work is bounded by the product */
    }
    (void)otp_glob_matches(otp_text_make(text.data, len), name);
    (void)otp_glob_list_matches(otp_text_make(text.data, len), name);
}

static void expand(struct otp_text text, unsigned attempt)
{
    struct otp_template_values v = {.program = text,
                                    .host = otp_text_of("h"),
                                    .pid = 1,
                                    .start_ns = 1700000000000000000U,
                                    .flush = attempt};
    enum otp_format format;
    enum otp_compression compression;
    char out[1024];
    (void)otp_format_of_name(text, &format, &compression);
    struct otp_text unknown = otp_template_unknown(text);
    require(unknown.len <= 2);
    (void)otp_template_has_flush(text);
    enum otp_status status = otp_template_expand(text, &v, attempt, out, sizeof(out));
    require(status != OTP_OK || memchr(out, 0, sizeof(out)) != NULL);
    status = otp_template_expand(otp_text_of("%e-%p"), &v, attempt, out, sizeof(out));
    require(status != OTP_OK || strchr(out, '/') == NULL);
}

static void read_address(const char *text, size_t len)
{
    struct otp_text host;
    struct otp_address a;
    uint16_t port;
    struct otp_output output;
    struct otp_text whole = otp_text_make(text, len);
    if (otp_address_split(whole, &host, &port)) {
        (void)otp_address_parse(host, port, &a);
    }
    (void)otp_address_parse(whole, 1, &a);
    (void)otp_address_unix(whole, &a);
    (void)otp_conf_is_output(whole);
    (void)otp_conf_parse_output(whole, &output);
    (void)otp_spool_is_name(text); /* has a NUL behind it */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct otp_resource resource;
    if (size == 0) {
        return 0;
    }
    size_t len = size - 1;
    char *text = malloc(len + 1);
    require(text != NULL);
    memcpy(text, data + 1, len);
    text[len] = '\0';
    switch (data[0] % 6) {
    case 0:
        read_environment(text, len);
        break;
    case 1:
        read_command(otp_text_make(text, len));
        break;
    case 2:
        match(otp_text_make(text, len));
        break;
    case 3:
        expand(otp_text_make(text, len), data[0] / 6);
        break;
    case 4:
        memset(&resource, 0, sizeof(resource));
        if (!otp_resource_add_user(&resource, otp_text_make(text, len), see_resource_line, NULL)) {
            require(resource.count == 0);
        }
        break;
    default:
        read_address(text, len);
        break;
    }
    free(text);
    return 0;
}
