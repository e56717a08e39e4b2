/* SPDX-License-Identifier: Apache-2.0 */
/* What kind of program a command is: can the preload library get into it? */
#ifndef OTP_OTELPROF_TARGET_H
#define OTP_OTELPROF_TARGET_H

#include <stdbool.h>
#include <stddef.h>

enum otp_target_kind {
    OTP_TARGET_OK,
    OTP_TARGET_NOT_FOUND,
    OTP_TARGET_NOT_EXECUTABLE,
    OTP_TARGET_STATIC,
    OTP_TARGET_SECURE,     /* setuid, setgid or file capabilities: the loader ignores LD_PRELOAD */
    OTP_TARGET_OTHER_LIBC, /* another loader than glibc's */
    OTP_TARGET_OTHER_MACHINE,
    OTP_TARGET_UNKNOWN /* not an ELF file and not a script that names its interpreter */
};

#define OTP_TARGET_PATH 1024 /* longest path that is followed, with its NUL */

struct otp_target {
    enum otp_target_kind kind;
    bool is_script;
    bool is_unread;                  /* the path leads to no file, or to one that cannot be read */
    char path[OTP_TARGET_PATH];      /* the command as it was found */
    char program[OTP_TARGET_PATH];   /* the program that runs: the interpreter of a script */
    char why[OTP_TARGET_PATH + 160]; /* in words */
};

/* Looks `command` up as a shell would and reads its head. Context: any. */
void otp_target_find(const char *command, struct otp_target *out_target);
/* Will the library be loaded into it? */
static inline bool otp_target_is_profiled(const struct otp_target *t)
{
    return t->kind == OTP_TARGET_OK;
}
/* Finds libotelprof.so from where the tool itself lies; false: *out_path names the last place
 * tried. */
bool otp_library_find(char *out_path, size_t room);

#endif
