/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mapping begins with a header of 32 bytes in the machine's byte order, which points to the
 * payload, a ProcessContext message {resource = 1 {attributes = 1 {key = 1, value = 2}}}. A time of
 * 0 says that it is being written; a reader copies and then looks whether the time is still the
 * same. Source: OTEP 4719.
 */
#include "core/resource/process_context.h"

#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "core/base/peek.h"
#include "core/base/reader.h"
#include "core/base/sys.h"
#include "core/base/utf8.h"
#include "core/resource/store.h"
#include "core/resource/textfile.h"

#define NAME "OTEL_CTX"
#define SIGNATURE_BYTES 8U
#define VERSION 2U
#define PAYLOAD_MAX ((size_t)32 << 10)
#define KEY_MAX 256U
#define READ_TRIES 3
#define BOOTTIME_CLOCK 7 /* CLOCK_BOOTTIME */
#define VARINT_BYTES_MAX 10U

/* Of newer kernels' headers: linux/memfd.h, linux/prctl.h. */
#define MEMFD_CLOEXEC 1U
#define MEMFD_ALLOW_SEALING 2U
#define MEMFD_NOEXEC_SEAL 8U
#define SET_VMA 0x53564d41
#define SET_VMA_ANON_NAME 0

struct header {
    char signature[SIGNATURE_BYTES];
    uint32_t version;
    uint32_t payload_bytes;
    uint64_t published_ns; /* of the boot clock; 0: being written */
    uint64_t payload;      /* address */
};

_Static_assert(sizeof(struct header) == 32 && offsetof(struct header, payload) == 24, "OTEP 4719");

/* ---- finding and copying ---- */

static bool begins_with(struct otp_text text, const char *prefix)
{
    size_t len = strlen(prefix);
    return text.len >= len && memcmp(text.data, prefix, len) == 0;
}

static uint64_t parse_hex(struct otp_text *line)
{
    uint64_t v = 0;
    size_t i = 0;
    for (; i < line->len && i < 16; i++) {
        char c = line->data[i];
        bool is_digit = c >= '0' && c <= '9';
        if (!is_digit && (c < 'a' || c > 'f')) {
            break;
        }
        v = v << 4 | (uint64_t)(is_digit ? c - '0' : c - 'a' + 10);
    }
    *line = otp_text_make(line->data + i, line->len - i);
    return v;
}

static struct otp_text last_word(struct otp_text line)
{
    size_t begin = 0;
    /* START-END PERMS OFFSET DEVICE INODE, then blanks and the name (proc(5)). */
    for (unsigned field = 0; field < 5; field++) {
        while (begin < line.len && line.data[begin] != ' ') {
            begin++;
        }
        while (begin < line.len && line.data[begin] == ' ') {
            begin++;
        }
    }
    return otp_text_make(line.data + begin, line.len - begin);
}

/* Notes where the mapping is whose line this is; false ends the search. */
static bool see_line(void *arg, struct otp_text line)
{
    uint64_t *address = arg;
    struct otp_text name = last_word(line);
    if (!begins_with(name, "[anon_shmem:" NAME "]") && !begins_with(name, "[anon:" NAME "]") &&
        !begins_with(name, "/memfd:" NAME)) {
        return true;
    }
    uint64_t start = parse_hex(&line);
    (void)parse_hex(&line);
    const char *perms = memchr(line.data, ' ', line.len);
    bool is_data =
        perms != NULL && line.data + line.len - perms > 4 && perms[1] == 'r' && perms[3] != 'x';
    *address = is_data ? start : 0;
    return *address == 0;
}

static bool copy(void *to, uint64_t from, size_t len)
{
    return otp_peek_one(to, (uintptr_t)from, len);
}

static bool copy_header(uint64_t address, struct header *h)
{
    return copy(h, address, sizeof(*h)) && memcmp(h->signature, NAME, SIGNATURE_BYTES) == 0 &&
           h->version == VERSION && h->published_ns != 0 && h->payload_bytes > 0 &&
           h->payload_bytes <= PAYLOAD_MAX;
}

/* ---- reading ---- */

/* One field with a length, or a varint. */
struct field {
    uint64_t number;
    uint64_t value;
    struct otp_text text;
};

static bool read_varint(struct otp_reader *r, uint64_t *out)
{
    *out = 0;
    for (unsigned i = 0; i < VARINT_BYTES_MAX; i++) {
        uint8_t byte = otp_reader_u8(r);
        *out |= (uint64_t)(byte & 0x7fU) << (7 * i);
        if (byte < 0x80) {
            return !r->failed;
        }
    }
    return false;
}

static bool next_field(struct otp_reader *r, struct field *f)
{
    uint64_t key;
    memset(f, 0, sizeof(*f));
    if (otp_reader_left(r) == 0 || !read_varint(r, &key)) {
        return false;
    }
    f->number = key >> 3;
    switch (key & 7) {
    case 0:
        return read_varint(r, &f->value);
    case 1:
        return otp_reader_bytes(r, 8) != NULL;
    case 2:
        if (!read_varint(r, &f->value)) {
            return false;
        }
        f->text.data = otp_reader_bytes(r, f->value);
        f->text.len = f->text.data == NULL ? 0 : (size_t)f->value;
        return f->text.data != NULL;
    default:
        return false;
    }
}

