/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Packages of split debug information (.dwp): the parts of one unit, as the .dwo file that they
 * were before they were packed. Source: DWARF 5, 7.3.5, and, for version 4, GNU's DebugFission
 * package format.
 */
#ifndef OTP_OTELPROF_DWP_H
#define OTP_OTELPROF_DWP_H

#include <stdbool.h>
#include <stdint.h>

struct otp_dwp;

/* Opens a package; NULL: there is none at that path, or none that can be read. */
struct otp_dwp *otp_dwp_open(const char *path);
void otp_dwp_close(struct otp_dwp *p);
/* Writes the unit of that id to an empty file; false: it is not there, or cannot be written. */
bool otp_dwp_write(const struct otp_dwp *p, uint64_t unit_id, int fd);

#endif
