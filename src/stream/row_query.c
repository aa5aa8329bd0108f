/* SPDX-License-Identifier: Apache-2.0
 *
 * See row_query.h. The query runs over all rows at once. Where it fails for one, halves of them are
 * tried until the rows that fail are known; then it runs again without them, or with their value
 * columns NULL. */
#include "stream/row_query.h"

#include "batch/gather.h"

#include <stdlib.h>

struct row_list { /* ascending */
    size_t *rows;
    size_t count, capacity;
};

struct cv_row_query {
    struct cv_stream_query *query;
    struct cv_duck_connection *connection;
    struct cv_duck_view *view;
    struct cv_duck_query *rows;
    struct cv_duck_query *event;     /* NULL = no watermark */
    struct cv_batch_builder patched; /* input rows with the bad ones' values NULL */
    int mode;
    struct cv_row_query_counters counters;
    struct cv_schema event_schema;
    struct cv_field event_field;
    struct cv_batch last; /* what the last execution saw */
    /* Of the batch that failed: rows that fail, and of them those that do without their values. */
    struct row_list bad, lost;
};

static enum cv_code prepare(struct cv_row_query *t, struct cv_error *err)
{
    const struct cv_query *q = t->query->query;

    CV_DO(cv_duck_connect(t->query->duck, &t->connection, err));
    CV_DO(cv_duck_view_create(t->connection, "input", &q->input_schema, &t->view, err));
    CV_DO(cv_duck_query_prepare(t->connection, q->rows_sql, &q->rows_schema, &t->rows, err));
    if (!q->watermark_sql)
        return CV_OK;
    t->event_field =
        (struct cv_field){.id = 1, .name = "event", .type = {.kind = CV_TYPE_TIMESTAMPTZ}};
    t->event_schema.root =
        (struct cv_type){.kind = CV_TYPE_STRUCT, .fields = &t->event_field, .field_count = 1};
    return cv_duck_query_prepare(t->connection, q->watermark_sql, &t->event_schema, &t->event, err);
}

enum cv_code cv_row_query_new(struct cv_stream_query *query, struct cv_row_query **ret_query,
                              struct cv_error *err)
{
    struct cv_row_query *t = cv_alloc(sizeof *t);
    enum cv_code code;

    t->query = query;
    t->mode = query->job->value.mode;
    cv_batch_builder_init(&t->patched, &query->query->input_schema);
    code = prepare(t, err);
    if (code != CV_OK) {
        cv_row_query_free(t);
        return code;
    }
    *ret_query = t;
    return CV_OK;
}

void cv_row_query_free(struct cv_row_query *row_query)
{
    if (!row_query)
        return;
    cv_duck_query_free(row_query->event);
    cv_duck_query_free(row_query->rows);
    cv_duck_view_free(row_query->view);
    cv_duck_disconnect(row_query->connection);
    cv_batch_builder_release(&row_query->patched);
    free(row_query->bad.rows);
    free(row_query->lost.rows);
    free(row_query);
}

static void use_batch(struct cv_row_query *t, const struct cv_batch *batch)
{
    t->last = *batch;
    cv_duck_view_set_batch(t->view, &t->last);
}

/* The query over what the view has now. */
static enum cv_code evaluate(struct cv_row_query *t, int64_t batch_time_us,
                             struct cv_batch *ret_out, struct cv_error *err)
{
    size_t parameters = t->query->query->uses_batch_time;

    CV_DO(cv_duck_query_start(t->rows, &batch_time_us, parameters, err));
    return cv_duck_query_next(t->rows, SIZE_MAX, ret_out, err);
}

/* "topic orders[3]@1042: " of an input row: its last three columns. */
static void tell_record(const struct cv_batch *in, size_t row, struct cv_error *err)
{
    const struct cv_column *columns = in->columns + in->column_count - 3;
    struct cv_value topic = cv_column_value(&columns[0], row);
    struct cv_value partition = cv_column_value(&columns[1], row);
    struct cv_value offset = cv_column_value(&columns[2], row);

    cv_context(err, "topic %.*s[%d]@%lld", (int)topic.bytes.length, topic.bytes.ptr, partition.i32,
               (long long)offset.i64);
}

static void note_row(struct row_list *list, size_t row)
{
    cv_array_reserve(&list->rows, &list->capacity, list->count + 1);
    list->rows[list->count++] = row;
}

/* The rows of start … start+count-1 that fail, by halves; with FAILFAST the first one is enough. */
static enum cv_code find_bad(struct cv_row_query *t, const struct cv_batch *in, size_t start,
                             size_t count, int64_t batch_time_us, struct row_list *list,
                             struct cv_error *err)
{
    const struct cv_duck_slice slice = {start, count};
    struct cv_error own = CV_ERROR_INIT;
    struct cv_batch out;
    enum cv_code code;

    cv_duck_view_set_slices(t->view, in, &slice, 1);
    code = evaluate(t, batch_time_us, &out, &own);
    if (code == CV_OK)
        return CV_OK;
    if (code != CV_RECORD || (count == 1 && t->mode == CV_MODE_FAILFAST)) {
        if (code == CV_RECORD) {
            tell_record(in, start, &own);
            cv_hint(&own, "value.mode PERMISSIVE or DROPMALFORMED goes on past such records and "
                          "counts them; TRY_CAST gives NULL");
        }
        if (err)
            *err = own;
        return code;
    }
    if (count == 1) {
        note_row(list, start);
        return CV_OK;
    }
    CV_DO(find_bad(t, in, start, count / 2, batch_time_us, list, err));
    return find_bad(t, in, start + count / 2, count - count / 2, batch_time_us, list, err);
}

