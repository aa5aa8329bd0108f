/* SPDX-License-Identifier: Apache-2.0
 *
 * The S3 store for tests/real/test_s3.py, which compares what it does with another client:
 *
 *   s3_tool [name=value …] -- write LOCATION BYTES STEP | put LOCATION new|replace TEXT |
 *           read LOCATION [OFFSET LENGTH] | size LOCATION | list PREFIX | remove LOCATION … |
 *           many PREFIX COUNT BYTES | half LOCATION BYTES | uploads PREFIX | abort PREFIX
 *
 * Files hold byte i = (i * 31 + i / 65536) % 251. What is asked for is printed as lines; an error
 * goes to standard error as "CODE: message", and the exit status is 1. */
#include "base/time.h"
#include "storage/store.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct cv_error err;

static void fill(uint8_t *bytes, size_t length, int64_t offset)
{
    for (size_t i = 0; i < length; i++) {
        int64_t at = offset + (int64_t)i;

        bytes[i] = (uint8_t)((at * 31 + at / 65536) % 251);
    }
}

static void print_requests(const struct cv_store *store)
{
    for (int kind = 0; kind < CV_REQUEST_KIND_COUNT; kind++)
        if (store->counts.sent[kind])
            (void)printf("%s=%lld ", cv_request_kind_name((enum cv_request_kind)kind),
                         (long long)store->counts.sent[kind]);
    (void)printf("\n");
}

/* In KiB, of this program alone: getrusage() begins with what the process that started it had. */
static long peak_memory(void)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long peak = -1;

    while (file && fgets(line, sizeof line, file))
        if (strncmp(line, "VmHWM:", 6) == 0)
            peak = strtol(line + 6, NULL, 10);
    if (file)
        (void)fclose(file);
    return peak;
}

/* Prints the most that was held, the peak of resident memory in KiB, and the requests. */
static enum cv_code write_file(struct cv_store *store, const char *location, int64_t size,
                               size_t step, bool whole)
{
    CV_CLEANUP(cv_freep) uint8_t *bytes = cv_alloc(step);
    struct cv_output *output;
    size_t held = 0;
    enum cv_code code = CV_OK;

    CV_DO(cv_store_create(store, location, &output, &err));
    for (int64_t at = 0; at < size && code == CV_OK; at += (int64_t)step) {
        size_t length = (size_t)CV_MIN(size - at, (int64_t)step);

        fill(bytes, length, at);
        code = cv_output_write(output, bytes, length, &err);
        held = CV_MAX(held, output->held);
    }
    if (code == CV_OK && !whole) {
        (void)printf("waiting\n");
        (void)fflush(stdout);
        (void)pause();
    }
    if (code == CV_OK)
        code = cv_output_close(output, &err);
    if (code != CV_OK) {
        cv_output_abort(output);
        return code;
    }
    (void)printf("held=%zu peak=%ld ", held, peak_memory());
    print_requests(store);
    return CV_OK;
}

/* Small files, closed unsynced and synced once. */
static enum cv_code write_many(struct cv_store *store, const char *prefix, size_t count,
                               size_t size)
{
    struct cv_arena arena CV_CLEANUP(cv_arena_release) = CV_ARENA_INIT;
    const char **locations = cv_arena_array(&arena, const char *, count);
    uint8_t *bytes = cv_arena_alloc(&arena, size);
    int64_t begun = cv_monotonic_us();

    fill(bytes, size, 0);
    for (size_t i = 0; i < count; i++) {
        locations[i] = cv_arena_printf(&arena, "%s/%06zu", prefix, i);
        CV_DO(cv_store_write_unsynced(store, locations[i], bytes, size, &err));
    }
    CV_DO(cv_store_sync(store, locations, count, &err));
    (void)printf("us=%lld ", (long long)(cv_monotonic_us() - begun));
    print_requests(store);
    return CV_OK;
}

