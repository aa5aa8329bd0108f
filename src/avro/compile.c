/* SPDX-License-Identifier: Apache-2.0
 *
 * Compiles values: unions, structs, lists, maps; leaves are in leaf.c. Records at the top, whose
 * fields go to columns of their own, are in targets.c. */
#include "avro/plan_int.h"

#include <stdio.h>
#include <stdlib.h>

void cv_plan_problem(struct cv_plan_compiler *c, const char *path, const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (c->problems.length)
        cv_buf_append_text(&c->problems, "; ");
    if (*path) {
        cv_buf_append_text(&c->problems, path);
        cv_buf_append_text(&c->problems, ": ");
    }
    cv_buf_append_text(&c->problems, text);
}

void cv_plan_emit(struct cv_plan_compiler *c, struct cv_plan_code *code, struct cv_plan_op op)
{
    if (cv_plan_is_full(c))
        return;
    c->op_count++;
    cv_array_reserve(&code->ops, &code->capacity, code->count + 1);
    code->ops[code->count++] = op;
}

void cv_plan_code_release(struct cv_plan_code *code)
{
    free(code->ops);
    *code = (struct cv_plan_code){0};
}

const struct cv_plan_block *cv_plan_finish_block(struct cv_plan_compiler *c,
                                                 const struct cv_plan_code *code)
{
    struct cv_plan_block *block = cv_arena_new(c->arena, struct cv_plan_block);

    block->count = code->count;
    block->ops = cv_arena_copy(c->arena, code->ops, code->count * sizeof *code->ops);
    return block;
}

static struct cv_plan_op op_for(enum cv_plan_op_code code, const struct cv_plan_dest *dest)
{
    return (struct cv_plan_op){.code = (uint8_t)code,
                               .null_byte = CV_OP_NOT_NULLABLE,
                               .required = dest->required,
                               .slot = dest->slot,
                               .path = dest->path};
}

void cv_plan_compile_null(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_plan_dest *dest)
{
    cv_plan_emit(c, code, op_for(CV_OP_NULL, dest));
}

void cv_plan_compile_fail(struct cv_plan_compiler *c, struct cv_plan_code *code, const char *path,
                          const char *reason)
{
    cv_plan_emit(
        c, code,
        (struct cv_plan_op){
            .code = CV_OP_FAIL, .null_byte = CV_OP_NOT_NULLABLE, .path = path, .reason = reason});
}

/* --- unions ---------------------------------------------------------------------------------- */

static const char *branch_name(const struct cv_avro_type *branch)
{
    return branch->name ? branch->name : cv_avro_kind_name(branch->kind);
}

/* One branch into code of its own. A problem turns into an op that fails. True if it was good. */
static bool compile_branch(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *branch, const char *path,
                           cv_plan_branch_fn *compile, void *context, const char **ret_problem)
{
    size_t problems = c->problems.length;
    const char *reason;

    compile(c, code, branch, context);
    if (c->problems.length == problems)
        return true;
    if (problems)
        problems += 2; /* the separator */
    reason = cv_arena_strndup(&c->scratch, (const char *)c->problems.data + problems,
                              c->problems.length - problems);
    c->problems.length = problems ? problems - 2 : 0;
    *ret_problem = reason;
    code->count = 0;
    cv_plan_compile_fail(c, code, path,
                         cv_arena_printf(c->arena, "the value is in branch %s of its union (%s)",
                                         branch_name(branch), reason));
    return false;
}

