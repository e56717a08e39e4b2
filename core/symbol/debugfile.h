/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the separate debug file of an object: by build id below the debug root, then by debug link
 * beside the object. Source: GDB manual, "Debugging Information in Separate Files".
 */
#ifndef OTP_SYMBOL_DEBUGFILE_H
#define OTP_SYMBOL_DEBUGFILE_H

#include "core/base/buf.h"
#include "core/base/status.h"
#include "core/symbol/elf.h"
#include "core/symbol/objfile.h"

struct otp_debugfile {
    struct otp_buf path; /* initialised by the caller; after success the path with a NUL */
    struct otp_objfile_id id;
    struct otp_elf elf; /* sections loaded; the caller closes elf.bytes.fd and elf */
};

/*
 * object: sections loaded; path: of the object, for debug links; root: the debug root. The result
 * has a .symtab and the object's build id, or, when one of both has no build id, the checksum of
 * the debug link. NOT_FOUND, NO_MEMORY. Context: worker.
 */
enum otp_status otp_debugfile_find(const struct otp_elf *object, const char *path, const char *root,
                                   struct otp_debugfile *out);

#endif
