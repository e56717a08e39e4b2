/* SPDX-License-Identifier: Apache-2.0 */
/* What the writers of `otelprof flame` get: a call tree with values for each type. */
#ifndef OTP_OTELPROF_FLAME_H
#define OTP_OTELPROF_FLAME_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "tools/otelprof/pick.h"
#include "tools/otelprof/tree.h"

/* The name of what stands for many frames that are too small to be shown. */
#define OTP_FLAME_SMALL "[small frames]"

/* Values of one type. */
struct otp_flame_values {
    int64_t *self; /* one per node */
    int64_t *sums;
    int64_t total;
    int64_t *base; /* self values of the base, NULL without one */
    int64_t *base_sums;
    int64_t base_total;
};

struct otp_flame {
    struct otp_tree tree;
    struct otp_type_list types;
    size_t first; /* the type to show first, or the only one */
    struct otp_tree_set now;
    struct otp_tree_set base; /* set is NULL without one */
};

/* Which nodes are written, in an order in which each subtree is in one piece. */
struct otp_flame_order {
    uint32_t *nodes; /* OTP_TREE_NONE: what is left out below its parent */
    uint32_t *depths;
    uint32_t *parents; /* of entries that are OTP_TREE_NONE: the node it belongs to */
    uint32_t count;
    uint32_t left_out; /* nodes that are not written by themselves */
    uint8_t *kept;     /* one per node of the tree */
};

/* Counts type number t: there is memory for one type at a time only. False: no memory. */
bool otp_flame_values_init(struct otp_flame_values *v, const struct otp_flame *f, size_t t);
void otp_flame_values_fini(struct otp_flame_values *v);

/*
 * At most about max_nodes of the heaviest nodes: of all types, or of type only_type when that is a
 * number of a type. False: no memory.
 */
#define OTP_FLAME_ALL_TYPES SIZE_MAX
bool otp_flame_order_init(struct otp_flame_order *o, struct otp_flame *f, uint32_t max_nodes,
                          size_t only_type);
void otp_flame_order_fini(struct otp_flame_order *o);
/* Sum of what is left out directly below a node; sums of one type. */
int64_t otp_flame_left_out(const struct otp_flame *f, const struct otp_flame_order *o,
                           uint32_t node, const int64_t *sums);

/* The writers; false: no memory (errors of the stream are seen by the caller). */
bool otp_flame_write_html(FILE *to, struct otp_flame *f);
bool otp_flame_write_svg(FILE *to, struct otp_flame *f);
bool otp_flame_write_folded(FILE *to, struct otp_flame *f);

/* What a title says: the program, and where and when it ran. Both texts are cut off at room. */
void otp_flame_title(const struct otp_flame *f, char *out_title, char *out_about, size_t room);

#endif
