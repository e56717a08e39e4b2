/* SPDX-License-Identifier: Apache-2.0 */
/* Start and end of the process, as the loader sees them. */
#include "core/engine/engine.h"

__attribute__((constructor)) static void on_load(int argc, char **argv, char **envp)
{
    otp_engine_start(argc, argv, envp);
}

__attribute__((destructor)) static void on_unload(void)
{
    otp_engine_stop();
}
