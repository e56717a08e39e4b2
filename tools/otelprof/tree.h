/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The call tree of many profiles: one node for each distinct path of function names from the
 * outermost caller, with a value of its own for each type.
 *
 * I1 A node comes behind its parent, so that sums over subtrees are one pass backwards.
 */
#ifndef OTP_OTELPROF_TREE_H
#define OTP_OTELPROF_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/base/heap.h"
#include "core/base/map.h"
#include "core/decode/model.h"
#include "tools/otelprof/by.h"
#include "tools/otelprof/names.h"
#include "tools/otelprof/pick.h"

#define OTP_TREE_NONE UINT32_MAX

struct otp_tree_node {
    uint32_t parent;
    uint32_t name;         /* of the root: none */
    uint32_t first_child;  /* OTP_TREE_NONE: none */
    uint32_t next_sibling; /* OTP_TREE_NONE: the last */
};

struct otp_tree {
    struct otp_names names;
    struct otp_heap heap;
    struct otp_map map;
    struct otp_tree_node *nodes;
    uint32_t count;
    uint32_t capacity;
    bool has_programs;       /* the first level is the program, as there are several */
    const struct otp_by *by; /* the next level is the group of the sample; NULL: there is none */
};

/* Nodes of the stacks of one set's messages. */
struct otp_tree_set {
    const struct otp_profile_set *set;
    uint32_t **stacks; /* for each message, the node of each of its stacks */
};

/* An empty tree: the root only. False: no memory. */
bool otp_tree_init(struct otp_tree *t);
void otp_tree_fini(struct otp_tree *t);
/* True when messages of the sets are of more than one program. */
bool otp_tree_has_programs(const struct otp_profile_set *const *sets, size_t count);
/* Adds the stacks of all messages of a set; groups: theirs, when the tree has groups. False: no
 * memory. */
bool otp_tree_add(struct otp_tree *t, const struct otp_profile_set *set,
                  const struct otp_by_set *groups, struct otp_tree_set *out_set);
void otp_tree_set_fini(struct otp_tree_set *s);
/*
 * The values of one type, one per node (from malloc, the caller's), and their sum; NULL: no memory.
 * A type that the set does not have gives zeros.
 */
int64_t *otp_tree_values(const struct otp_tree *t, const struct otp_tree_set *s,
                         const struct otp_type *type, int64_t *out_total);
/* The sums over subtrees of values, one per node; NULL: no memory. */
int64_t *otp_tree_sums(const struct otp_tree *t, const int64_t *values);

#endif
