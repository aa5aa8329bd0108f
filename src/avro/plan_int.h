/* SPDX-License-Identifier: Apache-2.0
 *
 * The program that a plan is: ops in blocks. A block reads one Avro record (or item) and appends
 * to the builders of one level: the batch's columns, or the children of a struct, list or map. All
 * jumps are forward and relative, so that code can be moved. Private to avro/. */
#ifndef CALVE_AVRO_PLAN_INT_H
#define CALVE_AVRO_PLAN_INT_H

#include "avro/plan.h"
#include "base/map.h"
#include "schema/cast.h"

#define CV_PLAN_OPS_MAX        200000 /* of one plan; unions of records can multiply */
#define CV_PLAN_SKIP_DEPTH_MAX 256    /* nesting of a value that is skipped */
#define CV_PLAN_MARKS_MAX      (2 * CV_DEPTH_MAX + 4)
/* Items of no bytes (empty records, nulls) in all arrays of one datum. */
#define CV_PLAN_EMPTY_ITEMS_MAX 1000000

enum cv_plan_op_code {
    CV_OP_NULL, /* appends a null and reads nothing */
    CV_OP_BOOL,
    CV_OP_I32,
    CV_OP_I32_TO_I64,
    CV_OP_I64,
    CV_OP_I64_TIMES, /* multiplied by count: ms to µs */
    CV_OP_I64_FLOOR, /* divided by count, towards minus infinity: ns to µs */
    CV_OP_F32,
    CV_OP_F32_TO_F64,
    CV_OP_F64,
    CV_OP_STRING,
    CV_OP_BYTES,
    CV_OP_FIXED,
    CV_OP_DECIMAL64,      /* bytes to a decimal of at most 18 digits */
    CV_OP_TEXT_DECIMAL64, /* CAST of a string to one */
    CV_OP_VALUE,          /* everything else, by its leaf */
    CV_OP_STRUCT,
    CV_OP_LIST,
    CV_OP_MAP,
    CV_OP_UNION,
    CV_OP_JUMP,
    CV_OP_FAIL,
    CV_OP_MARK,   /* remembers the position: two columns want the same field */
    CV_OP_REWIND, /* goes back to it */
    CV_OP_CONST,  /* reads from the constant (a default) … */
    CV_OP_CONST_END,
    CV_OP_ROOT_NULL,   /* the datum as a whole is null */
    CV_OP_SKIP_VARINT, /* from here on: nothing is appended */
    CV_OP_SKIP_BYTES,
    CV_OP_SKIP_FIXED,
    CV_OP_SKIP_TREE,
};

/* null_byte of an op whose value is not in a union with null; else it is the byte that says null
 * (0 or 2, by the branch) and the same byte with bit 1 flipped says that the value follows. */
#define CV_OP_NOT_NULLABLE 0xff

struct cv_plan_op {
    uint8_t code;
    uint8_t null_byte;
    bool required; /* a null is a bad record */
    uint32_t slot; /* builder within the level */
    union {
        uint64_t count; /* factor, bytes, index of a mark, ops to jump over */
        const struct cv_plan_leaf *leaf;
        const struct cv_plan_block *block;
        const struct cv_plan_branches *branches;
        const struct cv_plan_constant *constant;
        const struct cv_plan_skip *skip;
        const char *reason;
    };
    const char *path;
};

struct cv_plan_block {
    const struct cv_plan_op *ops;
    size_t count;
    bool is_empty; /* of a list: an item takes no bytes */
};

/* Where the code of each branch starts, counted from the union's own op. */
struct cv_plan_branches {
    size_t count;
    const size_t *starts;
};

struct cv_plan_constant {
    const uint8_t *bytes;
    size_t length;
};

/* Shape of a value that nobody wants. A recursive type is a cycle. */
struct cv_plan_skip {
    enum cv_avro_kind kind;
    bool is_empty;
    size_t size;  /* fixed */
    size_t count; /* fields, branches, 1 for items */
    const struct cv_plan_skip **children;
};

/* A primitive value on its way: wire bytes → natural type → CAST → column. */
struct cv_plan_leaf {
    enum cv_avro_kind wire;
    uint32_t size; /* fixed */
    int32_t unit;  /* 1000: multiply; -1000: divide; 0: as it is */
    struct cv_type natural;
    enum cv_avro_cast cast;
    struct cv_type cast_type;
    struct cv_type column;
    const struct cv_str *symbols; /* enum; ptr NULL = the reader has no such symbol */
    size_t symbol_count;
};

struct cv_avro_plan {
    struct cv_arena arena;
    struct cv_plan_block root;
};

/* --- run time -------------------------------------------------------------------------------- */

struct cv_plan_run {
    const uint8_t *at;
    const uint8_t *end;
    bool root_null;
    size_t empty_items;
    struct cv_avro_fault *fault;
    const uint8_t *outer_at; /* of the record, while a constant is read */
    const uint8_t *outer_end;
    const uint8_t *marks[CV_PLAN_MARKS_MAX];
};

/* Sets the fault and returns false. */
bool cv_plan_fail(struct cv_plan_run *run, const char *path, const char *format, ...)
    CV_PRINTF(3, 4);
