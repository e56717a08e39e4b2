/* SPDX-License-Identifier: Apache-2.0 */
/* For programs that go on until others have written so many files. */
#ifndef OTELPROF_TESTS_FOLDER_H
#define OTELPROF_TESTS_FOLDER_H

#include <dirent.h>
#include <stddef.h>

/* Files in a folder, those that are being written (.name) left out; 0 when there is none. */
static inline int folder_count(const char *folder)
{
    int n = 0;
    DIR *d = opendir(folder);
    struct dirent *e;
    while (d != NULL && (e = readdir(d)) != NULL) {
        n += e->d_name[0] != '.';
    }
    if (d != NULL) {
        closedir(d);
    }
    return n;
}

#endif