static struct otp_reader reader_of(struct otp_text text)
{
    struct otp_reader r;
    otp_reader_init(&r, text.data, text.len);
    return r;
}

/* Sets key to the value if it is a text, a number or a truth, and if nobody has set it. */
static void take_value(struct otp_resource *r, struct otp_text key, struct otp_text value)
{
    struct otp_reader reader = reader_of(value);
    struct field f;
    char *name = r->store + r->used; /* the resource borrows keys: this one lives in its store */
    if (key.len == 0 || key.len >= KEY_MAX || key.len >= sizeof(r->store) - r->used ||
        !otp_utf8_is_valid(key) || !next_field(&reader, &f)) {
        return;
    }
    memcpy(name, key.data, key.len);
    name[key.len] = '\0';
    if (otp_resource_find(r, name) != NULL) {
        return;
    }
    r->used += key.len + 1;
    switch (f.number) {
    case 1:
        otp_resource_set(r, name, f.text);
        break;
    case 2:
        otp_resource_set(r, name, otp_text_of(f.value != 0 ? "true" : "false"));
        break;
    case 3:
        otp_resource_set_int(r, name, (int64_t)f.value);
        break;
    default:
        break; /* lists and the like have no place in our resource */
    }
}

/* Splits a KeyValue into its key and its encoded value. */
static void read_keyvalue(struct otp_text keyvalue, struct otp_text *key, struct otp_text *value)
{
    struct otp_reader reader = reader_of(keyvalue);
    struct field f;
    *key = otp_text_of("");
    *value = otp_text_of("");
    while (next_field(&reader, &f)) {
        *key = f.number == 1 ? f.text : *key;
        *value = f.number == 2 ? f.text : *value;
    }
}

static void take_attribute(struct otp_resource *r, struct otp_text keyvalue)
{
    struct otp_text key;
    struct otp_text value;
    read_keyvalue(keyvalue, &key, &value);
    take_value(r, key, value);
}

static void take_payload(struct otp_resource *r, struct otp_text payload)
{
    struct otp_reader context = reader_of(payload);
    struct field f;
    while (next_field(&context, &f)) {
        struct otp_reader resource = reader_of(f.text);
        struct field attribute;
        while (f.number == 1 && next_field(&resource, &attribute)) {
            if (attribute.number == 1) {
                take_attribute(r, attribute.text);
            }
        }
    }
}

static unsigned char payload_copy[PAYLOAD_MAX]; /* of the worker, which there is one of */

static bool find(uint64_t *address)
{
    *address = 0;
    return otp_textfile_lines(NULL, "/proc/self/maps", see_line, address) && *address != 0;
}

/* Copies the payload to payload_copy. */
static bool get_payload(struct otp_text *out)
{
    uint64_t address;
    struct header before;
    struct header after;
    if (!find(&address)) {
        return false;
    }
    for (int i = 0; i < READ_TRIES; i++) {
        if (copy_header(address, &before) &&
            copy(payload_copy, before.payload, before.payload_bytes) &&
            copy_header(address, &after) && after.published_ns == before.published_ns) {
            *out = otp_text_make((const char *)payload_copy, before.payload_bytes);
            return true;
        }
    }
    return false;
}

bool otp_process_context_read(struct otp_resource *r)
{
    struct otp_text payload;
    bool is_there = get_payload(&payload);
    if (is_there) {
        take_payload(r, payload);
    }
    return is_there;
}

bool otp_process_context_each(otp_process_context_visit visit, void *arg)
{
    struct otp_text payload;
    struct field f;
    if (!get_payload(&payload)) {
        return false;
    }
    struct otp_reader context = reader_of(payload);
    while (next_field(&context, &f)) {
        struct otp_text key;
        struct otp_text value;
        if (f.number == 2) {
            read_keyvalue(f.text, &key, &value);
            visit(arg, key, value);
        }
    }
    return true;
}

bool otp_process_context_string(struct otp_text value, struct otp_text *out)
{
    struct otp_reader reader = reader_of(value);
    struct field f;
    bool is_string = false;
    while (next_field(&reader, &f)) {
        is_string = f.number == 1;
        *out = f.text;
    }
    return is_string;
}

void otp_process_context_strings(struct otp_text value, void (*visit)(void *arg, struct otp_text s),
                                 void *arg)
{
    struct otp_reader reader = reader_of(value);
    struct field list;
    while (next_field(&reader, &list)) {
        struct otp_reader items = reader_of(list.text);
        struct field item;
        while (list.number == 5 && next_field(&items, &item)) {
            struct otp_text s = {0};
            if (item.number == 1) {
                visit(arg, otp_process_context_string(item.text, &s) ? s : otp_text_of(""));
            }
        }
    }
}

