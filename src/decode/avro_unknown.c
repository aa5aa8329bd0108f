/* SPDX-License-Identifier: Apache-2.0
 *
 * What an Avro schema has and no column takes, and the other way round. */
#include "decode/assign.h"
#include "decode/avro.h"

struct walk {
    const struct cv_decoder *decoder;
    void (*each)(void *context, const char *path);
    void *context;
    struct cv_arena arena; /* paths */
};

/* The one branch beside null; the type itself when it is no union; NULL for a wider union. */
static const struct cv_avro_type *strip_null(const struct cv_avro_type *type)
{
    const struct cv_avro_type *found = NULL;

    if (type->kind != CV_AVRO_UNION)
        return type;
    for (size_t i = 0; i < type->branch_count; i++) {
        if (type->branches[i]->kind == CV_AVRO_NULL)
            continue;
        if (found)
            return NULL;
        found = type->branches[i];
    }
    return found;
}

static bool same_name(const struct walk *w, const char *a, const char *b)
{
    return w->decoder->config.options->case_sensitive ? strcmp(a, b) == 0
                                                      : cv_text_equal_nocase(a, b);
}

static bool field_is(const struct walk *w, const struct cv_avro_field *field, const char *name)
{
    if (same_name(w, field->name, name))
        return true;
    for (size_t i = 0; i < field->alias_count; i++)
        if (same_name(w, field->aliases[i], name))
            return true;
    return false;
}

static void walk_value(struct walk *w, const struct cv_avro_type *type,
                       const struct cv_type *column, const char *path, int depth);

static void walk_struct(struct walk *w, const struct cv_avro_type *record,
                        const struct cv_type *column, const char *path, int depth)
{
    for (size_t i = 0; i < record->field_count; i++) {
        const struct cv_avro_field *field = &record->fields[i];
        const struct cv_field *found = NULL;
        const char *child = cv_arena_printf(&w->arena, "%s.%s", path, field->name);

        for (size_t j = 0; j < column->field_count && !found; j++)
            if (field_is(w, field, column->fields[j].name))
                found = &column->fields[j];
        if (found)
            walk_value(w, field->type, &found->type, child, depth + 1);
        else
            w->each(w->context, child);
    }
}

static void walk_value(struct walk *w, const struct cv_avro_type *type,
                       const struct cv_type *column, const char *path, int depth)
{
    type = strip_null(type);
    if (!type || depth > CV_DEPTH_MAX)
        return;
    if (type->kind == CV_AVRO_RECORD && column->kind == CV_TYPE_STRUCT)
        walk_struct(w, type, column, path, depth);
    else if (type->kind == CV_AVRO_ARRAY && column->kind == CV_TYPE_LIST)
        walk_value(w, type->items, &column->fields[0].type, path, depth + 1);
    else if (type->kind == CV_AVRO_MAP && column->kind == CV_TYPE_MAP)
        walk_value(w, type->items, &column->fields[1].type, path, depth + 1);
}

static void walk_field(struct walk *w, const struct cv_avro_field *field)
{
    const struct cv_decoder *d = w->decoder;
    bool taken = false;

    for (size_t i = 0; i < d->column_count; i++) {
        const struct cv_feed *feed = &d->feeds[i];

        if (feed->kind != CV_FEED_VALUE || feed->path_length == 0 ||
            !field_is(w, field, feed->path[0]))
            continue;
        taken = true;
        if (feed->path_length == 1 && feed->cast == CV_SELECT_ASSIGN)
            walk_value(w, field->type, &d->config.table->root.fields[i].type, field->name, 1);
    }
    if (!taken && d->star)
        w->each(w->context, field->name);
}

void cv_avro_unknown_fields(const struct cv_decoder *decoder, const struct cv_avro_type *root,
                            void (*each)(void *context, const char *path), void *context)
{
    struct walk w = {.decoder = decoder, .each = each, .context = context};

    root = strip_null(root);
    for (size_t i = 0; root && root->kind == CV_AVRO_RECORD && i < root->field_count; i++)
        walk_field(&w, &root->fields[i]);
    cv_arena_release(&w.arena);
}

bool cv_avro_has_path(const struct cv_decoder *decoder, const struct cv_avro_type *root,
                      const struct cv_feed *feed)
{
    const struct walk w = {.decoder = decoder};
    const struct cv_avro_type *type = root;

    for (size_t i = 0; i < feed->path_length; i++) {
        const struct cv_avro_type *record = strip_null(type);
        const struct cv_avro_field *found = NULL;

        if (!record || record->kind != CV_AVRO_RECORD)
            return false;
        for (size_t j = 0; j < record->field_count && !found; j++)
            if (field_is(&w, &record->fields[j], feed->path[i]))
                found = &record->fields[j];
        if (!found)
            return false;
        type = found->type;
    }
    return true;
}

const char *cv_avro_fed_cycle(const struct cv_decoder *decoder, const struct cv_avro_type *root,
                              struct cv_arena *arena)
{
    const struct walk w = {.decoder = decoder};

    root = strip_null(root);
    if (!root || root->kind != CV_AVRO_RECORD)
        return NULL;
    for (size_t i = 0; i < root->field_count; i++) {
        const struct cv_avro_field *field = &root->fields[i];
        bool whole = false;

        for (size_t j = 0; j < decoder->column_count; j++) {
            const struct cv_feed *feed = &decoder->feeds[j];

            whole |= feed->kind == CV_FEED_VALUE && feed->path_length == 1 &&
                     field_is(&w, field, feed->path[0]);
        }
        if (whole && cv_avro_schema_cycle(field->type, arena))
            return cv_avro_schema_cycle(field->type, arena);
    }
    return NULL;
}
