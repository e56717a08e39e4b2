/* SPDX-License-Identifier: Apache-2.0 */
/* Proves that C++ objects made before main and destroyed after it allocate and free as ever. */
/* host: rows B10 B86 B112 */
/* host: set OTELPROF_HEAP_INTERVAL=1 */
/* host: sees alloc_objects (anonymous namespace)::make_row(int) */
#include <map>
#include <string>
#include <vector>

#include "host.h"

namespace
{

HOST_NOINLINE std::vector<std::string> make_row(int n)
{
    std::vector<std::string> row;
    for (int i = 0; i < n; i++) {
        row.push_back(std::string(100, 'x') + std::to_string(i));
    }
    return row;
}

struct holder {
    std::map<int, std::vector<std::string>> rows;
    explicit holder(int n)
    {
        for (int i = 0; i < n; i++) {
            rows[i] = make_row(i % 7 + 1);
        }
    }
    ~holder()
    {
        std::vector<std::string> last = make_row(5);
        rows[-1] = last;
        rows.clear();
    }
};

holder &guarded()
{
    static holder h(10);
    return h;
}

holder table[200] = {
    holder(1), holder(2), holder(3), holder(4), holder(guarded().rows.empty() ? 1 : 5),
    holder(6), holder(7), holder(8), holder(9), holder(10),
#define TEN                                                                                        \
    holder(1), holder(2), holder(3), holder(4), holder(5), holder(6), holder(7), holder(8),        \
        holder(9), holder(10)
    TEN,       TEN,       TEN,       TEN,       TEN,
    TEN,       TEN,       TEN,       TEN,       TEN,
    TEN,       TEN,       TEN,       TEN,       TEN,
    TEN,       TEN,       TEN,       TEN,
};

struct late {
    ~late()
    {
        std::printf("last destructor\n");
    }
} at_the_end;

} // namespace

int main()
{
    size_t sum = 0;
    for (const holder &h : table) {
        sum += h.rows.size();
    }
    host_check(sum == 20 * 55, "all rows are there");
    std::atexit([] { make_row(50); });
    return host_end("200 static containers");
}
