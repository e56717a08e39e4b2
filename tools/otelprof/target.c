/* SPDX-License-Identifier: Apache-2.0 */
/* Source of the layout: elf(5); of the rules for privileged programs: ld.so(8), execve(2). */
#define _GNU_SOURCE /* for getxattr and the like */
#include "tools/otelprof/target.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <sys/auxv.h>
#include <unistd.h>

#define SCRIPT_DEPTH 4
#define HEAD_BYTES 256
#define SEGMENTS_MAX 512U
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

static void set(struct otp_target *t, enum otp_target_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void set(struct otp_target *t, enum otp_target_kind kind, const char *format, ...)
{
    va_list args;

    t->kind = kind;
    va_start(args, format);
    (void)vsnprintf(t->why, sizeof(t->why), format, args);
    va_end(args);
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool copy_text(char *out, size_t room, const char *text)
{
    size_t len = strlen(text);

    if (len >= room) {
        return false;
    }
    memcpy(out, text, len + 1);
    return true;
}

/* Looks through PATH; sets the kind when the command cannot be run. */
static bool look_up(struct otp_target *t, const char *command, char *out, size_t room)
{
    const char *path = getenv("PATH");
    bool exists = false;

    if (strchr(command, '/') != NULL) {
        exists = access(command, F_OK) == 0;
        if (copy_text(out, room, command) && is_program(command)) {
            return true;
        }
    } else {
        path = path == NULL || path[0] == '\0' ? DEFAULT_PATH : path;
        for (const char *end; *path != '\0'; path = *end == ':' ? end + 1 : end) {
            end = strchrnul(path, ':');
            int len = (int)(end - path);
            int used = snprintf(out, room, "%.*s%s%s", len, path, len > 0 ? "/" : "", command);
            if (used > 0 && (size_t)used < room && is_program(out)) {
                return true;
            }
            exists = exists || access(out, F_OK) == 0;
        }
    }
    if (exists) {
        set(t, OTP_TARGET_NOT_EXECUTABLE, "%s is there but cannot be executed", command);
    } else {
        set(t, OTP_TARGET_NOT_FOUND, "%s: command not found", command);
    }
    return false;
}

static bool read_at(int fd, void *buf, size_t len, uint64_t off)
{
    return off <= INT64_MAX && pread(fd, buf, len, (off_t)off) == (ssize_t)len;
}

/* Reads the loader's path from the program headers; false: there is none. */
static bool read_loader(int fd, const Elf64_Ehdr *h, char *out, size_t room)
{
    for (uint32_t i = 0; i < h->e_phnum && i < SEGMENTS_MAX; i++) {
        Elf64_Phdr p;
        uint64_t off;
        if (__builtin_add_overflow(h->e_phoff, (uint64_t)i * sizeof(p), &off) ||
            !read_at(fd, &p, sizeof(p), off)) {
            return false;
        }
        if (p.p_type == PT_INTERP) {
            size_t len = p.p_filesz < room - 1 ? (size_t)p.p_filesz : room - 1;
            out[len] = '\0';
            return read_at(fd, out, len, p.p_offset) && out[0] != '\0';
        }
    }
    return false;
}

static void judge_elf(struct otp_target *t, int fd, const Elf64_Ehdr *h)
{
    char loader[512];

    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != EM_X86_64) {
        set(t, OTP_TARGET_OTHER_MACHINE, "%s is %s program, not x86-64", t->program,
            h->e_ident[EI_CLASS] == ELFCLASS32 ? "a 32-bit" : "another machine's");
        return;
    }
    if (h->e_phentsize != sizeof(Elf64_Phdr) || !read_loader(fd, h, loader, sizeof(loader))) {
        set(t, OTP_TARGET_STATIC, "%s is statically linked", t->program);
        return;
    }
    const char *base = strrchr(loader, '/');
    base = base == NULL ? loader : base + 1;
    if (strncmp(base, "ld-linux", 8) != 0) {
        set(t, OTP_TARGET_OTHER_LIBC, "%s is built for another C library (loader %s)", t->program,
            loader);
        return;
    }
    set(t, OTP_TARGET_OK, "%s is dynamically linked for glibc", t->program);
}

/* The loader ignores our variable when the program runs with more rights than we have. */
static void judge_rights(struct otp_target *t)
{
    struct stat st;
    char caps[64];

    if (t->kind != OTP_TARGET_OK || stat(t->program, &st) != 0) {
        return;
    }
    if ((st.st_mode & S_ISUID) != 0 && st.st_uid != geteuid()) {
        set(t, OTP_TARGET_SECURE, "%s is setuid", t->program);
    } else if ((st.st_mode & S_ISGID) != 0 && (st.st_mode & S_IXGRP) != 0 &&
               st.st_gid != getegid()) {
        set(t, OTP_TARGET_SECURE, "%s is setgid", t->program);
    } else if (geteuid() != 0 &&
               getxattr(t->program, "security.capability", caps, sizeof(caps)) > 0) {
        set(t, OTP_TARGET_SECURE, "%s has file capabilities", t->program);
    }
}

/*
 * Puts the interpreter that the head of a script names into t->program; of `#!/usr/bin/env NAME`
 * the program NAME. False: none is named, or it cannot be run (the kind is set).
 */
static bool follow_script(struct otp_target *t, char *head)
{
    char *save = NULL;
    char *end = strchr(head, '\n');

    if (end != NULL) {
        *end = '\0';
    }
    char *interpreter = strtok_r(head + 2, " \t", &save);
    char *word = strtok_r(NULL, " \t", &save);
    if (interpreter == NULL) {
        set(t, OTP_TARGET_UNKNOWN, "%s is a script that names no interpreter", t->program);
        return false;
    }
    t->is_script = true;
    const char *base = strrchr(interpreter, '/');
    if (base != NULL && strcmp(base, "/env") == 0 && word != NULL && word[0] != '-') {
        interpreter = word;
    }
    if (!look_up(t, interpreter, t->program, sizeof(t->program))) {
        set(t, t->kind, "%s: its interpreter %s cannot be run", t->path, interpreter);
        return false;
    }
    return true;
}

/* True: the program is a script and t->program is now its interpreter. */
static bool judge(struct otp_target *t)
{
    union {
        char text[HEAD_BYTES];
        Elf64_Ehdr elf;
    } head;
    int fd = open(t->program, O_RDONLY | O_CLOEXEC);
    bool again = false;

    memset(&head, 0, sizeof(head));
    ssize_t n = fd < 0 ? -1 : read(fd, head.text, sizeof(head.text) - 1);
    if (n < 0) {
        t->is_unread = true;
        set(t, OTP_TARGET_UNKNOWN, "%s cannot be read: %s", t->program, strerror(errno));
    } else if (n >= 2 && head.text[0] == '#' && head.text[1] == '!') {
        again = follow_script(t, head.text);
    } else if (n >= (ssize_t)sizeof(head.elf) && memcmp(head.text, ELFMAG, SELFMAG) == 0) {
        judge_elf(t, fd, &head.elf);
        judge_rights(t);
    } else {
        set(t, OTP_TARGET_UNKNOWN, "%s is neither an ELF program nor a script", t->program);
    }
    if (fd >= 0) {
        (void)close(fd); /* only read from */
    }
    return again;
}

/* A path that leads to nothing, a folder, a FIFO. A name alone is looked for, not read. */
static bool is_no_file(const char *command)
{
    struct stat st;
    return strchr(command, '/') != NULL && (stat(command, &st) != 0 || !S_ISREG(st.st_mode));
}

void otp_target_find(const char *command, struct otp_target *out_target)
{
    memset(out_target, 0, sizeof(*out_target));
    if (!look_up(out_target, command, out_target->path, sizeof(out_target->path))) {
        out_target->is_unread = is_no_file(command);
        return;
    }
    memcpy(out_target->program, out_target->path, sizeof(out_target->program));
    for (int i = 0; i < SCRIPT_DEPTH && judge(out_target); i++) {
    }
}

/* The file that this program was started from; without /proc by the name that it was started by. */
static bool find_self(char *out, size_t room)
{
    ssize_t len = readlink("/proc/self/exe", out, room - 1);
    if (len > 0) {
        out[len] = '\0';
        return true;
    }
    const char *name = (const char *)getauxval(AT_EXECFN);
    char *real = name == NULL ? NULL : realpath(name, NULL);
    bool ok = real != NULL && copy_text(out, room, real);
    free(real);
    return ok;
}

bool otp_library_find(char *out_path, size_t room)
{
    static const char *const places[] = {"", "../lib/", "../lib/x86_64-linux-gnu/", "../lib64/"};
    char self[OTP_TARGET_PATH];

    if (!find_self(self, sizeof(self))) {
        (void)copy_text(out_path, room, "libotelprof.so");
        return false;
    }
    char *slash = strrchr(self, '/');
    if (slash != NULL) {
        slash[1] = '\0';
    }
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        int used = snprintf(out_path, room, "%s%slibotelprof.so", self, places[i]);
        if (used > 0 && (size_t)used < room && access(out_path, R_OK) == 0) {
            char *real = realpath(out_path, NULL);
            bool ok = real != NULL && copy_text(out_path, room, real);
            free(real);
            return ok;
        }
    }
    return false;
}
