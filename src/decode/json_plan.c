/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiling the feeds of JSON paths into a tree of keys. */
#include "decode/json_plan.h"

#include "base/time.h"
#include "decode/assign.h"
#include "decode/framing.h"

#include <ctype.h>
#include <stdlib.h>

#define KEY_FOLD_BYTES 512 /* longer keys are no column's name */

static const struct cv_type text_type = {.kind = CV_TYPE_STRING};

struct compile {
    const struct cv_decoder *decoder;
    struct cv_json_plan *plan;
    struct cv_buf *problems;
    struct cv_schema types; /* of value.schema; root.field_count 0 without */
};

static struct cv_str fold(const struct cv_json_plan *plan, struct cv_str name,
                          char folded[KEY_FOLD_BYTES])
{
    if (plan->case_sensitive || name.length > KEY_FOLD_BYTES)
        return name;
    for (size_t i = 0; i < name.length; i++)
        folded[i] = (char)tolower((unsigned char)name.ptr[i]);
    return (struct cv_str){folded, name.length};
}

const struct cv_json_key *cv_json_object_find(const struct cv_json_plan *plan,
                                              const struct cv_json_object *object,
                                              struct cv_str name)
{
    char folded[KEY_FOLD_BYTES];
    struct cv_str key = fold(plan, name, folded);

    return cv_map_get(&object->by_name, key.ptr, key.length);
}

static struct cv_json_object *new_object(struct compile *c, size_t key_capacity, const char *path)
{
    struct cv_json_plan *plan = c->plan;
    struct cv_json_object *object = cv_arena_new(plan->arena, struct cv_json_object);

    object->keys = cv_arena_array(plan->arena, struct cv_json_key, key_capacity);
    object->key_capacity = key_capacity;
    object->path = path;
    object->index = plan->object_count;
    cv_array_reserve(&plan->objects, &plan->object_capacity, plan->object_count + 1);
    plan->objects[plan->object_count++] = object;
    return object;
}

/* The key of this name, made when there is none. */
static struct cv_json_key *add_key(struct compile *c, struct cv_json_object *object,
                                   const char *name)
{
    char folded[KEY_FOLD_BYTES];
    struct cv_str key = fold(c->plan, cv_str_from(name), folded);
    struct cv_json_key *found = cv_map_get(&object->by_name, key.ptr, key.length);

    if (found) {
        if (strcmp(found->name, name) != 0)
            cv_problem(c->problems,
                       "%s and %s differ in letter case only: set value.caseSensitive to true",
                       found->name, name);
        return found;
    }
    found = &object->keys[object->key_count++];
    found->name = name;
    found->length = strlen(name);
    (void)cv_map_set(&object->by_name, key.ptr, key.length, found);
    return found;
}

static struct cv_json_action *add_action(struct compile *c, struct cv_json_action **list)
{
    struct cv_json_action *action = cv_arena_new(c->plan->arena, struct cv_json_action);

    while (*list)
        list = &(*list)->next;
    *list = action;
    return action;
}

static void compile_value(struct compile *c, struct cv_json_value *value,
                          const struct cv_type *type, bool required, const char *path);

static struct cv_json_value *new_child(struct compile *c, const struct cv_field *field,
                                       const char *path)
{
    struct cv_json_value *child = cv_arena_new(c->plan->arena, struct cv_json_value);

    compile_value(c, child, &field->type, field->required,
                  cv_arena_printf(c->plan->arena, "%s.%s", path, field->name));
    return child;
}

static void compile_struct(struct compile *c, struct cv_json_value *value)
{
    const struct cv_type *type = value->type;

    value->object = new_object(c, type->field_count, value->path);
    for (size_t i = 0; i < type->field_count; i++) {
        const struct cv_field *field = &type->fields[i];
        struct cv_json_key *key = add_key(c, value->object, field->name);
        struct cv_json_action *action = add_action(c, &key->actions);

        action->column = i;
        compile_value(c, &action->value, &field->type, field->required,
                      cv_arena_printf(c->plan->arena, "%s.%s", value->path, field->name));
    }
}

static void compile_value(struct compile *c, struct cv_json_value *value,
                          const struct cv_type *type, bool required, const char *path)
{
    value->type = value->column = type;
    value->required = required;
    value->path = path;
    if (type->kind == CV_TYPE_STRUCT) {
        compile_struct(c, value);
    } else if (type->kind == CV_TYPE_LIST) {
        value->element = new_child(c, &type->fields[0], path);
    } else if (type->kind == CV_TYPE_MAP) {
        value->key = new_child(c, &type->fields[0], path);
        value->element = new_child(c, &type->fields[1], path);
        if (cv_type_is_nested(&type->fields[0].type))
            cv_problem(c->problems, "%s: a JSON key cannot be read as a nested type", path);
    }
}

