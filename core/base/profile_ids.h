/* SPDX-License-Identifier: Apache-2.0 */
/* Where an OTEP-0239 container, which has one id, keeps those of its other columns. */
#ifndef OTP_BASE_PROFILE_IDS_H
#define OTP_BASE_PROFILE_IDS_H

#define OTP_PROFILE_ID_BYTES 16U
/* Key of the container's attribute: an array of bytes, one for each type behind the first; empty
 * where there is none. */
#define OTP_PROFILE_IDS_KEY "otelprof.profile_ids"

#endif
