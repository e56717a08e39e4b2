/* SPDX-License-Identifier: Apache-2.0 */
/* Ids that hide in the text of /proc files. Context of everything here: any. */
#ifndef OTP_RESOURCE_IDENTITY_H
#define OTP_RESOURCE_IDENTITY_H

#include <stdbool.h>

#include "core/base/text.h"

#define OTP_CONTAINER_ID_LEN 64
#define OTP_POD_UID_LEN 36

struct otp_container_ids {
    char container[OTP_CONTAINER_ID_LEN]; /* when has_container */
    char pod[OTP_POD_UID_LEN];            /* when has_pod; with dashes */
    bool has_container;
    bool has_pod;
};

/*
 * Looks at a line of /proc/self/cgroup (version 1 or 2). A container is a path component that ends
 * in 64 hex digits, perhaps with a runtime's name before and ".scope" behind; of nested ones the
 * innermost. A pod is "pod" and a UUID. What was found before stays when this line has nothing.
 */
void otp_identity_from_cgroup(struct otp_text line, struct otp_container_ids *ids);

/*
 * Looks at a line of /proc/self/mountinfo, for what the cgroup file of a private namespace does not
 * say: the source of the own /etc/hostname and the like lies under .../containers/ID/ (or
 * .../overlay-containers/ID/), or under the kubelet's .../pods/UID/. Only fills what is missing.
 * Other mounts are not looked at: on a host they show the containers of others.
 */
void otp_identity_from_mountinfo(struct otp_text line, struct otp_container_ids *ids);

#endif
