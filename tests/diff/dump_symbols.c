/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints what core/symbol makes of object files, for symbols.sh to compare with other tools:
 *   dump_symbols [-d] [-r DEBUG_ROOT] ids|segments|names|stats FILE...
 *   dump_symbols -a ADDRESSES names FILE     (hex addresses, one a line: "address name+offset")
 *   dump_symbols demangle                    (standard input, one name a line)
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/base/heap.h"
#include "core/symbol/demangle.h"
#include "core/symbol/symbols.h"

#define HEAP_BYTES ((size_t)64 << 20)

struct options {
    const char *debug_root;
    const char *addresses;
    const char *what;
};

static double now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static void print_segments(const struct otp_symbols *s)
{
    size_t count;
    const struct otp_elf_segment *segments = otp_symbols_segments(s, &count);
    for (size_t i = 0; i < count; i++) {
        printf("0x%06lx 0x%016lx 0x%06lx 0x%06lx %c%c%c\n", segments[i].file_offset,
               segments[i].vaddr, segments[i].filesz, segments[i].memsz,
               (segments[i].flags & 4) != 0 ? 'R' : ' ', (segments[i].flags & 2) != 0 ? 'W' : ' ',
               (segments[i].flags & 1) != 0 ? 'E' : ' ');
    }
}

static void print_names(struct otp_symbols *s)
{
    struct otp_symbol symbol;
    for (size_t i = 0; i < otp_symbols_count(s); i++) {
        if (otp_symbols_at(s, i, &symbol)) {
            printf("%016lx %lx %.*s\n", symbol.start, symbol.size, (int)symbol.name.len,
                   symbol.name.data);
        }
    }
}

static void print_addresses(struct otp_symbols *s, const char *path)
{
    struct otp_symbol symbol;
    char line[64];
    FILE *f = fopen(path, "r");
    while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
        unsigned long addr = strtoul(line, NULL, 16);
        if (otp_symbols_find(s, addr, &symbol)) {
            printf("%lx %.*s+0x%lx\n", addr, (int)symbol.name.len, symbol.name.data,
                   addr - symbol.start);
        } else {
            printf("%lx ?\n", addr);
        }
    }
    if (f != NULL) {
        fclose(f);
    }
}

static int dump(const struct options *o, const char *path)
{
    struct otp_heap heap;
    struct otp_symbols *s;
    struct otp_symbol_source source = {.path = path, .debug_root = o->debug_root};

    otp_heap_init(&heap, HEAP_BYTES);
    double t0 = now_ms();
    if (otp_symbols_open(&heap, &source, &s) != OTP_OK || otp_symbols_file_status(s) != OTP_OK) {
        printf("%s: not read\n", path);
        otp_heap_reset(&heap);
        return 1;
    }
    double t1 = now_ms();
    if (strcmp(o->what, "ids") == 0) {
        printf("%s %s %s\n", otp_symbols_build_id_hex(s), otp_symbols_htlhash_hex(s), path);
    } else if (strcmp(o->what, "segments") == 0) {
        print_segments(s);
    } else {
        enum otp_status status = otp_symbols_load_names(s);
        double t2 = now_ms();
        if (o->addresses != NULL) {
            print_addresses(s, o->addresses);
        } else if (strcmp(o->what, "names") == 0) {
            print_names(s);
        } else {
            printf("%s: %s, %zu symbols, open %.2f ms, load %.2f ms, memory %zu KiB, peak %zu KiB",
                   path, otp_status_text(status), otp_symbols_count(s), t1 - t0, t2 - t1,
                   heap.mapped_bytes >> 10, heap.peak_bytes >> 10);
            print_addresses(s, "/dev/null");
            otp_symbols_destroy(s);
            printf(", after %zu KiB\n", heap.mapped_bytes >> 10);
            otp_heap_reset(&heap);
            return 0;
        }
    }
    otp_symbols_destroy(s);
    otp_heap_reset(&heap);
    return 0;
}

static int demangle_lines(void)
{
    struct otp_heap heap;
    struct otp_buf out;
    static char line[1 << 20];

    otp_heap_init(&heap, HEAP_BYTES);
    otp_buf_init(&out, &heap, (size_t)64 << 10);
    while (fgets(line, sizeof(line), stdin) != NULL) {
        size_t len = strcspn(line, "\n");
        otp_buf_clear(&out);
        if (otp_demangle(otp_text_make(line, len), &out)) {
            printf("%.*s\n", (int)out.len, (const char *)out.data);
        } else {
            printf("%.*s\n", (int)len, line);
        }
    }
    otp_heap_reset(&heap);
    return 0;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    int bad = 0;
    int i = 1;

    for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
        if (argv[i][1] == 'r') {
            o.debug_root = argv[i + 1];
        } else {
            o.addresses = argv[i + 1];
        }
    }
    o.what = i < argc ? argv[i++] : "";
    if (strcmp(o.what, "demangle") == 0) {
        return demangle_lines();
    }
    for (; i < argc; i++) {
        bad |= dump(&o, argv[i]);
    }
    return bad;
}
