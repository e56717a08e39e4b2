/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that work of many kinds gives the same result whatever else is preloaded: used by more_preloads.sh, too. */
/* host: rows B83 B84 */
/* host: set OTELPROF_HEAP_INTERVAL=1 OTELPROF_CPU_HZ=1000 */
/* host: sees alloc_objects work_in_thread */
/* host: sees cpu work_in_thread */
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "host.h"

extern "C" void *work_in_thread(void *arg);

extern "C" HOST_NOINLINE void *work_in_thread(void *arg)
{
    long sum = 0;
    std::map<int, std::string> m;
    for (int i = 0; i < 300; i++) {
        m[i * 7919 % 1000] = std::string(static_cast<size_t>(i % 300), 'x');
        try {
            if (i % 50 == 0) {
                throw std::runtime_error(std::to_string(i));
            }
        } catch (const std::exception &e) {
            sum += atol(e.what());
        }
        void *p = nullptr;
        if (posix_memalign(&p, 256, 1000) == 0) {
            free(p);
        }
        free(realloc(calloc(3, 33), 5000));
        std::vector<std::unique_ptr<long>> v;
        for (int k = 0; k < 10; k++) {
            v.emplace_back(new long(k));
        }
        for (const auto &x : v) {
            sum += *x;
        }
    }
    for (const auto &e : m) {
        sum += static_cast<long>(e.second.size());
    }
    host_burn(20);
    printf("%ld\n", sum);
    fflush(stdout);
    return arg;
}

int main(int argc, char **argv)
{
    pthread_t t[3];
    for (pthread_t &x : t) {
        pthread_create(&x, nullptr, work_in_thread, nullptr);
    }
    for (pthread_t &x : t) {
        pthread_join(x, nullptr);
    }
    pid_t child = fork();
    if (child == 0) {
        work_in_thread(nullptr);
        exit(5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    host_check(WIFEXITED(status) && WEXITSTATUS(status) == 5, "the child ended well");
    FILE *f = tmpfile();
    host_check(f != nullptr && fprintf(f, "%s\n", "text") == 5 && fflush(f) == 0 && fsync(fileno(f)) == 0, "a file");
    if (argc > 1) {
        host_check(strcmp(argv[1], "argument") == 0, "the argument");
    }
    return host_end("threads, exceptions, a child");
}
