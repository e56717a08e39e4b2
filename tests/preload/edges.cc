/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Proves that allocations are served, and counted where the library is already or still there,
 * at the edges of a process and of its threads: before all constructors, in constructors and
 * destructors of static and of thread-local objects, in handlers of atexit and of thread-
 * specific data, and inside the loader. Each edge allocates 10 blocks of 1000 bytes in a
 * function edge_… of its own.
 */
#include <dlfcn.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#define EDGE(name)                                                                                 \
    extern "C" __attribute__((noinline, noclone)) void edge_##name(void)                           \
    {                                                                                              \
        for (int i = 0; i < 10; i++) {                                                             \
            kept = malloc(1000);                                                                   \
            memset(kept, 1, 1000);                                                                 \
        }                                                                                          \
    }

static void *volatile kept;

EDGE(preinit)
EDGE(constructor)
EDGE(static_object)
EDGE(static_end)
EDGE(thread_object)
EDGE(thread_end)
EDGE(key_end)
EDGE(atexit)
EDGE(main)
EDGE(destructor)

static void before_all(int, char **, char **)
{
    edge_preinit();
    kept = calloc(10, 100);
    kept = realloc(kept, 5000);
    free(kept);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit)(int, char **,
                                                                        char **) = before_all;

/* The answer for a missing symbol is allocated by the loader, with calloc. */
__attribute__((constructor)) static void constructor()
{
    dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere");
    dlerror();
    edge_constructor();
}

__attribute__((destructor)) static void destructor()
{
    edge_destructor();
}

struct statically {
    statically()
    {
        edge_static_object();
    }
    ~statically()
    {
        edge_static_end();
    }
    std::string text = std::string(5000, 'x');
};

struct in_thread {
    in_thread()
    {
        edge_thread_object();
    }
    ~in_thread()
    {
        edge_thread_end();
    }
    std::string text = std::string(5000, 'y');
};

static statically object;
static thread_local in_thread local;
static pthread_key_t key;

static void *work(void *)
{
    pthread_setspecific(key, &key);
    return const_cast<char *>(local.text.c_str());
}

int main()
{
    pthread_key_create(&key, [](void *) { edge_key_end(); });
    atexit([] { edge_atexit(); });
    edge_main();
    pthread_t t;
    pthread_create(&t, nullptr, work, nullptr);
    pthread_join(t, nullptr);
    puts("done");
    return 0;
}
