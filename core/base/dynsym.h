/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds functions in the objects that the loader has mapped, by reading their symbol tables in
 * memory. Unlike dlsym it takes no lock, allocates nothing, leaves no error state behind and does
 * not care whether the host has a function named dlsym. Only for objects loaded at program start.
 */
#ifndef OTP_BASE_DYNSYM_H
#define OTP_BASE_DYNSYM_H

#include <stdbool.h>
#include <stdint.h>

/* An address found, and the object that defines it. */
struct otp_dynsym {
    void *addr;         /* NULL: not found */
    const void *object; /* identity of the defining object, comparable only */
};

/*
 * The default version of a function in the objects that come after the one whose dynamic section is
 * own_dynamic in the loader's order (what RTLD_NEXT means), or in all objects when own_dynamic is
 * NULL. Context: init, and hot during start-up. Source: gABI "Hash Table", GNU hash as in glibc's
 * loader.
 */
struct otp_dynsym otp_dynsym_find(const char *name, const void *own_dynamic);

/*
 * The same in one object, of which its load bias and its dynamic section are known; NULL: not
 * there. *out_stays says whether the object can never be unloaded. Context: any, while the object
 * is loaded.
 */
void *otp_dynsym_find_in(uintptr_t bias, const void *dynamic, const char *name, bool *out_stays);

/* Whether the program's C library is glibc. Context: any. */
bool otp_dynsym_is_glibc(void);

#endif
