/* SPDX-License-Identifier: Apache-2.0
 *
 * Uploads in parts that a process began and did not live to end. Nobody sees them, a listing of
 * files does not show them, and what was sent of them is stored and paid for. */
#include "doctor/doctor_int.h"

#include "base/time.h"

#define OPEN_MS (24 * CV_MS_PER_HOUR) /* no file takes so long to write */

static enum cv_code count_upload(void *context, const struct cv_open_upload *upload,
                                 struct cv_error *err)
{
    struct cv_doctor *d = context;
    struct cv_open_uploads *open = &d->exam->uploads;

    (void)err;
    if (upload->begun_ms > d->now_ms - OPEN_MS)
        return CV_OK;
    if (!open->count++ || upload->begun_ms < open->oldest_ms)
        open->oldest_ms = upload->begun_ms;
    return CV_OK;
}

void cv_doctor_look_at_uploads(struct cv_doctor *d)
{
    /* A store that does not tell, or not us, is no finding. */
    if (cv_store_uploads(d->config->table->store, d->metadata->location, count_upload, d, NULL) !=
        CV_OK)
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
    int64_t older_than_ms;
};

static enum cv_code abort_upload(void *context, const struct cv_open_upload *upload,
                                 struct cv_error *err)
{
    const struct aborting *aborting = context;

    if (upload->begun_ms > aborting->older_than_ms)
        return CV_OK;
    return cv_store_abort_upload(aborting->store, upload, err);
}

enum cv_code cv_doctor_abort_uploads(struct cv_table *table, struct cv_error *err)
{
    struct aborting aborting = {table->store, cv_now_ms() - OPEN_MS};

    return cv_store_uploads(table->store, table->metadata->location, abort_upload, &aborting, err);
}
