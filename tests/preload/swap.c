/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program whose library is exchanged on disk while it is loaded: swap LIBRARY [REPLACEMENT|-].
 * The library's function is called, then its file is replaced (-: removed), then all ends, so that
 * names are looked up in whatever is there now.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    void *handle = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    void *symbol = dlsym(handle, "swapped_run");
    void (*run)(void);
    memcpy(&run, &symbol, sizeof(run));
    run();
    if (argc > 2 && strcmp(argv[2], "-") == 0) {
        unlink(argv[1]);
    } else if (argc > 2 && rename(argv[2], argv[1]) != 0) {
        return 3;
    }
    puts("done");
    return 0;
}
