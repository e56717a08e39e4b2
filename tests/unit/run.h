/* SPDX-License-Identifier: Apache-2.0 */
/* How each unit test's program ends. */
#ifndef OTP_UNIT_RUN_H
#define OTP_UNIT_RUN_H

#include <check.h>

static inline int unit_run_as(Suite *suite, enum fork_status status)
{
    SRunner *runner = srunner_create(suite);
    srunner_set_fork_status(runner, status);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? 0 : 1;
}

/* Runs each test in a process of its own; the exit status of the program. suite is freed. */
static inline int unit_run(Suite *suite)
{
    return unit_run_as(suite, CK_FORK_GETENV);
}

/* Runs all of them in this process: for code that keeps no state, or whose state is looked at. */
static inline int unit_run_here(Suite *suite)
{
    return unit_run_as(suite, CK_NOFORK);
}

#endif
