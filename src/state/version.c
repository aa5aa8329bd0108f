/* SPDX-License-Identifier: Apache-2.0
 *
 * A version's JSON. Its last member is the checksum of all bytes before it, in one spelling only:
 * so no byte can change unnoticed. */
#include "state/version.h"

#include "base/random.h"
#include "codec/hash.h"
#include "codec/json.h"

#include <inttypes.h>
#include <stdio.h>

#define HEX_BYTES 17

#define TRAILER       ",\"checksum\":\"%016" PRIx64 "\"}\n"
#define TRAILER_BYTES (sizeof ",\"checksum\":\"0123456789abcdef\"}\n" - 1)

/* --- names ----------------------------------------------------------------------------------- */

/* Decimal digits in the spelling of printf(); *end is behind them. */
static bool read_batch(const char *name, const char **end, int64_t *ret_batch)
{
    size_t digits = strspn(name, "0123456789");

    *end = name + digits;
    return digits && (digits == 1 || name[0] != '0') &&
           cv_parse_i64((struct cv_str){name, digits}, ret_batch);
}

bool cv_state_version_name(const char *name, int64_t *ret_batch)
{
    const char *end;

    return read_batch(name, &end, ret_batch) && strcmp(end, ".json") == 0;
}

/* An id, and this behind it to the end. */
static bool is_uuid_with(const char *text, const char *suffix)
{
    static const char form[CV_UUID_TEXT_BYTES] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

    for (size_t i = 0; form[i]; i++, text++)
        if (form[i] == '-' ? *text != '-' : !*text || !strchr("0123456789abcdef", *text))
            return false;
    return strcmp(text, suffix) == 0;
}

bool cv_state_file_name(const char *name, int64_t *ret_batch)
{
    const char *end;

    return read_batch(name, &end, ret_batch) && *end == '-' && is_uuid_with(end + 1, ".parquet");
}

bool cv_state_unfinished_name(const char *name, int64_t *ret_batch)
{
    static const char middle[] = ".json.";
    const char *end;

    return name[0] == '.' && read_batch(name + 1, &end, ret_batch) &&
           cv_text_starts_with(end, middle) && is_uuid_with(end + sizeof middle - 1, ".tmp");
}

/* --- writing --------------------------------------------------------------------------------- */

static void put_time(struct cv_json_writer *w, const char *key, int64_t us, int64_t none)
{
    if (us == none)
        return;
    cv_json_key(w, key);
    cv_json_put_i64(w, us);
}

static void put_file(struct cv_json_writer *w, const struct cv_state_file *file)
{
    char hex[HEX_BYTES];

    (void)snprintf(hex, sizeof hex, "%016" PRIx64, file->checksum);
    cv_json_begin_object(w);
    cv_json_key(w, "name");
    cv_json_put_string(w, file->name);
    cv_json_key(w, "bytes");
    cv_json_put_i64(w, file->bytes);
    cv_json_key(w, "rows");
    cv_json_put_i64(w, file->rows);
    cv_json_key(w, "xxh64");
    cv_json_put_string(w, hex);
    put_time(w, "closedBy", file->closed_by_us, INT64_MAX);
    cv_json_end_object(w);
}

void cv_state_version_write(const struct cv_state_version *version, struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);
    size_t start = out->length;

    cv_json_begin_object(&w);
    cv_json_key(&w, "format");
    cv_json_put_i64(&w, CV_STATE_FORMAT);
    cv_json_key(&w, "batch");
    cv_json_put_i64(&w, version->batch);
    cv_json_key(&w, "fingerprint");
    cv_json_put_string(&w, version->fingerprint);
    cv_json_key(&w, "columns");
    cv_json_put_string(&w, version->columns);
    put_time(&w, "watermark", version->watermark_us, INT64_MIN);
    put_time(&w, "nextWatermark", version->next_watermark_us, INT64_MIN);
    cv_json_key(&w, "files");
    cv_json_begin_array(&w);
    for (size_t i = 0; i < version->file_count; i++)
        put_file(&w, &version->files[i]);
    cv_json_end_array(&w);
    cv_buf_printf(out, TRAILER, cv_xxh64(out->data + start, out->length - start));
}

/* --- reading --------------------------------------------------------------------------------- */

static enum cv_code check_trailer(const void *text, size_t length, struct cv_error *err)
{
    char wanted[TRAILER_BYTES + 1];
    const char *bytes = text;