bool cv_plan_malformed(struct cv_plan_run *run, const char *path);
/* Reads one value at run->at by its leaf and appends it. */
bool cv_plan_run_leaf(struct cv_plan_run *run, const struct cv_plan_op *op,
                      struct cv_builder *builder);
bool cv_plan_run_skip(struct cv_plan_run *run, const struct cv_plan_skip *skip, unsigned depth);
/* The count of the next array or map block, its byte size passed over; false when malformed, or
 * when the bytes left cannot hold that many items. */
bool cv_plan_read_count(struct cv_plan_run *run, bool is_empty, int64_t *ret_count,
                        int64_t *ret_bytes);

/* --- compile time ---------------------------------------------------------------------------- */

struct cv_plan_compiler {
    struct cv_arena *arena; /* the plan's */
    struct cv_arena scratch;
    const struct cv_schema *table;
    const struct cv_avro_target *targets;
    bool case_sensitive;
    struct cv_buf problems; /* joined by "; " */
    size_t op_count;
    struct cv_map skips; /* struct cv_avro_type * → struct cv_plan_skip * */
    const struct cv_avro_type *open[CV_DEPTH_MAX + 1]; /* records being compiled into structs */
    size_t open_count;
};

/* Code being written. */
struct cv_plan_code {
    struct cv_plan_op *ops;
    size_t count;
    size_t capacity;
};

/* Where a value is to go. */
struct cv_plan_dest {
    const struct cv_type *type;
    bool required;
    uint32_t slot;
    const char *path;
    enum cv_avro_cast cast;
    const struct cv_type *cast_type;
};

/* Notes a problem of the schemas at this path; compiling goes on, to find the others too. */
void cv_plan_problem(struct cv_plan_compiler *c, const char *path, const char *format, ...)
    CV_PRINTF(3, 4);
/* Appends an op to a block. */
void cv_plan_emit(struct cv_plan_compiler *c, struct cv_plan_code *code, struct cv_plan_op op);
/* Nothing more is emitted and the plan is going to be refused. */
static inline bool cv_plan_is_full(const struct cv_plan_compiler *c)
{
    return c->op_count == CV_PLAN_OPS_MAX;
}
void cv_plan_code_release(struct cv_plan_code *code);
/* Copies the code into the plan. */
const struct cv_plan_block *cv_plan_finish_block(struct cv_plan_compiler *c,
                                                 const struct cv_plan_code *code);

/* `reader` NULL: no resolution. */
void cv_plan_compile_value(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                           const struct cv_plan_dest *dest);
/* The Iceberg type that says what a value of the (reader's) primitive Avro type is. */
void cv_avro_leaf_type(const struct cv_avro_type *avro, struct cv_type *type);
void cv_plan_compile_leaf(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *writer, const struct cv_avro_type *reader,
                          const struct cv_plan_dest *dest);
void cv_plan_compile_null(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_plan_dest *dest);
#define CV_PLAN_NULL_REFUSED "a null, which the reader schema does not allow"
/* An op that makes every record bad that comes to it. */
void cv_plan_compile_fail(struct cv_plan_compiler *c, struct cv_plan_code *code, const char *path,
                          const char *reason);
void cv_plan_compile_skip(struct cv_plan_compiler *c, struct cv_plan_code *code,
                          const struct cv_avro_type *type);
const struct cv_plan_skip *cv_plan_make_skip(struct cv_plan_compiler *c,
                                             const struct cv_avro_type *type);
/* Compiles each branch by the callback; a branch that has a problem fails when a record has it, and
 * only if all have one is it a problem of the schema. */
typedef void cv_plan_branch_fn(struct cv_plan_compiler *c, struct cv_plan_code *code,
                               const struct cv_avro_type *branch, void *context);
void cv_plan_compile_union(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_type *writer, const char *path,
                           cv_plan_branch_fn *compile, void *context);
/* Brackets code that reads the default of a reader's field; false (with a problem) if the default
 * does not fit its type. */
bool cv_plan_begin_default(struct cv_plan_compiler *c, struct cv_plan_code *code,
                           const struct cv_avro_field *field, const char *path);
void cv_plan_end_default(struct cv_plan_compiler *c, struct cv_plan_code *code);

/* --- Avro's schema resolution ---------------------------------------------------------------- */

/* The branch of the reader (or the reader itself, when it is no union) that a writer's type other
 * than a union resolves to; NULL if none. */
const struct cv_avro_type *cv_plan_resolve(const struct cv_avro_type *writer,
                                           const struct cv_avro_type *reader);
bool cv_plan_accepts_null(const struct cv_avro_type *reader); /* NULL accepts everything */

/* Where the value of a name comes from. */
struct cv_plan_source {
    const struct cv_avro_field *writer_field; /* NULL = not written */
    const struct cv_avro_field *reader_field; /* NULL without a reader, or unknown to it */
    bool ambiguous;
};

struct cv_plan_source cv_plan_find_source(const struct cv_avro_type *writer,
                                          const struct cv_avro_type *reader, const char *name,
                                          bool case_sensitive);
/* Encodes a JSON default by its type; false when it does not fit. */
bool cv_plan_encode_default(const struct cv_avro_type *type, const struct cv_json *json,
                            struct cv_buf *out, unsigned depth);

#endif