bool otp_process_context_exists(void)
{
    uint64_t address;
    struct header h;
    return find(&address) && copy_header(address, &h);
}

/* ---- publishing ---- */

/* A message under construction; what has no room is left out. */
struct out {
    unsigned char *bytes;
    size_t room;
    size_t len;
};

static size_t varint_len(uint64_t v)
{
    size_t len = 1;
    for (; v >= 0x80; v >>= 7) {
        len++;
    }
    return len;
}

static void put_varint(struct out *o, uint64_t v)
{
    for (; v >= 0x80; v >>= 7) {
        o->bytes[o->len++] = (unsigned char)(v | 0x80);
    }
    o->bytes[o->len++] = (unsigned char)v;
}

static void put_head(struct out *o, unsigned number, size_t len)
{
    put_varint(o, number << 3 | 2);
    put_varint(o, len);
}

static void put_text(struct out *o, unsigned number, struct otp_text t)
{
    put_head(o, number, t.len);
    memcpy(o->bytes + o->len, t.data, t.len);
    o->len += t.len;
}

/* Bytes of a field with a length. */
static size_t field_len(size_t len)
{
    return 1 + varint_len(len) + len;
}

/* Resource.attributes = 1. */
static void put_attribute(struct out *o, const struct otp_resource_attr *a)
{
    size_t value = a->is_int ? 1 + varint_len((uint64_t)a->number) : field_len(a->text.len);
    size_t keyvalue = field_len(a->key.len) + field_len(value);
    if (field_len(keyvalue) > o->room - o->len) {
        return;
    }
    put_head(o, 1, keyvalue);
    put_text(o, 1, a->key);
    put_head(o, 2, value);
    if (a->is_int) {
        put_varint(o, 3 << 3);
        put_varint(o, (uint64_t)a->number);
    } else {
        put_text(o, 1, a->text);
    }
}

static size_t write_payload(const struct otp_resource *r)
{
    /* The resource is written behind the place of its own head, which is then moved to it. */
    enum { HEAD_MAX = 6 };
    struct out o = {.bytes = payload_copy + HEAD_MAX, .room = PAYLOAD_MAX - HEAD_MAX};
    for (size_t i = 0; i < r->count; i++) {
        put_attribute(&o, &r->attrs[i]);
    }
    struct out head = {.bytes = payload_copy, .room = HEAD_MAX};
    put_head(&head, 1, o.len);
    memmove(payload_copy + head.len, o.bytes, o.len);
    return head.len + o.len;
}

/* A private mapping of a nameable file in memory, or of nothing; *is_named: the kernel has a name.
 */
static void *map_context(size_t len, bool *is_named)
{
    const unsigned flags = MEMFD_CLOEXEC | MEMFD_ALLOW_SEALING;
    long fd = OTP_SYS2(SYS_memfd_create, NAME, flags | MEMFD_NOEXEC_SEAL);
    if (fd < 0) {
        fd = OTP_SYS2(SYS_memfd_create, NAME, flags);
    }
    *is_named = fd >= 0 && OTP_SYS2(SYS_ftruncate, fd, len) == 0;
    long at =
        OTP_SYS6(SYS_mmap, 0, len, PROT_READ | PROT_WRITE,
                 *is_named ? MAP_PRIVATE : MAP_PRIVATE | MAP_ANONYMOUS, *is_named ? fd : -1, 0);
    if (fd >= 0) {
        otp_sys_close((int)fd);
    }
    return at < 0 && at > -4096 ? NULL : (void *)at;
}

static uint64_t boot_ns(void)
{
    struct timespec ts = {0};
    (void)OTP_SYS2(SYS_clock_gettime, BOOTTIME_CLOCK, &ts);
    uint64_t ns = (uint64_t)ts.tv_sec * 1000000000U + (uint64_t)ts.tv_nsec;
    return ns == 0 ? 1 : ns;
}

bool otp_process_context_publish(const struct otp_resource *r)
{
    size_t payload_len = write_payload(r);
    size_t len = sizeof(struct header) + payload_len;
    bool is_named = false;
    char *at = map_context(len, &is_named);
    if (at == NULL) {
        return false;
    }
    struct header *h = (void *)at;
    if (OTP_SYS3(SYS_madvise, at, len, MADV_DONTFORK) != 0) {
        (void)OTP_SYS2(SYS_munmap, at, len);
        return false;
    }
    memcpy(at + sizeof(*h), payload_copy, payload_len);
    memcpy(h->signature, NAME, SIGNATURE_BYTES);
    h->version = VERSION;
    h->payload_bytes = (uint32_t)payload_len;
    h->payload = (uint64_t)(uintptr_t)(at + sizeof(*h));
    /* Whoever sees the time sees all the rest. */
    __atomic_store_n(&h->published_ns, boot_ns(), __ATOMIC_RELEASE);
    is_named = OTP_SYS5(SYS_prctl, SET_VMA, SET_VMA_ANON_NAME, at, len, NAME) == 0 || is_named;
    if (!is_named) {
        (void)OTP_SYS2(SYS_munmap, at, len);
    }
    return is_named;
}
