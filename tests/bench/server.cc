// SPDX-License-Identifier: Apache-2.0
// A C++ server with its clients in one process: requests of random keys go over socket pairs to worker threads, which keep
// strings in a map and answer with text they build. server REQUESTS WORKERS: does that many requests and ends.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <unordered_map>
#include <vector>

struct Entry {
    std::string text;
    std::vector<std::string> words;
};

static std::string answer(std::unordered_map<std::string, std::shared_ptr<Entry>> &store, unsigned key)
{
    std::string name = "key:" + std::to_string(key % 20011);
    auto &slot = store[name];
    if (slot == nullptr || key % 5 == 0) {
        auto entry = std::make_shared<Entry>();
        for (unsigned i = 0; i < 8; i++) {
            entry->words.push_back(std::to_string(key * (i + 7919)) + " a word long enough to be allocated");
        }
        slot = entry;
    }
    std::map<std::string, size_t> counts;
    for (auto &word : slot->words) {
        counts[word] += word.size();
    }
    std::ostringstream out;
    for (auto &c : counts) {
        out << c.first << '=' << c.second << ';';
    }
    return out.str();
}

static void serve(int fd)
{
    std::unordered_map<std::string, std::shared_ptr<Entry>> store;
    unsigned keys[16];
    ssize_t got;
    while ((got = read(fd, keys, sizeof(keys))) > 0) {
        std::string all;
        for (size_t i = 0; i < static_cast<size_t>(got) / sizeof(keys[0]); i++) {
            all += answer(store, keys[i]);
        }
        size_t size = all.size();
        if (write(fd, &size, sizeof(size)) < 0) {
            return;
        }
    }
}

int main(int argc, char **argv)
{
    long requests = argc > 1 ? atol(argv[1]) : 100000;
    int workers = argc > 2 ? atoi(argv[2]) : 2;
    std::vector<std::thread> threads;
    std::vector<int> ends;
    for (int i = 0; i < workers; i++) {
        int pair[2];
        if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) {
            return 1;
        }
        ends.push_back(pair[0]);
        threads.emplace_back([fd = pair[1]] { serve(fd); close(fd); });
    }
    unsigned x = 12345;
    size_t total = 0;
    for (long done = 0; done < requests; done += 16 * workers) {
        for (int fd : ends) {
            unsigned keys[16];
            for (unsigned &k : keys) {
                x = x * 1664525 + 1013904223;
                k = x >> 8;
            }
            if (write(fd, keys, sizeof(keys)) < 0) {
                return 1;
            }
        }
        for (int fd : ends) {
            size_t size = 0;
            if (read(fd, &size, sizeof(size)) > 0) {
                total += size;
            }
        }
    }
    for (int fd : ends) {
        close(fd);
    }
    for (auto &t : threads) {
        t.join();
    }
    printf("%zu\n", total);
    return 0;
}
