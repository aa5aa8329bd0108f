/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles the record at the top: its fields go to columns, one by one or, below a path like
 * value.a.b, out of records within records. Each field is read once, in the writer's order; when
 * several targets want the same field, the position is marked and read again. */
#include "avro/plan_int.h"

#include <stdlib.h>

/* Some of the targets, by their indices. */
struct group {
    const size_t *indices;
    size_t count;
};

static void compile_group(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                          struct group group, size_t depth);

static const char *path_text(struct cv_plan_compiler *c, const struct cv_avro_target *target)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(0);

    for (size_t i = 0; i < target->path_length; i++) {
        if (i)
            cv_buf_append_byte(&text, '.');
        cv_buf_append_text(&text, target->path[i]);
    }
    return cv_arena_strdup(c->arena, cv_buf_text(&text));
}

static struct cv_plan_dest dest_of(struct cv_plan_compiler *c, size_t index)
{
    const struct cv_avro_target *target = &c->targets[index];
    const struct cv_field *column = &c->table->root.fields[target->column];

    return (struct cv_plan_dest){
        .type = &column->type,
        .required = column->required,
        .slot = (uint32_t)target->column,
        .path = path_text(c, target),
        .cast = target->cast,
        .cast_type = &target->cast_type,
    };
}

static void compile_nulls(struct cv_plan_compiler *c, struct cv_plan_code *code, struct group group)
{
    for (size_t i = 0; i < group.count; i++) {
        const struct cv_plan_dest dest = dest_of(c, group.indices[i]);

        cv_plan_compile_null(c, code, &dest);
    }
}

static void emit_mark(struct cv_plan_compiler *c, struct cv_plan_code *code, bool first,
                      size_t index)
{
    cv_plan_emit(c, code,
                 (struct cv_plan_op){.code = first ? CV_OP_MARK : CV_OP_REWIND,
                                     .null_byte = CV_OP_NOT_NULLABLE,
                                     .count = index});
}

static void compile_missing(struct cv_plan_compiler *c, struct cv_plan_code *code, size_t index,
                            const struct cv_plan_source *source, size_t depth)
{
    const struct cv_plan_dest dest = dest_of(c, index);
    const struct group alone = {&index, 1};

    if (source->ambiguous) {
        cv_plan_problem(c, dest.path, "several fields differ from it only in letter case");
    } else if (source->reader_field) {
        if (!cv_plan_begin_default(c, code, source->reader_field, dest.path))
            return;
        compile_group(c, code, source->reader_field->type, NULL, alone, depth + 1);
        cv_plan_end_default(c, code);
    } else {
        if (dest.required)
            cv_plan_problem(c, dest.path, "column %s is required and the schema has no such field",
                            c->table->root.fields[c->targets[index].column].name);
        cv_plan_compile_null(c, code, &dest);
    }
}

/* Is this the first of the sources that read the field through this field of the reader? */
static bool is_first(const struct cv_plan_source *sources, size_t i)
{
    for (size_t k = 0; k < i; k++)
        if (sources[k].writer_field == sources[i].writer_field &&
            sources[k].reader_field == sources[i].reader_field)
            return false;
    return true;
}

/* All targets of the group that read this writer's field. Those that the reader sees under
 * different names (two of its fields with one alias) are resolved apart. */
static void compile_field(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_field *field, struct group group,
                          const struct cv_plan_source *sources, size_t depth)
{
    size_t *members = cv_alloc(group.count * sizeof *members);
    size_t rounds = 0;

    for (size_t i = 0; i < group.count; i++)
        rounds += sources[i].writer_field == field && is_first(sources, i);
    if (rounds == 0)
        cv_plan_compile_skip(c, code, field->type);
    for (size_t i = 0, round = 0; i < group.count && round < rounds; i++) {
        const struct cv_avro_field *reader = sources[i].reader_field;
        size_t count = 0;

        if (sources[i].writer_field != field || !is_first(sources, i))
            continue;
        for (size_t k = i; k < group.count; k++)
            if (sources[k].writer_field == field && sources[k].reader_field == reader)
                members[count++] = group.indices[k];
        if (rounds > 1)
            emit_mark(c, code, round == 0, 2 * depth + 1);
        compile_group(c, code, field->type, reader ? reader->type : NULL,
                      (struct group){members, count}, depth + 1);
        round++;
    }
    free(members);
}

static void compile_record(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           struct group group, size_t depth)
{
    struct cv_plan_source *sources = cv_alloc(group.count * sizeof *sources + 1);

    for (size_t i = 0; i < group.count; i++)
        sources[i] = cv_plan_find_source(writer, reader, c->targets[group.indices[i]].path[depth],
                                         c->case_sensitive);
    for (size_t f = 0; f < writer->field_count; f++)
        compile_field(c, code, &writer->fields[f], group, sources, depth);
    for (size_t i = 0; i < group.count; i++)
        if (!sources[i].writer_field)
            compile_missing(c, code, group.indices[i], &sources[i], depth);
    free(sources);
}

struct group_union {
    const struct cv_avro_type *reader;
    struct group group;
    size_t depth;
};

static void compile_deeper(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           struct group group, size_t depth);

static void compile_group_branch(struct cv_plan_compiler *c, struct cv_plan_code *code,
                                 const struct cv_avro_type *branch, void *context)
{
    const struct group_union *u = context;

    if (branch->kind != CV_AVRO_NULL) {
        compile_deeper(c, code, branch, u->reader, u->group, u->depth);
        return;
    }
    if (!cv_plan_accepts_null(u->reader)) {
        cv_plan_compile_fail(c, code, dest_of(c, u->group.indices[0]).path, CV_PLAN_NULL_REFUSED);
        return;
    }
    if (u->depth == 0)
        cv_plan_emit(c, code,
                     (struct cv_plan_op){.code = CV_OP_ROOT_NULL, .null_byte = CV_OP_NOT_NULLABLE});
    compile_nulls(c, code, u->group);
}