/* The type that value.schema gives a path; text without one. */
static const struct cv_type *declared_type(const struct compile *c, const struct cv_feed *feed)
{
    const struct cv_type *type = &c->types.root;

    if (type->field_count == 0 || feed->path_length == 0)
        return &text_type;
    for (size_t i = 0; i < feed->path_length; i++) {
        const struct cv_type *found = NULL;

        for (size_t j = 0; type->kind == CV_TYPE_STRUCT && j < type->field_count && !found; j++)
            if (strcmp(type->fields[j].name, feed->path[i]) == 0)
                found = &type->fields[j].type;
        if (!found)
            return &text_type;
        type = found;
    }
    return type;
}

static void compile_cast(struct compile *c, struct cv_json_value *value, const struct cv_feed *feed,
                         const struct cv_type *column)
{
    char from[CV_TYPE_TEXT_BYTES];
    char to[CV_TYPE_TEXT_BYTES];

    value->type = declared_type(c, feed);
    value->column = column;
    value->cast = feed->cast;
    value->cast_type = feed->cast_type;
    if (!cv_type_is_nested(value->type) && !cv_type_is_nested(&feed->cast_type) &&
        cv_cast_allowed(value->type, &feed->cast_type))
        return;
    cv_type_text(value->type, from);
    cv_type_text(&feed->cast_type, to);
    cv_problem(c->problems, "%s: %s cannot be cast to %s", feed->text, from, to);
}

static const char *dotted(struct cv_arena *arena, const char *const *path, size_t length)
{
    const char *text = length ? path[0] : "";

    for (size_t i = 1; i < length; i++)
        text = cv_arena_printf(arena, "%s.%s", text, path[i]);
    return text;
}

static void add_feed(struct compile *c, size_t column)
{
    const struct cv_feed *feed = &c->decoder->feeds[column];
    const struct cv_field *field = &c->decoder->config.table->root.fields[column];
    struct cv_json_action **list = &c->plan->root;
    struct cv_arena *arena = c->plan->arena;
    struct cv_json_action *action;

    for (size_t i = 0; i < feed->path_length; i++) {
        struct cv_json_action *descend = *list;

        while (descend && !descend->descend)
            descend = descend->next;
        if (!descend) {
            descend = add_action(c, list);
            descend->descend =
                new_object(c, c->decoder->column_count, dotted(arena, feed->path, i));
        }
        list = &add_key(c, descend->descend, feed->path[i])->actions;
    }
    action = add_action(c, list);
    action->column = column;
    if (feed->cast == CV_SELECT_ASSIGN) {
        /* Whether the column may be NULL is the decoder's question: a missing key counts too. */
        compile_value(c, &action->value, &field->type, false,
                      dotted(arena, feed->path, feed->path_length));
    } else {
        action->value.path = dotted(arena, feed->path, feed->path_length);
        compile_cast(c, &action->value, feed, &field->type);
    }
}

enum cv_code cv_json_plan_compile(const struct cv_decoder *decoder, struct cv_arena *arena,
                                  struct cv_json_plan **ret_plan, struct cv_buf *problems,
                                  struct cv_error *err)
{
    static const int64_t units[] = {CV_US_PER_SECOND, CV_US_PER_MS, 1};
    const struct cv_value_options *options = decoder->config.options;
    struct compile c = {.decoder = decoder, .problems = problems};

    if (options->schema)
        CV_TRY(cv_schema_read_ddl(options->schema, arena, &c.types, err), err, "value.schema");
    c.plan = cv_arena_new(arena, struct cv_json_plan);
    c.plan->arena = arena;
    c.plan->case_sensitive = options->case_sensitive;
    c.plan->nonnumeric = options->json_nonnumeric;
    c.plan->confluent = cv_framing_confluent(options);
    c.plan->timestamp_unit_us = units[options->json_timestamp_unit];
    for (size_t i = 0; i < decoder->column_count; i++)
        if (decoder->feeds[i].kind == CV_FEED_VALUE)
            add_feed(&c, i);
    *ret_plan = c.plan;
    return CV_OK;
}

void cv_json_plan_free(struct cv_json_plan *plan)
{
    if (!plan)
        return;
    for (size_t i = 0; i < plan->object_count; i++)
        cv_map_release(&plan->objects[i]->by_name);
    free(plan->objects);
}