/* A union of null and one other type whose code is a single op: the op looks at the branch. */
static bool fuse_nullable(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *writer, const struct cv_plan_code *branches)
{
    for (uint8_t null = 0; writer->branch_count == 2 && null < 2; null++) {
        const struct cv_plan_code *other = &branches[1 - null];
        struct cv_plan_op op;

        if (writer->branches[null]->kind != CV_AVRO_NULL || other->count != 1 ||
            branches[null].count != 1 || branches[null].ops[0].code != CV_OP_NULL ||
            branches[null].ops[0].slot != other->ops[0].slot)
            continue;
        op = other->ops[0];
        if (op.null_byte != CV_OP_NOT_NULLABLE || op.code == CV_OP_FAIL || op.code == CV_OP_NULL)
            continue;
        op.null_byte = (uint8_t)(2 * null);
        cv_plan_emit(c, code, op);
        return true;
    }
    return false;
}

static void emit_branches(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *writer, const char *path,
                          const struct cv_plan_code *branches)
{
    struct cv_plan_branches *table = cv_arena_new(c->arena, struct cv_plan_branches);
    size_t *starts = cv_arena_array(c->arena, size_t, writer->branch_count);
    size_t length = 1;

    /* behind each branch stands a jump to the end */
    for (size_t i = 0; i < writer->branch_count; i++) {
        starts[i] = length;
        length += branches[i].count + 1;
    }
    *table = (struct cv_plan_branches){writer->branch_count, starts};
    cv_plan_emit(
        c, code,
        (struct cv_plan_op){
            .code = CV_OP_UNION, .null_byte = CV_OP_NOT_NULLABLE, .path = path, .branches = table});
    for (size_t i = 0; i < writer->branch_count; i++) {
        for (size_t k = 0; k < branches[i].count; k++)
            cv_plan_emit(c, code, branches[i].ops[k]);
        cv_plan_emit(c, code,
                     (struct cv_plan_op){.code = CV_OP_JUMP,
                                         .null_byte = CV_OP_NOT_NULLABLE,
                                         .count = length - starts[i] - branches[i].count - 1});
    }
}

void cv_plan_compile_union(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const char *path,
                           cv_plan_branch_fn *compile, void *context)
{
    struct cv_plan_code *branches = cv_alloc(writer->branch_count * sizeof *branches + 1);
    const char *problem = NULL;
    size_t good = 0;

    for (size_t i = 0; i < writer->branch_count && !cv_plan_is_full(c); i++) {
        bool is_null = writer->branches[i]->kind == CV_AVRO_NULL;

        good += compile_branch(c, &branches[i], writer->branches[i], path, compile, context,
                               &problem) &&
                !is_null;
    }
    if (good == 0 && problem)
        cv_plan_problem(c, "", "%s", problem);
    else if (!fuse_nullable(c, code, writer, branches))
        emit_branches(c, code, writer, path, branches);
    for (size_t i = 0; i < writer->branch_count; i++)
        cv_plan_code_release(&branches[i]);
    free(branches);
}

/* --- containers ------------------------------------------------------------------------------ */

static void wrong_shape(struct cv_plan_compiler *c, const struct cv_avro_type *writer,
                        const struct cv_plan_dest *dest)
{
    char text[CV_TYPE_TEXT_BYTES];

    cv_type_text(dest->type, text);
    cv_plan_problem(c, dest->path, "%s cannot be written to a column of type %s",
                    branch_name(writer), text);
}

static struct cv_plan_dest child_dest(struct cv_plan_compiler *c, const struct cv_plan_dest *dest,
                                      size_t i)
{
    const struct cv_field *field = &dest->type->fields[i];

    return (struct cv_plan_dest){
        .type = &field->type,
        .required = field->required,
        .slot = (uint32_t)i,
        .path = cv_arena_printf(c->arena, "%s.%s", dest->path, field->name),
    };
}

/* A child of a struct that no field of the writer fills. */
static void compile_missing(struct cv_plan_compiler *c, struct cv_plan_code *code,
                            const struct cv_plan_source *source, const struct cv_plan_dest *child)
{
    if (source->ambiguous) {
        cv_plan_problem(c, child->path, "several fields differ from it only in letter case");
        return;
    }
    if (source->reader_field) {
        if (!cv_plan_begin_default(c, code, source->reader_field, child->path))
            return;
        cv_plan_compile_value(c, code, source->reader_field->type, NULL, child);
        cv_plan_end_default(c, code);
        return;
    }
    if (child->required)
        cv_plan_problem(c, child->path, "the column is required and the schema has no such field");
    cv_plan_compile_null(c, code, child);
}