static bool is_next(const struct row_list *list, size_t *next, size_t row)
{
    if (*next == list->count || list->rows[*next] != row)
        return false;
    ++*next;
    return true;
}

/* All rows again but those in `lost`, the bad ones with their value columns NULL. */
static enum cv_code patch(struct cv_row_query *t, const struct cv_batch *in,
                          const struct row_list *lost, struct cv_batch *ret_patched,
                          struct cv_error *err)
{
    const struct cv_query *q = t->query->query;
    size_t next_bad = 0, next_lost = 0;

    cv_batch_builder_clear(&t->patched);
    for (size_t row = 0; row < in->row_count; row++) {
        const struct cv_rows one = {.start = row, .count = 1};
        bool bad = is_next(&t->bad, &next_bad, row);

        if (is_next(lost, &next_lost, row))
            continue;
        for (size_t i = 0; i < in->column_count; i++) {
            struct cv_builder *column = &t->patched.columns[i];

            if (bad && q->inputs[i].from_value)
                cv_builder_null(column);
            else if (!cv_builder_append_rows(column, &in->columns[i], &one))
                return cv_fail(err, CV_LIMIT, "a column of more than %zu bytes",
                               CV_COLUMN_BYTES_MAX);
        }
    }
    cv_batch_builder_view(&t->patched, ret_patched);
    return CV_OK;
}

/* Runs without the bad rows, or with what is left of them. */
static enum cv_code run_without(struct cv_row_query *t, const struct cv_batch *in,
                                int64_t batch_time_us, struct cv_batch *ret_out,
                                struct cv_error *err)
{
    const struct row_list *lost = t->mode == CV_MODE_PERMISSIVE ? &t->lost : &t->bad;
    struct cv_batch patched;
    enum cv_code code;

    t->counters.bad += t->bad.count;
    t->lost.count = 0;
    if (t->mode == CV_MODE_PERMISSIVE) {
        CV_DO(patch(t, in, lost, &patched, err));
        use_batch(t, &patched);
        code = evaluate(t, batch_time_us, ret_out, err);
        if (code != CV_RECORD)
            return code;
        cv_error_clear(err); /* some fail without their values too */
        CV_DO(find_bad(t, &patched, 0, patched.row_count, batch_time_us, &t->lost, err));
    }
    t->counters.dropped += lost->count;
    CV_DO(patch(t, in, lost, &patched, err));
    use_batch(t, &patched);
    return evaluate(t, batch_time_us, ret_out, err);
}

enum cv_code cv_row_query_run(struct cv_row_query *row_query, const struct cv_batch *in,
                              int64_t batch_time_us, struct cv_batch *ret_out, struct cv_error *err)
{
    struct cv_error first = CV_ERROR_INIT;
    enum cv_code code;

    use_batch(row_query, in);
    code = evaluate(row_query, batch_time_us, ret_out, &first);
    if (code == CV_OK)
        return CV_OK;
    if (code == CV_RECORD) {
        row_query->bad.count = 0;
        CV_DO(find_bad(row_query, in, 0, in->row_count, batch_time_us, &row_query->bad, err));
        if (row_query->bad.count)
            return run_without(row_query, in, batch_time_us, ret_out, err);
        /* no single record is to blame: a sum of many is too large */
    }
    if (err)
        *err = first;
    return code;
}

/* The largest event time of rows start … start+count-1. Those whose event time fails, which the
 * query itself may leave out unseen, count for nothing where bad records are gone past. */
static enum cv_code event_max(struct cv_row_query *t, size_t start, size_t count, int64_t *max_us,
                              struct cv_error *err)
{
    const struct cv_duck_slice slice = {start, count};
    struct cv_error own = CV_ERROR_INIT;
    struct cv_batch out;
    enum cv_code code;

    cv_duck_view_set_slices(t->view, &t->last, &slice, 1);
    code = cv_duck_query_start(t->event, NULL, 0, &own);
    if (code == CV_OK)
        code = cv_duck_query_next(t->event, SIZE_MAX, &out, &own);
    if (code == CV_RECORD && count > 1) {
        CV_DO(event_max(t, start, count / 2, max_us, err));
        return event_max(t, start + count / 2, count - count / 2, max_us, err);
    }
    if (code == CV_RECORD && t->mode != CV_MODE_FAILFAST)
        return CV_OK;
    if (code == CV_RECORD)
        tell_record(&t->last, start, &own);
    if (code != CV_OK && err)
        *err = own;
    if (code == CV_OK && out.row_count) {
        struct cv_value value = cv_column_value(&out.columns[0], 0);

        *max_us = value.is_null ? *max_us : CV_MAX(*max_us, value.i64);
    }
    return code;
}

enum cv_code cv_row_query_event_max(struct cv_row_query *row_query, int64_t *ret_max_us,
                                    struct cv_error *err)
{
    *ret_max_us = INT64_MIN;
    if (!row_query->event || row_query->last.row_count == 0)
        return CV_OK;
    return event_max(row_query, 0, row_query->last.row_count, ret_max_us, err);
}

void cv_row_query_counters(const struct cv_row_query *row_query,
                           struct cv_row_query_counters *ret_counters)
{
    *ret_counters = row_query->counters;
}
