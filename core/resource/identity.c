/* SPDX-License-Identifier: Apache-2.0 */
#include "core/resource/identity.h"

#include <stddef.h>
#include <string.h>

static bool is_hex(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

/* Hex digits from pos on, at most max. */
static size_t hex_run(struct otp_text text, size_t pos, size_t max)
{
    size_t len = 0;
    while (len < max && pos + len < text.len && is_hex(text.data[pos + len])) {
        len++;
    }
    return len;
}

static bool has_at(struct otp_text text, size_t pos, const char *word)
{
    size_t len = strlen(word);
    return pos <= text.len && text.len - pos >= len && memcmp(text.data + pos, word, len) == 0;
}

/* A UUID at pos, its parts joined by '-' or (systemd) '_'; written with '-'. */
static bool read_uuid(struct otp_text text, size_t pos, char out[OTP_POD_UID_LEN])
{
    static const unsigned char parts[] = {8, 4, 4, 4, 12};
    size_t used = 0;
    for (size_t i = 0; i < sizeof(parts); i++) {
        if (i > 0) {
            if (!has_at(text, pos + used, "-") && !has_at(text, pos + used, "_")) {
                return false;
            }
            out[used++] = '-';
        }
        if (hex_run(text, pos + used, parts[i]) != parts[i]) {
            return false;
        }
        memcpy(out + used, text.data + pos + used, parts[i]);
        used += parts[i];
    }
    return hex_run(text, pos + used, 1) == 0;
}

/* 64 hex digits and no more at pos. */
static bool read_container(struct otp_text text, size_t pos, char out[OTP_CONTAINER_ID_LEN])
{
    if (hex_run(text, pos, OTP_CONTAINER_ID_LEN + 1) != OTP_CONTAINER_ID_LEN) {
        return false;
    }
    memcpy(out, text.data + pos, OTP_CONTAINER_ID_LEN);
    return true;
}

/* The id at the end of a path component, behind a runtime's name and before ".scope". */
static bool container_of(struct otp_text part, char out[OTP_CONTAINER_ID_LEN])
{
    size_t end = part.len;
    if (end > 6 && has_at(part, end - 6, ".scope")) {
        end -= 6;
    }
    if (end < OTP_CONTAINER_ID_LEN) {
        return false;
    }
    size_t begin = end - OTP_CONTAINER_ID_LEN;
    bool is_alone = begin == 0 || part.data[begin - 1] == '-' || part.data[begin - 1] == ':';
    /* A monitor of the container lives on the host, under the container's number. */
    bool is_monitor = begin > 7 && has_at(part, begin - 7, "conmon-");
    return is_alone && !is_monitor && read_container(otp_text_make(part.data, end), begin, out);
}

static bool pod_of(struct otp_text part, char out[OTP_POD_UID_LEN])
{
    for (size_t i = 0; i + OTP_POD_UID_LEN < part.len; i++) {
        if (has_at(part, i, "pod") && read_uuid(part, i + 3, out)) {
            return true;
        }
    }
    return false;
}

static void read_component(struct otp_text part, struct otp_container_ids *ids)
{
    char container[OTP_CONTAINER_ID_LEN];
    char pod[OTP_POD_UID_LEN];
    if (container_of(part, container)) {
        memcpy(ids->container, container, sizeof(container));
        ids->has_container = true;
    }
    if (pod_of(part, pod)) {
        memcpy(ids->pod, pod, sizeof(pod));
        ids->has_pod = true;
    }
}

void otp_identity_from_cgroup(struct otp_text line, struct otp_container_ids *ids)
{
    size_t begin = 0;
    for (size_t i = 0; i <= line.len; i++) {
        if (i == line.len || line.data[i] == '/') {
            read_component(otp_text_make(line.data + begin, i - begin), ids);
            begin = i + 1;
        }
    }
}

/* Field number `index` of a line with single blanks; empty when there are fewer. */
static struct otp_text field(struct otp_text line, unsigned index)
{
    size_t begin = 0;
    for (size_t i = 0; i <= line.len; i++) {
        if (i < line.len && line.data[i] != ' ') {
            continue;
        }
        if (index-- == 0) {
            return otp_text_make(line.data + begin, i - begin);
        }
        begin = i + 1;
    }
    return otp_text_make(line.data, 0);
}

/* Files that a runtime lays over those of the image. */
static bool is_runtime_mount(struct otp_text target)
{
    static const char *const targets[] = {"/etc/hostname", "/etc/hosts", "/etc/resolv.conf",
                                          "/dev/termination-log", "/run/.containerenv"};
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        if (target.len == strlen(targets[i]) && has_at(target, 0, targets[i])) {
            return true;
        }
    }
    return false;
}

void otp_identity_from_mountinfo(struct otp_text line, struct otp_container_ids *ids)
{
    static const char folder[] = "containers/";
    struct otp_text source = field(line, 3);
    char container[OTP_CONTAINER_ID_LEN];
    char pod[OTP_POD_UID_LEN];

    if (!is_runtime_mount(field(line, 4))) {
        return;
    }
    for (size_t i = 0; i < source.len; i++) {
        if (!ids->has_container && has_at(source, i, folder) &&
            read_container(source, i + sizeof(folder) - 1, container)) {
            memcpy(ids->container, container, sizeof(container));
            ids->has_container = true;
        }
        if (!ids->has_pod && has_at(source, i, "/pods/") && read_uuid(source, i + 6, pod)) {
            memcpy(ids->pod, pod, sizeof(pod));
            ids->has_pod = true;
        }
    }
}