static enum cv_code read_file(struct cv_store *store, const char *location, const char *offset,
                              const char *length)
{
    struct cv_buf bytes CV_CLEANUP(cv_buf_release) = CV_BUF_INIT(0);

    if (offset)
        CV_DO(cv_store_read_range(store, location, strtoll(offset, NULL, 10),
                                  (size_t)strtoull(length, NULL, 10), &bytes, &err));
    else
        CV_DO(cv_store_read(store, location, (size_t)1 << 30, &bytes, &err));
    (void)fwrite(bytes.data, 1, bytes.length, stdout);
    return CV_OK;
}

static enum cv_code print_file(void *context, const struct cv_listed_file *file,
                               struct cv_error *why)
{
    (void)context;
    (void)why;
    (void)printf("%lld %lld %s\n", (long long)file->size, (long long)file->modified_ms,
                 file->location);
    return CV_OK;
}

static enum cv_code print_upload(void *context, const struct cv_open_upload *upload,
                                 struct cv_error *why)
{
    (void)context;
    (void)why;
    (void)printf("%lld %s %s\n", (long long)upload->begun_ms, upload->id, upload->location);
    return CV_OK;
}

static enum cv_code abort_upload(void *context, const struct cv_open_upload *upload,
                                 struct cv_error *why)
{
    return cv_store_abort_upload(context, upload, why);
}

static void print_refusal(void *context, size_t index, const struct cv_error *why)
{
    (void)context;
    (void)printf("%zu %s\n", index, why->message);
}

static enum cv_code run(struct cv_store *store, const char *verb, char **arguments, size_t count)
{
    const char *location = arguments[0];
    int64_t size;

    if (strcmp(verb, "write") == 0 && count == 3)
        return write_file(store, location, strtoll(arguments[1], NULL, 10),
                          (size_t)strtoull(arguments[2], NULL, 10), true);
    if (strcmp(verb, "half") == 0 && count == 2)
        return write_file(store, location, strtoll(arguments[1], NULL, 10), 1 << 20, false);
    if (strcmp(verb, "many") == 0 && count == 3)
        return write_many(store, location, (size_t)strtoull(arguments[1], NULL, 10),
                          (size_t)strtoull(arguments[2], NULL, 10));
    if (strcmp(verb, "put") == 0 && count == 3)
        return cv_store_put(store, location, arguments[2], strlen(arguments[2]),
                            strcmp(arguments[1], "new") == 0 ? CV_PUT_NEW : CV_PUT_REPLACE, &err);
    if (strcmp(verb, "read") == 0 && count)
        return read_file(store, location, count == 3 ? arguments[1] : NULL, arguments[2]);
    if (strcmp(verb, "list") == 0 && count == 1)
        return cv_store_list(store, location, print_file, NULL, &err);
    if (strcmp(verb, "uploads") == 0 && count == 1)
        return cv_store_uploads(store, location, print_upload, NULL, &err);
    if (strcmp(verb, "abort") == 0 && count == 1)
        return cv_store_uploads(store, location, abort_upload, store, &err);
    if (strcmp(verb, "remove") == 0 && count) {
        CV_DO(cv_store_remove_many(store, (const char *const *)arguments, count, print_refusal,
                                   NULL, &err));
        print_requests(store);
        return CV_OK;
    }
    if (strcmp(verb, "size") == 0 && count == 1) {
        CV_DO(cv_store_size(store, location, &size, &err));
        (void)printf("%lld\n", (long long)size);
        return CV_OK;
    }
    return cv_fail(&err, CV_USAGE, "%s is not known", verb);
}

int main(int argc, char **argv)
{
    struct cv_properties properties = {0};
    const struct cv_store_config config = {.properties = &properties};
    struct cv_store *store = NULL;
    int at = 1;
    enum cv_code code;

    for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
        char *equals = strchr(argv[at], '=');

        if (equals) {
            *equals = '\0';
            cv_properties_set(&properties, argv[at], equals + 1);
        }
    }
    if (at + 2 >= argc)
        return 2;
    code = cv_store_open(argv[at + 2], &config, &store, &err);
    if (code == CV_OK)
        code = run(store, argv[at + 1], argv + at + 2, (size_t)(argc - at - 2));
    cv_store_free(store);
    cv_properties_release(&properties);
    if (code != CV_OK)
        (void)fprintf(stderr, "%s: %s\n%s\n", cv_code_name(code), err.message, err.hint);
    return code != CV_OK;
}
