/* SPDX-License-Identifier: Apache-2.0
 *
 * Runs a fuzz target over the files of the folders named as arguments, without a fuzzer, so that
 * every input that once crashed is tried in each test run. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define INPUT_BYTES_MAX ((size_t)64 << 20)

/* The input is copied to its exact size, so that a sanitizer sees a read past its end. */
static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    uint8_t *whole;
    uint8_t *exact;
    size_t length;

    if (!file) {
        perror(path);
        return 1;
    }
    whole = malloc(INPUT_BYTES_MAX);
    length = whole ? fread(whole, 1, INPUT_BYTES_MAX, file) : 0;
    (void)fclose(file);
    exact = malloc(length ? length : 1);
    if (whole && exact) {
        for (size_t i = 0; i < length; i++)
            exact[i] = whole[i];
        (void)LLVMFuzzerTestOneInput(exact, length);
    }
    free(exact);
    free(whole);
    return 0;
}

int main(int argc, char **argv)
{
    int failures = 0;
    int count = 0;

    for (int i = 1; i < argc; i++) {
        DIR *folder = opendir(argv[i]);
        const struct dirent *entry;
        char path[4096];

        if (!folder) {
            perror(argv[i]);
            return 1;
        }
        while ((entry = readdir(folder)) != NULL) {
            if (entry->d_name[0] == '.')
                continue;
            (void)snprintf(path, sizeof path, "%s/%s", argv[i], entry->d_name);
            failures += replay_file(path);
            count++;
        }
        (void)closedir(folder);
    }
    printf("%d inputs replayed\n", count);
    return failures || count == 0;
}
