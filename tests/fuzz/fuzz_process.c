/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fuzz target: what is read of the system and of the process itself: files of /proc and /etc, the
 * process context and thread contexts that an SDK publishes, mangled names. The first byte chooses
 * the reader.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/capture/arch.h"
#include "core/capture/object.h"
#include "core/capture/slot.h"
#include "core/export/resolver.h"
#include "core/intern/tags.h"
#include "core/resource/process_context.h"
#include "core/resource/resource.h"
#include "core/symbol/demangle.h"
#include "core/symbol/maps.h"
#include "tests/fuzz/target.h"
#include "tests/otel_ctx.h"

#define HEAP_LIMIT ((size_t)8 << 20)

static struct otp_heap heap;
static struct otp_resource resource;
static uint64_t seen; /* so that reading is not optimised away */

static void touch(struct otp_text text)
{
    for (size_t i = 0; i < text.len; i++) {
        seen += (unsigned char)text.data[i];
    }
}

/* ---- files ---- */

static char root[] = "/tmp/otelprof-fuzz.XXXXXX";

static void remove_root(void)
{
    static const char *const made[] = {"/proc/self/stat",
                                       "/proc/self/cmdline",
                                       "/etc/machine-id",
                                       "/etc/os-release",
                                       "/proc/self/cgroup",
                                       "/proc/self/mountinfo",
                                       "/etc/hosts",
                                       "/etc/resolv.conf",
                                       "/proc/self/maps",
                                       "/proc/self",
                                       "/proc",
                                       "/etc",
                                       ""};
    char path[128];
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", root, made[i]);
        (void)remove(path);
    }
}

static void make_root(void)
{
    static const char *const folders[] = {"/proc", "/proc/self", "/etc"};
    char path[128];
    require(mkdtemp(root) != NULL && atexit(remove_root) == 0);
    for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", root, folders[i]);
        require(mkdir(path, 0700) == 0);
    }
}

static void put(const char *name, struct otp_text text, char *out_path, size_t room)
{
    (void)snprintf(out_path, room, "%s%s", root, name);
    FILE *f = fopen(out_path, "wb");
    require(f != NULL && fwrite(text.data, 1, text.len, f) == text.len && fclose(f) == 0);
}

static bool see_entry(void *arg, const struct otp_maps_entry *entry)
{
    (*(unsigned *)arg)++;
    touch(entry->name);
    return true;
}

static void read_maps(struct otp_text text)
{
    struct otp_maps_entry entry;
    unsigned count = 0;
    char path[128];
    if (otp_maps_parse(text, &entry)) {
        touch(entry.name);
    }
    put("/proc/self/maps", text, path, sizeof(path));
    require(otp_maps_read(&heap, path, see_entry, &count) == OTP_OK);
}

static void read_names(struct otp_text text)
{
    static struct otp_resolver_conf conf;
    struct otp_addresses all = {.count = 0};
    char path[128];
    put("/etc/resolv.conf", text, path, sizeof(path));
    otp_resolver_read_conf(&conf, path);
    require(conf.servers.count >= 1 && conf.servers.count <= OTP_RESOLVER_SERVERS_MAX);
    require(conf.search_count <= OTP_RESOLVER_SEARCH_MAX);
    put("/etc/hosts", text, path, sizeof(path));
    enum otp_status status = otp_address_find(otp_text_of("a.b"), 1, path, &all);
    require((status == OTP_OK) == (all.count > 0) && all.count <= OTP_ADDRESSES_MAX);
}

static void read_identity(struct otp_text text, unsigned which)
{
    static const char *const names[] = {"/proc/self/stat",   "/proc/self/cmdline",
                                        "/etc/machine-id",   "/etc/os-release",
                                        "/proc/self/cgroup", "/proc/self/mountinfo"};
    struct otp_resource_input in = {.root = root, .program = otp_text_of("p")};
    char path[128];
    put(names[which % 6], text, path, sizeof(path));
    otp_resource_detect(&resource, &in, NULL, NULL);
    for (size_t i = 0; i < resource.count; i++) {
        touch(resource.attrs[i].key);
        touch(resource.attrs[i].text);
    }
    (void)remove(path);
}

