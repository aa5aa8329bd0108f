/* SPDX-License-Identifier: Apache-2.0
 *
 * Inside the reader of DuckDB's JSON. A message of cv_ast_fail() begins with line and column. */
#ifndef CALVE_SQL_AST_INT_H
#define CALVE_SQL_AST_INT_H

#include "codec/json.h"
#include "sql/ast.h"

struct cv_ast_reader {
    struct cv_arena *arena;
    const struct cv_sql_text *text;
    unsigned depth;
};

/* query_location of a node; `otherwise` when DuckDB gives none. */
size_t cv_ast_position(const struct cv_ast_reader *reader, const struct cv_json *node,
                       size_t otherwise);
enum cv_code cv_ast_fail(const struct cv_ast_reader *reader, size_t position, enum cv_code code,
                         struct cv_error *err, const char *format, ...) CV_PRINTF(5, 6);

/* `around` is the position of the node around it. NULL and JSON null give NULL. */
enum cv_code cv_ast_read_expr(struct cv_ast_reader *reader, const struct cv_json *json,
                              size_t around, const struct cv_ast **ret_ast, struct cv_error *err);
enum cv_code cv_ast_read_exprs(struct cv_ast_reader *reader, const struct cv_json *array,
                               size_t around, const struct cv_ast *const **ret_items,
                               size_t *ret_count, struct cv_error *err);
enum cv_code cv_ast_read_query(struct cv_ast_reader *reader, const struct cv_json *node,
                               size_t around, const struct cv_ast_query **ret_query,
                               struct cv_error *err);
/* The array of texts under this key; "" for what is no text. */
const char *const *cv_ast_names(struct cv_ast_reader *reader, const struct cv_json *object,
                                const char *key, size_t *ret_count);
/* The text under this key in the arena; NULL when absent or empty. */
const char *cv_ast_word(struct cv_ast_reader *reader, const struct cv_json *object,
                        const char *key);
/* A type as CAST has it, with Spark's meaning of the word (TIMESTAMP = timestamptz). False with the
 * word, when Iceberg has no such type. */
bool cv_ast_read_type(struct cv_ast_reader *reader, const struct cv_json *json,
                      struct cv_type *ret_type, const char **ret_word);

#endif