/* Targets that go on into the fields of this value. */
static void compile_deeper(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           struct group group, size_t depth)
{
    const struct cv_plan_dest dest = dest_of(c, group.indices[0]);
    const struct cv_avro_type *resolved;

    if (writer->kind == CV_AVRO_UNION) {
        struct group_union context = {reader, group, depth};

        cv_plan_compile_union(c, code, writer, dest.path, compile_group_branch, &context);
        return;
    }
    if (writer->kind != CV_AVRO_RECORD) {
        cv_plan_problem(c, dest.path, "a value of type %s has no field %s",
                        cv_avro_kind_name(writer->kind), c->targets[group.indices[0]].path[depth]);
        return;
    }
    resolved = reader ? cv_plan_resolve(writer, reader) : NULL;
    if (reader && !resolved) {
        cv_plan_problem(c, dest.path, "the writer's record %s cannot be read as the reader's %s",
                        writer->name,
                        reader->name ? reader->name : cv_avro_kind_name(reader->kind));
        return;
    }
    compile_record(c, code, writer, resolved, group, depth);
}

static void compile_group(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                          struct group group, size_t depth)
{
    size_t *deeper = cv_alloc(group.count * sizeof *deeper + 1);
    size_t deeper_count = 0;
    size_t consumers = 0;

    for (size_t i = 0; i < group.count; i++)
        if (c->targets[group.indices[i]].path_length > depth)
            deeper[deeper_count++] = group.indices[i];
    if (group.count - deeper_count + (deeper_count > 0) > 1)
        emit_mark(c, code, true, 2 * depth);
    for (size_t i = 0; i < group.count; i++) {
        const struct cv_plan_dest dest = dest_of(c, group.indices[i]);

        if (c->targets[group.indices[i]].path_length > depth)
            continue;
        if (consumers++)
            emit_mark(c, code, false, 2 * depth);
        cv_plan_compile_value(c, code, writer, reader, &dest);
    }
    if (deeper_count) {
        if (consumers)
            emit_mark(c, code, false, 2 * depth);
        compile_deeper(c, code, writer, reader, (struct group){deeper, deeper_count}, depth);
    }
    free(deeper);
}

/* --- the plan -------------------------------------------------------------------------------- */

bool cv_plan_begin_default(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_field *field, const char *path)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(0);
    struct cv_plan_constant *constant = cv_arena_new(c->arena, struct cv_plan_constant);

    if (!field->default_value) {
        cv_plan_problem(c, path, "the writer lacks field %s and the reader schema has no default",
                        field->name);
        return false;
    }
    if (!cv_plan_encode_default(field->type, field->default_value, &bytes, 0)) {
        cv_plan_problem(c, path, "the reader schema's default does not fit its type");
        return false;
    }
    constant->bytes = cv_arena_copy(c->arena, bytes.data, bytes.length);
    constant->length = bytes.length;
    cv_plan_emit(c, code,
                 (struct cv_plan_op){
                     .code = CV_OP_CONST, .null_byte = CV_OP_NOT_NULLABLE, .constant = constant});
    return true;
}

void cv_plan_end_default(struct cv_plan_compiler *c, struct cv_plan_code *code)
{
    cv_plan_emit(c, code,
                 (struct cv_plan_op){.code = CV_OP_CONST_END, .null_byte = CV_OP_NOT_NULLABLE});
}

static enum cv_code check_targets(const struct cv_schema *table,
                                  const struct cv_avro_target *targets, size_t target_count,
                                  struct cv_error *err)
{
    for (size_t i = 0; i < target_count; i++)
        if (targets[i].column >= table->root.field_count || targets[i].path_length > CV_DEPTH_MAX)
            return cv_fail(err, CV_INTERNAL, "target %zu of an Avro plan is out of range", i);
    return CV_OK;
}

enum cv_code cv_avro_plan_compile(const struct cv_avro_type *writer,
                                  const struct cv_avro_type *reader, const struct cv_schema *table,
                                  const struct cv_avro_target *targets, size_t target_count,
                                  bool case_sensitive, struct cv_avro_plan **ret_plan,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_avro_plan_freep) struct cv_avro_plan *plan = cv_alloc(sizeof *plan);
    struct cv_plan_compiler c = {.arena = &plan->arena,
                                 .table = table,
                                 .targets = targets,
                                 .case_sensitive = case_sensitive};
    struct cv_plan_code code = {0};
    size_t *all;
    enum cv_code result = CV_OK;

    CV_DO(check_targets(table, targets, target_count, err));
    all = cv_arena_array(&c.scratch, size_t, target_count);
    for (size_t i = 0; i < target_count; i++)
        all[i] = i;
    if (target_count)
        compile_group(&c, &code, writer, reader, (struct group){all, target_count}, 0);
    else
        cv_plan_compile_skip(&c, &code, writer);
    plan->root = *cv_plan_finish_block(&c, &code);
    if (cv_plan_is_full(&c))
        result =
            cv_fail(err, CV_LIMIT, "the schema needs more than %d steps a record", CV_PLAN_OPS_MAX);
    else if (c.problems.length)
        result = cv_fail(err, CV_SCHEMA, "%s", cv_buf_text(&c.problems));
    else
        *ret_plan = cv_steal(plan);
    cv_plan_code_release(&code);
    cv_map_release(&c.skips);
    cv_buf_release(&c.problems);
    cv_arena_release(&c.scratch);
    return result;
}

void cv_avro_plan_free(struct cv_avro_plan *plan)
{
    if (!plan)
        return;
    cv_arena_release(&plan->arena);
    free(plan);
}