static void compile_fields(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           const struct cv_plan_dest *dest)
{
    size_t count = dest->type->field_count;
    struct cv_plan_source *sources = cv_alloc(count * sizeof *sources + 1);

    for (size_t i = 0; i < count; i++)
        sources[i] =
            cv_plan_find_source(writer, reader, dest->type->fields[i].name, c->case_sensitive);
    for (size_t f = 0; f < writer->field_count && !cv_plan_is_full(c); f++) {
        size_t i = 0;

        while (i < count && sources[i].writer_field != &writer->fields[f])
            i++;
        if (i == count) {
            cv_plan_compile_skip(c, code, writer->fields[f].type);
            continue;
        }
        const struct cv_plan_dest child = child_dest(c, dest, i);

        cv_plan_compile_value(c, code, writer->fields[f].type,
                              sources[i].reader_field ? sources[i].reader_field->type : NULL,
                              &child);
        for (size_t k = i + 1; k < count; k++)
            if (sources[k].writer_field == &writer->fields[f])
                cv_plan_problem(c, dest->path, "field %s would fill both %s and %s",
                                writer->fields[f].name, dest->type->fields[i].name,
                                dest->type->fields[k].name);
    }
    for (size_t i = 0; i < count && !cv_plan_is_full(c); i++)
        if (!sources[i].writer_field) {
            const struct cv_plan_dest child = child_dest(c, dest, i);

            compile_missing(c, code, &sources[i], &child);
        }
    free(sources);
}

static void compile_struct(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           const struct cv_plan_dest *dest)
{
    struct cv_plan_code inner = {0};
    struct cv_plan_op op = op_for(CV_OP_STRUCT, dest);

    for (size_t i = 0; i < c->open_count; i++)
        if (c->open[i] == writer) {
            cv_plan_problem(c, dest->path, "the type %s is recursive (%s), which no table can hold",
                            writer->name, cv_avro_schema_cycle(writer, &c->scratch));
            return;
        }
    if (c->open_count == CV_DEPTH_MAX) {
        cv_plan_problem(c, dest->path, "nested deeper than %d", CV_DEPTH_MAX);
        return;
    }
    c->open[c->open_count++] = writer;
    compile_fields(c, &inner, writer, reader, dest);
    c->open_count--;
    op.block = cv_plan_finish_block(c, &inner);
    cv_plan_code_release(&inner);
    cv_plan_emit(c, code, op);
}

static void compile_list(struct cv_plan_compiler *c, struct cv_plan_code *code,
                         const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                         const struct cv_plan_dest *dest)
{
    const struct cv_plan_dest element = child_dest(c, dest, 0);
    struct cv_plan_code inner = {0};
    struct cv_plan_op op = op_for(CV_OP_LIST, dest);
    struct cv_plan_block *block;

    cv_plan_compile_value(c, &inner, writer->items, reader ? reader->items : NULL, &element);
    block = (struct cv_plan_block *)(uintptr_t)cv_plan_finish_block(c, &inner);
    block->is_empty = cv_plan_make_skip(c, writer->items)->is_empty;
    cv_plan_code_release(&inner);
    op.block = block;
    cv_plan_emit(c, code, op);
}

