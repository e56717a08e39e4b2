/* SPDX-License-Identifier: Apache-2.0 */
#include "core/export/sink.h"

#include <errno.h>

#include "core/base/utf8.h"

enum otp_status otp_sink_check(struct otp_sink *s)
{
    return s->ops->check == NULL ? OTP_OK : s->ops->check(s);
}

enum otp_status otp_sink_put(struct otp_sink *s, const struct otp_message *m, uint64_t deadline_ns)
{
    return s->ops->put(s, m, deadline_ns);
}

enum otp_status otp_sink_pump(struct otp_sink *s, uint64_t deadline_ns, bool is_last)
{
    return s->ops->pump(s, deadline_ns, is_last);
}

bool otp_sink_rescue(struct otp_sink *s)
{
    return s->ops->rescue == NULL || s->ops->rescue(s);
}

bool otp_sink_take_note(struct otp_sink *s, struct otp_line *out)
{
    if (s->note.len == 0) {
        return false;
    }
    *out = s->note;
    s->note.len = 0;
    s->is_note_of_refusal = false;
    s->is_note_of_error = false;
    return true;
}

void otp_sink_describe(const struct otp_sink *s, struct otp_line *line)
{
    s->ops->describe(s, line);
}

void otp_sink_close(struct otp_sink *s)
{
    s->ops->close(s);
}

void otp_sink_abandon(struct otp_sink *s)
{
    s->ops->abandon(s);
}

void otp_sink_describe_target(const struct otp_sink *s, const char *kind, struct otp_text target,
                              struct otp_line *line)
{
    if (s->failed_step != NULL) {
        otp_line_str(line, "cannot ");
        otp_line_str(line, s->failed_step);
        otp_line_str(line, " ");
    }
    otp_line_str(line, kind);
    otp_utf8_show(line, target, OTP_SHOWN_TARGET_MAX);
    if (s->failed_step == NULL) {
        return;
    }
    otp_line_str(line, ": ");
    otp_line_str(line, otp_errno_text(s->error));
    if (s->hint != NULL) {
        otp_line_str(line, " (");
        otp_line_str(line, s->hint);
        otp_line_str(line, ")");
    }
}

const char *otp_errno_text(int error)
{
    static const struct {
        int error;
        const char *text;
    } texts[] = {
        {0, "no error"},
        {EACCES, "permission denied"},
        {EADDRNOTAVAIL, "the address is not available"},
        {EAGAIN, "no room at the moment"},
        {EBADF, "the descriptor was closed from outside"},
        {ECONNABORTED, "the connection was given up"},
        {ECONNREFUSED, "connection refused"},
        {ECONNRESET, "the peer reset the connection"},
        {EDQUOT, "the disk quota is used up"},
        {EEXIST, "a file of that name exists"},
        {EFBIG, "the file would be too large"},
        {EHOSTUNREACH, "the host cannot be reached"},
        {EINVAL, "not valid"},
        {EIO, "input or output error"},
        {EISDIR, "is a folder"},
        {ELOOP, "too many symbolic links"},
        {EMFILE, "too many open files in the process"},
        {EMSGSIZE, "the message is too large"},
        {ENAMETOOLONG, "the name is too long"},
        {ENETUNREACH, "the network cannot be reached"},
        {ENFILE, "too many open files in the system"},
        {ENOBUFS, "no room in the system"},
        {ENODEV, "no such device"},
        {ENOENT, "no such file or folder"},
        {ENOMEM, "out of memory"},
        {ENOSPC, "no space left on the device"},
        {ENOTDIR, "not a folder"},
        {ENOTSOCK, "not a socket"},
        {ENXIO, "no such device or address"},
        {EPERM, "operation not permitted"},
        {EPIPE, "the peer closed the connection"},
        {EPROTOTYPE, "not a stream socket"},
        {EROFS, "the file system is read-only"},
        {ESTALE, "the file handle is stale"},
        {ETIMEDOUT, "timed out"},
        {ETXTBSY, "the file is being executed"},
    };
    for (size_t i = 0; i < OTP_ARRAY_LEN(texts); i++) {
        if (texts[i].error == error) {
            return texts[i].text;
        }
    }
    return "system error";
}
