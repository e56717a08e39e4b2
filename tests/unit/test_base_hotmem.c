/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for hot code: the limit, and pieces that threads ask for at the same moment. */
#include <check.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "core/base/hotmem.h"
#include "tests/unit/run.h"

#define PIECE ((size_t)1 << 20)
#define THREADS 8
#define ROUNDS 300

START_TEST(test_the_limit_holds)
{
    size_t before = otp_hotmem_used();
    otp_hotmem_set_limit(before + 2 * PIECE);
    void *a = otp_hotmem_map(PIECE);
    void *b = NULL;
    ck_assert_ptr_nonnull(a);
    ck_assert_ptr_null(otp_hotmem_map(PIECE + 4096));
    ck_assert_ptr_null(otp_hotmem_share(&b, PIECE + 4096));
    ck_assert_ptr_null(b);
    ck_assert_ptr_nonnull(otp_hotmem_share(&b, PIECE));
    ck_assert_ptr_null(otp_hotmem_map(4096));
    ck_assert_uint_eq(otp_hotmem_used(), before + 2 * PIECE);
    otp_hotmem_unmap(a, PIECE);
    ck_assert_uint_eq(otp_hotmem_used(), before + PIECE);
}
END_TEST

static void *slots[ROUNDS];
static pthread_barrier_t barrier;

/* Returns how often this thread got nothing, or something else than the others. */
static void *ask(void *arg)
{
    uintptr_t refused = 0;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_barrier_wait(&barrier);
        void *got = otp_hotmem_share(&slots[i], PIECE);
        pthread_barrier_wait(&barrier);
        refused += got == NULL || got != slots[i];
        if (arg != NULL) {
            otp_hotmem_set_limit(otp_hotmem_used() + PIECE); /* room for one more, not for two */
        }
    }
    return (void *)refused;
}

START_TEST(test_what_fits_once_is_had_by_all_who_ask_at_once)
{
    pthread_t threads[THREADS];
    size_t before = otp_hotmem_used();
    int first = 1;
    otp_hotmem_set_limit(before + PIECE);
    ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, THREADS), 0);
    for (int i = 0; i < THREADS; i++) {
        ck_assert_int_eq(pthread_create(&threads[i], NULL, ask, i == 0 ? &first : NULL), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        void *refused;
        pthread_join(threads[i], &refused);
        ck_assert_uint_eq((uintptr_t)refused, 0);
    }
    ck_assert_uint_eq(otp_hotmem_used(), before + ROUNDS * PIECE);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("base_hotmem");
    TCase *tc = tcase_create("all");
    tcase_add_test(tc, test_the_limit_holds);
    tcase_add_test(tc, test_what_fits_once_is_had_by_all_who_ask_at_once);
    suite_add_tcase(s, tc);
    return unit_run_here(s);
}