/* Keys are read by code too, so that their checks are those of any string. */
static void compile_map(struct cv_plan_compiler *c, struct cv_plan_code *code,
                        const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                        const struct cv_plan_dest *dest)
{
    static const struct cv_avro_type string = {.kind = CV_AVRO_STRING};
    const struct cv_plan_dest key = child_dest(c, dest, 0);
    const struct cv_plan_dest value = child_dest(c, dest, 1);
    struct cv_plan_code inner = {0};
    struct cv_plan_op op = op_for(CV_OP_MAP, dest);

    if (writer->kind == CV_AVRO_MAP) {
        cv_plan_compile_value(c, &inner, &string, NULL, &key);
        cv_plan_compile_value(c, &inner, writer->items, reader ? reader->items : NULL, &value);
    } else {
        const struct cv_avro_field *fields = writer->items->fields;
        const struct cv_avro_field *wanted = reader ? reader->items->fields : NULL;

        cv_plan_compile_value(c, &inner, fields[0].type, wanted ? wanted[0].type : NULL, &key);
        cv_plan_compile_value(c, &inner, fields[1].type, wanted ? wanted[1].type : NULL, &value);
    }
    op.block = cv_plan_finish_block(c, &inner);
    cv_plan_code_release(&inner);
    cv_plan_emit(c, code, op);
}

static bool is_map(const struct cv_avro_type *type)
{
    return type->kind == CV_AVRO_MAP || type->logical == CV_AVRO_LOGICAL_MAP;
}

/* Both are no unions and resolve to each other. */
static void compile_resolved(struct cv_plan_compiler *c, struct cv_plan_code *code,
                             const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                             const struct cv_plan_dest *dest)
{
    bool nested = writer->kind == CV_AVRO_RECORD || writer->kind == CV_AVRO_ARRAY ||
                  writer->kind == CV_AVRO_MAP;

    if (writer->kind == CV_AVRO_NULL) {
        cv_plan_compile_null(c, code, dest);
    } else if (nested && dest->cast != CV_AVRO_ASSIGN) {
        cv_plan_problem(c, dest->path, "%s cannot be cast", branch_name(writer));
    } else if (dest->type->kind == CV_TYPE_STRUCT && writer->kind == CV_AVRO_RECORD) {
        compile_struct(c, code, writer, reader, dest);
    } else if (dest->type->kind == CV_TYPE_LIST && writer->kind == CV_AVRO_ARRAY) {
        compile_list(c, code, writer, reader, dest);
    } else if (dest->type->kind == CV_TYPE_MAP && is_map(writer) && (!reader || is_map(reader))) {
        compile_map(c, code, writer, reader, dest);
    } else if (nested || cv_type_is_nested(dest->type)) {
        wrong_shape(c, writer, dest);
    } else {
        cv_plan_compile_leaf(c, code, writer, reader ? reader : writer, dest);
    }
}

struct value_union {
    const struct cv_avro_type *reader;
    const struct cv_plan_dest *dest;
};

static void compile_value_branch(struct cv_plan_compiler *c, struct cv_plan_code *code,
                                 const struct cv_avro_type *branch, void *context)
{
    const struct value_union *u = context;

    if (branch->kind == CV_AVRO_NULL && !cv_plan_accepts_null(u->reader))
        cv_plan_compile_fail(c, code, u->dest->path, CV_PLAN_NULL_REFUSED);
    else if (branch->kind == CV_AVRO_NULL)
        cv_plan_compile_null(c, code, u->dest);
    else
        cv_plan_compile_value(c, code, branch, u->reader, u->dest);
}

void cv_plan_compile_value(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           const struct cv_plan_dest *dest)
{
    const struct cv_avro_type *resolved = NULL;

    if (cv_plan_is_full(c))
        return;
    if (writer->kind == CV_AVRO_UNION) {
        struct value_union context = {reader, dest};

        cv_plan_compile_union(c, code, writer, dest->path, compile_value_branch, &context);
        return;
    }
    if (reader) {
        resolved = cv_plan_resolve(writer, reader);
        if (!resolved) {
            cv_plan_problem(c, dest->path, "the writer's %s cannot be read as the reader's %s",
                            branch_name(writer), branch_name(reader));
            return;
        }
    }
    compile_resolved(c, code, writer, resolved, dest);
}