    if (length < TRAILER_BYTES)
        return cv_fail(err, CV_FORMAT, "it has %zu bytes, too few", length);
    length -= TRAILER_BYTES;
    (void)snprintf(wanted, sizeof wanted, TRAILER, cv_xxh64(bytes, length));
    if (memcmp(bytes + length, wanted, TRAILER_BYTES) != 0)
        return cv_fail(err, CV_FORMAT, "it does not end in the checksum of what it says");
    return CV_OK;
}

static enum cv_code read_checksum(const struct cv_json *node, uint64_t *ret_checksum,
                                  struct cv_error *err)
{
    static const char digits[] = "0123456789abcdef";
    const char *text;
    uint64_t value = 0;

    CV_DO(cv_json_read_string(node, "xxh64", &text, err));
    for (size_t i = 0; i < HEX_BYTES; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;

        if (!digit != (i == HEX_BYTES - 1) || (!digit && text[i]))
            return cv_fail(err, CV_FORMAT, "xxh64 is not 16 hexadecimal digits");
        if (digit)
            value = value << 4 | (uint64_t)(digit - digits);
    }
    *ret_checksum = value;
    return CV_OK;
}

static enum cv_code read_file(const struct cv_json *node, struct cv_state_file *file,
                              struct cv_error *err)
{
    const char *name;
    int64_t batch;

    CV_DO(cv_json_read_string(node, "name", &name, err));
    if (!cv_state_file_name(name, &batch))
        return cv_fail(err, CV_FORMAT, "\"%.100s\" is no name of a file of a state", name);
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    CV_DO(cv_json_read_i64(node, "bytes", &file->bytes, err));
    CV_DO(cv_json_read_i64(node, "rows", &file->rows, err));
    if (file->bytes <= 0 || file->rows <= 0)
        return cv_fail(err, CV_FORMAT, "%s has neither bytes nor rows", name);
    file->closed_by_us = INT64_MAX;
    CV_DO(cv_json_optional_i64(node, "closedBy", &file->closed_by_us, err));
    return read_checksum(node, &file->checksum, err);
}

static enum cv_code read_files(const struct cv_json *root, struct cv_arena *arena,
                               struct cv_state_version *version, struct cv_error *err)
{
    const struct cv_json *array;

    CV_DO(cv_json_read_array(root, "files", &array, err));
    version->file_count = cv_json_size(array);
    if (version->file_count > CV_STATE_VERSION_FILES_MAX)
        return cv_fail(err, CV_FORMAT, "it names %zu files, at most %d are allowed",
                       version->file_count, CV_STATE_VERSION_FILES_MAX);
    version->files = cv_arena_array(arena, struct cv_state_file, version->file_count);
    for (size_t i = 0; i < version->file_count; i++) {
        CV_DO(read_file(cv_json_at(array, i), &version->files[i], err));
        for (size_t j = 0; j < i; j++)
            if (strcmp(version->files[i].name, version->files[j].name) == 0)
                return cv_fail(err, CV_FORMAT, "it names %s twice", version->files[i].name);
    }
    return CV_OK;
}

static enum cv_code read_text(const struct cv_json *root, const char *key, struct cv_arena *arena,
                              const char **ret_text, struct cv_error *err)
{
    const char *text;

    CV_DO(cv_json_read_string(root, key, &text, err));
    *ret_text = cv_arena_strdup(arena, text);
    return CV_OK;
}

enum cv_code cv_state_version_read(const void *text, size_t length, struct cv_arena *arena,
                                   struct cv_state_version *ret_version, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_state_version version = {.watermark_us = INT64_MIN, .next_watermark_us = INT64_MIN};
    int64_t format;

    CV_DO(check_trailer(text, length, err));
    CV_DO(cv_json_parse(text, length, &root, err));
    CV_DO(cv_json_read_i64(root, "format", &format, err));
    if (format != CV_STATE_FORMAT)
        return cv_fail(err, CV_UNSUPPORTED, "it has format %" PRId64 ", this program knows %d",
                       format, CV_STATE_FORMAT);
    CV_DO(cv_json_read_i64(root, "batch", &version.batch, err));
    CV_DO(read_text(root, "fingerprint", arena, &version.fingerprint, err));
    CV_DO(read_text(root, "columns", arena, &version.columns, err));
    CV_DO(cv_json_optional_i64(root, "watermark", &version.watermark_us, err));
    CV_DO(cv_json_optional_i64(root, "nextWatermark", &version.next_watermark_us, err));
    CV_DO(read_files(root, arena, &version, err));
    *ret_version = version;
    return CV_OK;
}
