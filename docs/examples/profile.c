/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A profile made by hand with libotelprofile, written as OTLP and as pprof from one visit:
 *
 *     cc profile.c -o profile $(pkg-config --cflags --libs --static otelprofile)
 *     ./profile out.otlp out.pb
 */
#include <otelprofile.h>
#include <stdio.h>
#include <stdlib.h>

static void must(enum otp_status status)
{
    if (status != OTP_OK) {
        fprintf(stderr, "profile: %s\n", otp_status_text(status));
        exit(1);
    }
}

/* Tells one function as a frame of the mapping. */
static uint32_t tell_frame(struct otp_visitor *v, uint32_t mapping, uint64_t address,
                           const char *name, int64_t line)
{
    struct otp_visit_line where = {.name = otp_text_of(name),
                                   .filename = otp_text_of("example.c"),
                                   .line = line};
    struct otp_visit_frame frame = {
        .mapping = mapping, .address = address, .lines = &where, .line_count = 1};
    uint32_t id;

    must(v->frame(v, &frame, &id));
    return id;
}

/* 30 ms in `work` called by `main`, in two threads, and 10 ms in `main` itself. */
static void tell(struct otp_visitor *v)
{
    struct otp_value_type types[] = {{otp_text_of("samples"), otp_text_of("count")},
                                     {otp_text_of("cpu"), otp_text_of("nanoseconds")}};
    struct otp_visit_profile profile = {.types = types,
                                        .type_count = 2,
                                        .period_type = types[1],
                                        .period = 10000000,
                                        .time_unix_ns = 1700000000000000000U,
                                        .duration_ns = 1000000000};
    struct otp_attr build_id = {.key = otp_text_of("process.executable.build_id.gnu"),
                                .kind = OTP_ATTR_STRING,
                                .string = otp_text_of("00112233445566778899aabbccddeeff00112233")};
    struct otp_visit_mapping file = {.start = 0x1000,
                                     .limit = 0x3000,
                                     .file_offset = 0x1000,
                                     .filename = otp_text_of("/usr/bin/example"),
                                     .attrs = &build_id,
                                     .attr_count = 1};
    struct otp_attr thread = {.key = otp_text_of("thread.name"), .kind = OTP_ATTR_STRING};
    uint32_t mapping, stack, deep, names[2];

    must(v->begin_profile(v, &profile));
    must(v->mapping(v, &file, &mapping));
    uint32_t frames[] = {tell_frame(v, mapping, 0x1100, "work", 12),
                         tell_frame(v, mapping, 0x1200, "main", 30)};
    must(v->stack(v, frames, 2, &deep)); /* leaf first */
    must(v->stack(v, frames + 1, 1, &stack));
    thread.string = otp_text_of("left");
    must(v->attr(v, &thread, &names[0]));
    thread.string = otp_text_of("right");
    must(v->attr(v, &thread, &names[1]));

    int64_t one[] = {1, 10000000}, two[] = {2, 20000000};
    struct otp_visit_sample samples[] = {
        {.stack = deep, .attrs = &names[0], .attr_count = 1, .values = one},
        {.stack = deep, .attrs = &names[1], .attr_count = 1, .values = two},
        {.stack = stack, .values = one},
    };
    for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++) {
        must(v->sample(v, &samples[i]));
    }
    must(v->end_profile(v));
}

static void write_file(const char *path, const struct otp_buf *content)
{
    FILE *f = fopen(path, "wb");

    if (f == NULL || fwrite(content->data, 1, content->len, f) != content->len || fclose(f) != 0) {
        perror(path);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    struct otp_heap heap;
    struct otp_buf otlp_bytes, pprof_bytes;
    struct otp_otlp_builder *otlp;
    struct otp_pprof_builder *pprof;
    struct otp_tee *tee;

    if (argc != 3) {
        fprintf(stderr, "usage: profile OUT.otlp OUT.pb\n");
        return 2;
    }
    otp_heap_init(&heap, (size_t)64 << 20); /* never more than this */
    struct otp_attr service = {.key = otp_text_of("service.name"),
                               .kind = OTP_ATTR_STRING,
                               .string = otp_text_of("example")};
    struct otp_otlp_options otlp_options = {.resource_attrs = &service,
                                            .resource_attr_count = 1,
                                            .scope_name = otp_text_of("example")};
    struct otp_pprof_options pprof_options = {.default_type = otp_text_of("cpu"),
                                              .mark_symbols = true};
    must(otp_otlp_builder_create(&heap, &otlp_options, &otlp));
    must(otp_pprof_builder_create(&heap, &pprof_options, &pprof));
    struct otp_visitor *both[] = {otp_otlp_builder_visitor(otlp),
                                  otp_pprof_builder_visitor(pprof)};
    must(otp_tee_create(&heap, both, 2, &tee));

    tell(otp_tee_visitor(tee));

    otp_buf_init(&otlp_bytes, &heap, (size_t)16 << 20);
    otp_buf_init(&pprof_bytes, &heap, (size_t)16 << 20);
    must(otp_otlp_builder_finish(otlp, &otlp_bytes));
    must(otp_pprof_builder_finish(pprof, &pprof_bytes));
    write_file(argv[1], &otlp_bytes);
    write_file(argv[2], &pprof_bytes);
    otp_heap_reset(&heap); /* frees all of it */
    return 0;
}
