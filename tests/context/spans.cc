/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A server of its own kind: four threads take coroutines from a queue, each of which is one span. A
 * coroutine works in several pieces and is suspended in between, so that another thread goes on
 * with it, and a thread has another span every few hundred microseconds: a thousand spans a second.
 * Each span is of one of five classes of known cost; its CPU time is measured by the clock of the
 * thread that it runs on.
 *
 * Output: for each class its name, spans and CPU time in microseconds; and for each second word of
 * the command line a log of when which span was current where: thread id, span, begin, end (Unix
 * time in ns). Half of the spans are set through otelprof.h, half by the thread context of an SDK.
 */
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <coroutine>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <deque>
#include <mutex>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "core/api/otelprof.h"

extern "C" {
#include "sdk.h"
}

namespace
{
constexpr int THREADS = 4;
constexpr int CLASSES = 5;
const char *const NAMES[CLASSES] = {"/a", "/b", "/c", "/d", "/e"};
constexpr double COST_US[CLASSES] = {150, 300, 600, 900, 1500}; /* mean: 690 */

struct Switch {
    int tid;
    std::uint64_t span;
    std::uint64_t begin;
    std::uint64_t end;
};

std::uint64_t clock_ns(clockid_t id)
{
    timespec t;
    clock_gettime(id, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000U +
           static_cast<std::uint64_t>(t.tv_nsec);
}

thread_local std::vector<Switch> *log_here;
thread_local sdk_record record_here;
std::atomic<std::uint64_t> cpu_of_class[CLASSES];
std::atomic<std::uint64_t> spans_of_class[CLASSES];
volatile unsigned long sink;

/* What a request is doing on this thread, from here to the end of the block. */
class Current
{
  public:
    Current(std::uint64_t span, int kind) : span_(span), kind_(kind)
    {
        begin_ = clock_ns(CLOCK_REALTIME);
        cpu_ = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        std::uint64_t trace[2] = {span, 7};
        if (span % 2 == 0) {
            otelprof_span_set(trace, &span);
            otelprof_label_push("route", NAMES[kind]);
        } else {
            std::memset(&record_here, 0, 28);
            std::memcpy(record_here.trace_id, trace, 16);
            std::memcpy(record_here.span_id, &span, 8);
            record_here.attrs[0] = 0;
            record_here.attrs[1] = 2;
            std::memcpy(record_here.attrs + 2, NAMES[kind], 2);
            record_here.attr_bytes = 4;
            record_here.valid = 1;
            std::atomic_signal_fence(std::memory_order_seq_cst);
            *const_cast<sdk_record *volatile *>(sdk_slot()) = &record_here;
        }
    }
    ~Current()
    {
        if (span_ % 2 == 0) {
            otelprof_label_pop();
            otelprof_span_clear();
        } else {
            *const_cast<sdk_record *volatile *>(sdk_slot()) = nullptr;
            std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        cpu_of_class[kind_] += clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_;
        log_here->push_back(
            {static_cast<int>(syscall(SYS_gettid)), span_, begin_, clock_ns(CLOCK_REALTIME)});
    }

  private:
    std::uint64_t span_;
    int kind_;
    std::uint64_t begin_;
    std::uint64_t cpu_;
};

__attribute__((noinline)) void burn_span(double us)
{
    std::uint64_t end = clock_ns(CLOCK_THREAD_CPUTIME_ID) + static_cast<std::uint64_t>(us * 1000);
    while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < end) {
        for (unsigned long i = 0; i < 500; i++) {
            sink = sink + i;
        }
    }
}

class Queue
{
  public:
    void put(std::coroutine_handle<> h)
    {
        std::lock_guard<std::mutex> lock(mutex_);
        ready_.push_back(h);
        some_.notify_one();
    }
    std::coroutine_handle<> take()
    {
        std::unique_lock<std::mutex> lock(mutex_);
        some_.wait(lock, [this] { return !ready_.empty() || is_closed_; });
        if (ready_.empty()) {
            return nullptr;
        }
        std::coroutine_handle<> h = ready_.front();
        ready_.pop_front();
        return h;
    }
    void close()
    {
        std::lock_guard<std::mutex> lock(mutex_);
        is_closed_ = true;
        some_.notify_all();
    }

  private:
    std::mutex mutex_;
    std::condition_variable some_;
    std::deque<std::coroutine_handle<>> ready_;
    bool is_closed_ = false;
};

Queue queue;
std::atomic<int> in_work;

struct Request {
    struct promise_type {
        Request get_return_object()
        {
            return {};
        }
        std::suspend_never initial_suspend()
        {
            return {};
        }
        std::suspend_never final_suspend() noexcept
        {
            return {};
        }
        void return_void()
        {
        }
        void unhandled_exception()
        {
            std::abort();
        }
    };
};

/* Goes on in whatever thread comes first. */
struct Elsewhere {
    bool await_ready()
    {
        return false;
    }
    void await_suspend(std::coroutine_handle<> h)
    {
        queue.put(h);
    }
    void await_resume()
    {
    }
};

Request serve(std::uint64_t span, int kind)
{
    for (int piece = 0; piece < 3; piece++) {
        co_await Elsewhere{};
        Current current(span, kind);
        burn_span(COST_US[kind] / 3);
    }
    spans_of_class[kind]++;
    in_work--;
}
} // namespace

int main(int argc, char **argv)
{
    static const char *const names[] = {"route"};
    double seconds = argc > 1 ? std::atof(argv[1]) : 5;
    sdk_publish("tlsdesc_v1_dev", names, 1);
    std::vector<std::vector<Switch>> logs(THREADS);
    std::vector<std::thread> threads;
    for (int i = 0; i < THREADS; i++) {
        logs[static_cast<std::size_t>(i)].reserve(200000);
        threads.emplace_back([&logs, i] {
            log_here = &logs[static_cast<std::size_t>(i)];
            while (std::coroutine_handle<> h = queue.take()) {
                h.resume();
            }
        });
    }
    std::uint64_t start = clock_ns(CLOCK_MONOTONIC);
    std::uint64_t span = 0;
    unsigned random = 1;
    while (clock_ns(CLOCK_MONOTONIC) - start < static_cast<std::uint64_t>(seconds * 1e9)) {
        while (in_work < 16) {
            in_work++;
            span++;
            random = random * 1103515245U + 12345U;
            serve(span, static_cast<int>(random >> 16) % CLASSES);
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    while (in_work > 0) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    queue.close();
    for (std::thread &t : threads) {
        t.join();
    }
    for (int k = 0; k < CLASSES; k++) {
        std::printf("%s %lu %lu\n", NAMES[k], static_cast<unsigned long>(spans_of_class[k]),
                    static_cast<unsigned long>(cpu_of_class[k] / 1000));
    }
    if (argc > 2) {
        std::FILE *f = std::fopen(argv[2], "w");
        for (const std::vector<Switch> &log : logs) {
            for (const Switch &s : log) {
                std::fprintf(f, "%d %016lx %lu %lu\n", s.tid,
                             static_cast<unsigned long>(__builtin_bswap64(s.span)),
                             static_cast<unsigned long>(s.begin),
                             static_cast<unsigned long>(s.end));
            }
        }
        std::fclose(f);
    }
    return 0;
}
