// SPDX-License-Identifier: Apache-2.0
/* Labels in what threads run at their end: destructors of thread_local objects and of
 * thread-specific data, clean-up handlers; and one that was never popped. */
#include "core/api/otelprof.h"
#include "tests/context/block.h"

#include <pthread.h>

namespace {

pthread_key_t key;

struct Local {
    bool is_used = false;
    ~Local()
    {
        otelprof::label l("end", "local");
        (void)make_block(1000);
    }
};

thread_local Local local;

void in_key(void *)
{
    otelprof_label_push("end", "key");
    (void)make_block(2000);
    otelprof_label_pop();
}

void in_handler(void *)
{
    otelprof_label_push("end", "handler");
    (void)make_block(3000);
    otelprof_label_pop();
}

void *returns(void *arg)
{
    local.is_used = true;
    pthread_setspecific(key, arg);
    otelprof_label_push("kept", "yes");
    return nullptr;
}

void *leaves(void *arg)
{
    local.is_used = true;
    pthread_setspecific(key, arg);
    pthread_cleanup_push(in_handler, nullptr);
    pthread_exit(nullptr);
    pthread_cleanup_pop(0);
    return nullptr;
}

void run(void *(*start)(void *))
{
    pthread_t t;
    pthread_create(&t, nullptr, start, &key);
    pthread_join(t, nullptr);
}

} // namespace

int main()
{
    pthread_key_create(&key, in_key);
    for (int i = 0; i < 10; i++) {
        run(returns);
        run(leaves);
    }
    return 0;
}
