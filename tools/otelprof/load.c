/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/otelprof/load.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/decode/input.h"
#include "tools/otelprof/args.h"
#include "tools/otelprof/progress.h"

#define READ_STEP ((size_t)1 << 20)
#define READ_AT_ONCE ((size_t)32 << 20) /* so that there is something to tell of a slow disk */

/* What has been read of a file. */
struct content {
    uint8_t *bytes;
    size_t size;
    size_t capacity;
};

static bool make_room(struct content *c, size_t extra)
{
    if (c->capacity - c->size >= extra) {
        return true;
    }
    size_t capacity = c->capacity + c->capacity / 2;
    capacity = capacity < c->size + extra ? c->size + extra : capacity;
    uint8_t *bytes = realloc(c->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    otp_prefer_huge(bytes, capacity);
    c->bytes = bytes;
    c->capacity = capacity;
    return true;
}

/* Reads fd to its end, but no more than one byte past the limit; NULL or why not. */
static const char *read_all(int fd, struct content *c)
{
    struct stat st;
    size_t step = READ_STEP;
    uint64_t all = 0;

    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 &&
        (uint64_t)st.st_size <= OTP_INPUT_MAX) {
        all = (uint64_t)st.st_size;
        step = (size_t)st.st_size + 1; /* the end is seen without another step */
    }
    while (c->size <= OTP_INPUT_MAX) {
        if (c->size == c->capacity && !make_room(c, step)) {
            return "no memory";
        }
        size_t room = c->capacity - c->size;
        otp_progress_bytes("loading", c->size, all);
        ssize_t n = read(fd, c->bytes + c->size, room < READ_AT_ONCE ? room : READ_AT_ONCE);
        if (n == 0) {
            return NULL;
        }
        if (n < 0 && errno != EINTR) {
            return strerror(errno);
        }
        c->size += n > 0 ? (size_t)n : 0;
        step = READ_STEP;
    }
    return "the file is larger than the limit of 1 GiB";
}

static bool fail(const char *name, uint64_t off, const char *reason, bool in_unpacked)
{
    otp_progress_end();
    (void)fprintf(stderr, "otelprof: %s: offset %llu%s: %s\n", name, (unsigned long long)off,
                  in_unpacked ? " of the unpacked data" : "", reason);
    return false;
}

static bool is_followed(enum otp_load_mode mode)
{
    return mode == OTP_LOAD_FOLLOW || mode == OTP_LOAD_ATTACH;
}

bool otp_load_fd(struct otp_profile_set *set, int fd, const char *name, enum otp_load_mode mode)
{
    struct content c = {.bytes = NULL};
    struct otp_input_fault fault;
    otp_progress_of_file(name);
    const char *reason = read_all(fd, &c);

    if (reason != NULL) {
        free(c.bytes);
        return fail(name, c.size, reason, false);
    }
    struct otp_input in = {.name = name,
                           .bytes = c.bytes,
                           .size = c.size,
                           .with_notes = mode == OTP_LOAD_CHECK,
                           .with_verify = is_followed(mode),
                           .is_consumed = true,
                           .with_original = mode == OTP_LOAD_ATTACH};
    bool is_good = otp_profile_set_add(set, &in, &fault) == OTP_OK;
    otp_progress_of_file("");
    if (!is_good) {
        return fail(name, fault.off, fault.reason, fault.in_unpacked);
    }
    return true;
}

bool otp_load_file(struct otp_profile_set *set, const char *path, enum otp_load_mode mode)
{
    if (strcmp(path, "-") == 0) {
        return otp_load_fd(set, STDIN_FILENO, "(stdin)", mode);
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return fail(path, 0, strerror(errno), false);
    }
    bool is_loaded = otp_load_fd(set, fd, path, mode);
    (void)close(fd); /* nothing was written */
    return is_loaded;
}

int otp_load_operands(struct otp_profile_set *set, const struct otp_args *args,
                      enum otp_load_mode mode)
{
    size_t profiles = 0;
    int status = OTP_EXIT_OK;

    if (args->operand_count == 0) {
        return otp_usage_error(args->command, "no file is named");
    }
    for (int i = 0; i < args->operand_count; i++) {
        otp_progress_show("reading", (uint64_t)i, (uint64_t)args->operand_count);
        if (!otp_load_file(set, args->operands[i], mode)) {
            status = OTP_EXIT_INPUT;
            if (is_followed(mode)) {
                return status;
            }
        }
    }
    otp_progress_end();
    for (size_t i = 0; i < set->message_count; i++) {
        profiles += set->messages[i]->profiles.count;
    }
    if (profiles == 0 && status == OTP_EXIT_OK) {
        (void)fail(args->operands[0], 0, "there is no profile in it", false);
        return OTP_EXIT_INPUT;
    }
    return status;
}
