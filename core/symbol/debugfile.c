/* SPDX-License-Identifier: Apache-2.0 */
#include "core/symbol/debugfile.h"

#include <elf.h>
#include <string.h>

#include "core/base/sys.h"
#include "core/symbol/buildid.h"

struct search {
    const struct otp_elf *object;
    const char *root;
    const char *folder; /* of the object, with its last slash, not NUL-terminated */
    size_t folder_len;
    bool has_link;
    char link[OTP_ELF_DEBUGLINK_MAX];
    uint32_t link_crc;
    struct otp_debugfile *out;
};

static bool matches(const struct search *s, const struct otp_elf *debug)
{
    const struct otp_elf *object = s->object;
    uint32_t crc;

    if (object->build_id_len > 0 && debug->build_id_len > 0) {
        return object->build_id_len == debug->build_id_len &&
               memcmp(object->build_id, debug->build_id, object->build_id_len) == 0;
    }
    return s->has_link && otp_objfile_crc32(&debug->bytes, &crc) == OTP_OK && crc == s->link_crc;
}

/* Takes the file at out->path when it is the wanted one. */
static enum otp_status try_path(struct search *s)
{
    struct otp_debugfile *out = s->out;
    struct otp_elf_bytes bytes;

    const char *path = otp_buf_str(&out->path);
    if (!otp_buf_ok(&out->path)) {
        return OTP_NO_MEMORY;
    }
    OTP_TRY(otp_objfile_open(path, &bytes, &out->id));
    enum otp_status status = otp_elf_open(s->object->heap, &bytes, &out->elf);
    if (status == OTP_OK) {
        status = otp_elf_load_sections(&out->elf);
    }
    if (status == OTP_OK &&
        (otp_elf_section_of_type(&out->elf, SHT_SYMTAB) == NULL || !matches(s, &out->elf))) {
        status = OTP_NOT_FOUND;
    }
    if (status != OTP_OK) {
        otp_elf_close(&out->elf);
        otp_sys_close(bytes.fd);
    }
    return status;
}

static enum otp_status try_build_id(struct search *s)
{
    struct otp_buf *path = &s->out->path;
    char hex[OTP_BUILD_ID_HEX_SIZE];

    if (s->object->build_id_len < 2) {
        return OTP_NOT_FOUND;
    }
    otp_build_id_hex(s->object->build_id, s->object->build_id_len, hex);
    otp_buf_clear(path);
    (void)otp_buf_add_str(path, s->root);
    (void)otp_buf_add_str(path, "/.build-id/");
    (void)otp_buf_add(path, hex, 2);
    (void)otp_buf_add_byte(path, '/');
    (void)otp_buf_add_str(path, hex + 2);
    (void)otp_buf_add_str(path, ".debug");
    return try_path(s);
}

static enum otp_status try_link(struct search *s, const char *before, const char *between)
{
    struct otp_buf *path = &s->out->path;

    otp_buf_clear(path);
    (void)otp_buf_add_str(path, before);
    (void)otp_buf_add(path, s->folder, s->folder_len);
    (void)otp_buf_add_str(path, between);
    (void)otp_buf_add_str(path, s->link);
    return try_path(s);
}

enum otp_status otp_debugfile_find(const struct otp_elf *object, const char *path, const char *root,
                                   struct otp_debugfile *out)
{
    struct search s = {.object = object, .root = root, .folder = path, .out = out};
    const char *slash = strrchr(path, '/');

    s.folder_len = slash == NULL ? 0 : (size_t)(slash - path) + 1;
    s.has_link = otp_elf_debuglink(object, s.link, &s.link_crc);
    enum otp_status status = try_build_id(&s);
    if (!s.has_link) {
        return status == OTP_OK || status == OTP_NO_MEMORY ? status : OTP_NOT_FOUND;
    }
    if (status != OTP_OK) {
        status = try_link(&s, "", "");
    }
    if (status != OTP_OK) {
        status = try_link(&s, "", ".debug/");
    }
    if (status != OTP_OK && path[0] == '/') {
        status = try_link(&s, root, "");
    }
    return status == OTP_OK || status == OTP_NO_MEMORY ? status : OTP_NOT_FOUND;
}
