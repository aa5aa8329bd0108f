/* SPDX-License-Identifier: Apache-2.0
 *
 * Uploads in parts that a process began and did not live to end. Nobody sees them, a listing of
 * files does not show them, and what was sent of them is stored and paid for. */
#include "doctor/doctor_int.h"

#include "base/time.h"

#define OPEN_MS (24 * CV_MS_PER_HOUR) /* no file takes so long to write */

/* One whose beginning is not told may be on its way. */
static bool is_left(const struct cv_open_upload *upload, int64_t now_ms)
{
    return upload->begun_ms >= 0 && upload->begun_ms <= now_ms - OPEN_MS;
}

/* Below the table's location, and where its data files lie if that is elsewhere. */
static enum cv_code each_upload(const struct cv_table *table,
                                enum cv_code (*each)(void *context, const struct cv_open_upload *,
                                                     struct cv_error *),
                                void *context, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const char *location = table->metadata->location;
    const char *data = cv_table_data_folder(table, &arena);

    CV_DO(cv_store_uploads(table->store, location, each, context, err));
    if (cv_text_starts_with(data, cv_location_join(&arena, location, "")))
        return CV_OK;
    return cv_store_uploads(table->store, data, each, context, err);
}

static enum cv_code count_upload(void *context, const struct cv_open_upload *upload,
                                 struct cv_error *err)
{
    struct cv_doctor *d = context;
    struct cv_open_uploads *open = &d->exam->uploads;

    (void)err;
    if (!is_left(upload, d->now_ms))
        return CV_OK;
    if (!open->count++ || upload->begun_ms < open->oldest_ms)
        open->oldest_ms = upload->begun_ms;
    return CV_OK;
}

void cv_doctor_look_at_uploads(struct cv_doctor *d)
{
    /* A store that does not tell, or not us, is no finding. */
    if (each_upload(d->config->table, count_upload, d, NULL) != CV_OK)
        d->exam->uploads = (struct cv_open_uploads){0};
}

void cv_judge_uploads(struct cv_doctor *d)
{
    const struct cv_open_uploads *open = &d->exam->uploads;
    struct cv_finding *finding;

    if (!open->count)
        return;
    finding = cv_doctor_add(
        d, open->count,
        "%lld uploads, begun more than a day ago, were never ended; the oldest %s ago",
        (long long)open->count, cv_doctor_duration(d, d->now_ms - open->oldest_ms));
    finding->why = "the parts that were sent are stored and paid for, and no list of files shows "
                   "them";
    finding->aborts_uploads = true;
    finding->command = cv_doctor_text(d, "calve doctor %s%s --fix",
                                      cv_doctor_quoted(d->config->table_name, d->arena),
                                      cv_doctor_config_flag(d->config, d->arena));
    finding->expected =
        "aborts them; a lifecycle rule of the bucket (AbortIncompleteMultipartUpload) "
        "does so for every writer";
}

struct aborting {
    struct cv_store *store;
    int64_t now_ms;
};

static enum cv_code abort_upload(void *context, const struct cv_open_upload *upload,
                                 struct cv_error *err)
{
    const struct aborting *aborting = context;

    if (!is_left(upload, aborting->now_ms))
        return CV_OK;
    return cv_store_abort_upload(aborting->store, upload, err);
}

enum cv_code cv_doctor_abort_uploads(struct cv_table *table, struct cv_error *err)
{
    struct aborting aborting = {table->store, cv_now_ms()};

    return each_upload(table, abort_upload, &aborting, err);
}