/* ---- contexts ---- */

static void see_text(void *arg, struct otp_text text)
{
    (*(unsigned *)arg)++;
    touch(text);
}

static void see_attribute(void *arg, struct otp_text key, struct otp_text value)
{
    struct otp_text text;
    touch(key);
    if (otp_process_context_string(value, &text)) {
        touch(text);
    }
    otp_process_context_strings(value, see_text, arg);
}

static void read_process_context(struct otp_text text)
{
    static struct otel_ctx *c;
    unsigned count = 0;
    if (c == NULL) {
        c = otel_ctx_map();
    }
    otel_ctx_publish(c, text.len, 1);
    c->payload = (uint64_t)(uintptr_t)text.data;
    memset(&resource, 0, sizeof(resource));
    (void)otp_process_context_read(&resource);
    (void)otp_process_context_each(see_attribute, &count);
    c->published = 0; /* nothing is there any more */
}

static bool name_of(void *arg, uint8_t idx, struct otp_text *out)
{
    *out = otp_text_of("key");
    return arg == NULL && idx % 2 == 0;
}

static void add_tag(struct otp_tags *tags, const void *tag, size_t len)
{
    struct otp_tags_result r = otp_tags_add(tags, tag, len, false);
    if (r.number == OTP_TAGS_NONE) {
        return;
    }
    const struct otp_tags_entry *e = otp_tags_get(tags, r.number);
    require(e->attr_count <= OTP_TAGS_ATTRS_MAX);
    for (uint32_t i = 0; i < e->attr_count; i++) {
        struct otp_text key;
        struct otp_text text;
        const struct otp_tags_attr *a = otp_tags_attr(tags, e, i, &key, &text);
        touch(key);
        if (!a->is_int) {
            touch(text);
        }
    }
}

/* A record as an SDK has it, then the bytes as a tag of our own that nobody has checked. */
static void read_thread_context(struct otp_text text)
{
    static __thread const void *slot;
    static struct otp_tags tags;
    struct otp_slot_place place = {.kind = OTP_SLOT_STATIC,
                                   .is_permanent = 1,
                                   .offset =
                                       (uint64_t)((uintptr_t)&slot - otp_arch_thread_pointer())};
    struct otp_tag tag;
    slot = text.data;
    otp_slot_publish(&place);
    memset(&tag, 0, sizeof(tag));
    otp_slot_read(&tag);
    slot = NULL;
    require(otp_tag_bytes(&tag) <= sizeof(tag));
    otp_tags_init(&tags, &heap, name_of, NULL);
    add_tag(&tags, &tag, otp_tag_bytes(&tag));
    add_tag(&tags, text.data, text.len);
    otp_tags_clear(&tags);
}

/* ---- names and notes ---- */

static void read_name(struct otp_text text)
{
    struct otp_buf readable;
    otp_buf_init(&readable, &heap, (size_t)64 << 10);
    if (!otp_demangle(text, &readable)) {
        require(readable.len == 0);
    }
    otp_buf_fini(&readable);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (root[sizeof(root) - 2] == 'X') {
        make_root();
    }
    /* Exactly as long as it is, so that a sanitizer sees a read behind it. */
    char *copy = malloc(size > 1 ? size - 1 : 1);
    require(copy != NULL);
    memcpy(copy, data + 1, size - 1);
    struct otp_text text = otp_text_make(copy, size - 1);
    struct otp_object object = {.build_id_len = 0};
    otp_heap_init(&heap, HEAP_LIMIT);
    switch (data[0] % 7) {
    case 0:
        read_maps(text);
        break;
    case 1:
        read_names(text);
        break;
    case 2:
        read_identity(text, data[0] / 7);
        break;
    case 3:
        read_process_context(text);
        break;
    case 4:
        read_thread_context(text);
        break;
    case 5:
        read_name(text);
        break;
    default:
        otp_object_read_build_id(&object, text.data, text.len);
        require(object.build_id_len <= OTP_OBJECT_BUILD_ID_MAX);
        break;
    }
    otp_heap_reset(&heap);
    free(copy);
    return 0;
}
