/* SPDX-License-Identifier: Apache-2.0
 *
 * What is used of DuckDB's C interface (its header is not needed to build): one row per function,
 * looked up when the library is loaded. All of them are in 1.4 and later. Called as
 * cv_duck_api.vector_get_data(vector), by whoever holds a connection or is called by DuckDB. */
#ifndef CALVE_SQL_DUCK_API_H
#define CALVE_SQL_DUCK_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Handles. */
struct duckdb_database;
struct duckdb_connection;
struct duckdb_config;
struct duckdb_prepared;
struct duckdb_pending;
struct duckdb_chunk;
struct duckdb_vector;
struct duckdb_logical_type;
struct duckdb_table_function;
struct duckdb_scalar_function;
struct duckdb_aggregate_function;
struct duckdb_aggregate_state;
struct duckdb_info; /* of a bind, an init or a call */

struct duckdb_result { /* passed by value; the first fields are DuckDB's business */
    uint64_t unused_columns, unused_rows, unused_changed;
    void *unused_column, *unused_error, *internal;
};

/* A value of VARCHAR and BLOB in a vector: up to 12 bytes within. */
#define CV_DUCK_STRING_INLINE 12
struct duckdb_string {
    uint32_t length;
    union {
        char inlined[CV_DUCK_STRING_INLINE];
        struct {
            char prefix[4];
            const char *ptr;
        } __attribute__((packed)) out;
    };
};
_Static_assert(sizeof(struct duckdb_string) == 16, "duckdb_string_t");

static inline const char *cv_duck_string_bytes(const struct duckdb_string *string)
{
    return string->length <= CV_DUCK_STRING_INLINE ? string->inlined : string->out.ptr;
}

struct duckdb_list_entry { /* a value of LIST and MAP in a vector */
    uint64_t offset, length;
};

enum duckdb_type {
    DUCKDB_BOOLEAN = 1,
    DUCKDB_TINYINT = 2,
    DUCKDB_SMALLINT = 3,
    DUCKDB_INTEGER = 4,
    DUCKDB_BIGINT = 5,
    DUCKDB_UBIGINT = 9,
    DUCKDB_FLOAT = 10,
    DUCKDB_DOUBLE = 11,
    DUCKDB_TIMESTAMP = 12,
    DUCKDB_DATE = 13,
    DUCKDB_TIME = 14,
    DUCKDB_INTERVAL = 15,
    DUCKDB_HUGEINT = 16,
    DUCKDB_VARCHAR = 17,
    DUCKDB_BLOB = 18,
    DUCKDB_DECIMAL = 19,
    DUCKDB_LIST = 24,
    DUCKDB_STRUCT = 25,
    DUCKDB_MAP = 26,
    DUCKDB_ANY = 34,
};

typedef void (*duckdb_delete_callback)(void *data);
typedef void (*duckdb_table_callback)(struct duckdb_info *info);
typedef void (*duckdb_table_main)(struct duckdb_info *info, struct duckdb_chunk *output);
typedef void (*duckdb_scalar_main)(struct duckdb_info *info, struct duckdb_chunk *input,
                                   struct duckdb_vector *output);
typedef uint64_t (*duckdb_aggregate_size)(struct duckdb_info *info);
typedef void (*duckdb_aggregate_init)(struct duckdb_info *info,
                                      struct duckdb_aggregate_state *state);
typedef void (*duckdb_aggregate_update)(struct duckdb_info *info, struct duckdb_chunk *input,
                                        struct duckdb_aggregate_state **states);
typedef void (*duckdb_aggregate_combine)(struct duckdb_info *info,
                                         struct duckdb_aggregate_state **source,
                                         struct duckdb_aggregate_state **target, uint64_t count);
typedef void (*duckdb_aggregate_finalize)(struct duckdb_info *info,
                                          struct duckdb_aggregate_state **source,
                                          struct duckdb_vector *result, uint64_t count,
                                          uint64_t offset);
typedef void (*duckdb_aggregate_destroy)(struct duckdb_aggregate_state **states, uint64_t count);

/* Type, name without its duckdb_, parameters. A function that returns int gives 0 for success. */
/* clang-format off */
#define CV_DUCK_API(X) \
    X(const char *, library_version, (void)) \
    X(void *, malloc, (size_t size)) \
    X(void, free, (void *pointer)) \
    X(uint64_t, vector_size, (void)) \
    /* database and connection */ \
    X(int, create_config, (struct duckdb_config **ret)) \
    X(int, set_config, (struct duckdb_config *config, const char *name, const char *value)) \
    X(void, destroy_config, (struct duckdb_config **config)) \
    X(int, open_ext, (const char *path, struct duckdb_database **ret, \
                      struct duckdb_config *config, char **ret_error)) \
    X(void, close, (struct duckdb_database **database)) \
    X(int, connect, (struct duckdb_database *database, struct duckdb_connection **ret)) \
    X(void, disconnect, (struct duckdb_connection **connection)) \
    X(void, interrupt, (struct duckdb_connection *connection)) \
    /* queries */ \
    X(int, query, (struct duckdb_connection *connection, const char *sql, \
                   struct duckdb_result *ret)) \
    X(void, destroy_result, (struct duckdb_result *result)) \
    X(const char *, result_error, (struct duckdb_result *result)) \
    X(uint64_t, column_count, (struct duckdb_result *result)) \
    X(struct duckdb_logical_type *, column_logical_type, (struct duckdb_result *result, \
                                                          uint64_t column)) \
    X(struct duckdb_chunk *, fetch_chunk, (struct duckdb_result result)) \
    X(int, prepare, (struct duckdb_connection *connection, const char *sql, \
                     struct duckdb_prepared **ret)) \
    X(void, destroy_prepare, (struct duckdb_prepared **prepared)) \
    X(const char *, prepare_error, (struct duckdb_prepared *prepared)) \
    X(uint64_t, nparams, (struct duckdb_prepared *prepared)) \
    X(uint64_t, prepared_statement_column_count, (struct duckdb_prepared *prepared)) \
    X(struct duckdb_logical_type *, prepared_statement_column_logical_type, \
      (struct duckdb_prepared *prepared, uint64_t column)) \
    X(int, clear_bindings, (struct duckdb_prepared *prepared)) \
    X(int, bind_timestamp, (struct duckdb_prepared *prepared, uint64_t index, int64_t value)) \
    X(int, bind_varchar_length, (struct duckdb_prepared *prepared, uint64_t index, \
                                 const char *text, uint64_t length)) \
    X(int, execute_prepared, (struct duckdb_prepared *prepared, struct duckdb_result *ret)) \
    X(int, pending_prepared_streaming, (struct duckdb_prepared *prepared, \
                                        struct duckdb_pending **ret)) \
    X(const char *, pending_error, (struct duckdb_pending *pending)) \
    X(int, execute_pending, (struct duckdb_pending *pending, struct duckdb_result *ret)) \
    X(void, destroy_pending, (struct duckdb_pending **pending)) \
    /* chunks and vectors */ \
    X(void, destroy_data_chunk, (struct duckdb_chunk **chunk)) \
    X(uint64_t, data_chunk_get_size, (struct duckdb_chunk *chunk)) \
    X(void, data_chunk_set_size, (struct duckdb_chunk *chunk, uint64_t size)) \
    X(uint64_t, data_chunk_get_column_count, (struct duckdb_chunk *chunk)) \
    X(struct duckdb_vector *, data_chunk_get_vector, (struct duckdb_chunk *chunk, \
                                                      uint64_t column)) \
    X(struct duckdb_logical_type *, vector_get_column_type, (struct duckdb_vector *vector)) \
    X(void *, vector_get_data, (struct duckdb_vector *vector)) \
    X(uint64_t *, vector_get_validity, (struct duckdb_vector *vector)) \
    X(void, vector_ensure_validity_writable, (struct duckdb_vector *vector)) \
    X(void, vector_assign_string_element_len, (struct duckdb_vector *vector, uint64_t index, \
                                               const char *text, uint64_t length)) \
    X(struct duckdb_vector *, list_vector_get_child, (struct duckdb_vector *vector)) \
    X(uint64_t, list_vector_get_size, (struct duckdb_vector *vector)) \
    X(int, list_vector_set_size, (struct duckdb_vector *vector, uint64_t size)) \
    X(int, list_vector_reserve, (struct duckdb_vector *vector, uint64_t capacity)) \
    X(struct duckdb_vector *, struct_vector_get_child, (struct duckdb_vector *vector, \
                                                        uint64_t index)) \
    /* types */ \
    X(struct duckdb_logical_type *, create_logical_type, (int type)) \
    X(struct duckdb_logical_type *, create_decimal_type, (uint8_t width, uint8_t scale)) \
    X(struct duckdb_logical_type *, create_list_type, (struct duckdb_logical_type *element)) \
    X(struct duckdb_logical_type *, create_map_type, (struct duckdb_logical_type *key, \
                                                      struct duckdb_logical_type *value)) \
    X(struct duckdb_logical_type *, create_struct_type, (struct duckdb_logical_type **members, \
                                                         const char **names, uint64_t count)) \
    X(void, destroy_logical_type, (struct duckdb_logical_type **type)) \
    X(int, get_type_id, (struct duckdb_logical_type *type)) \
    X(uint8_t, decimal_width, (struct duckdb_logical_type *type)) \
    X(uint8_t, decimal_scale, (struct duckdb_logical_type *type)) \
    X(int, decimal_internal_type, (struct duckdb_logical_type *type)) \
    X(struct duckdb_logical_type *, list_type_child_type, (struct duckdb_logical_type *type)) \
    X(struct duckdb_logical_type *, map_type_key_type, (struct duckdb_logical_type *type)) \
    X(struct duckdb_logical_type *, map_type_value_type, (struct duckdb_logical_type *type)) \
    X(uint64_t, struct_type_child_count, (struct duckdb_logical_type *type)) \
    X(char *, struct_type_child_name, (struct duckdb_logical_type *type, uint64_t index)) \
    X(struct duckdb_logical_type *, struct_type_child_type, (struct duckdb_logical_type *type, \
                                                             uint64_t index)) \
    /* table functions */ \
    X(struct duckdb_table_function *, create_table_function, (void)) \
    X(void, destroy_table_function, (struct duckdb_table_function **function)) \
    X(void, table_function_set_name, (struct duckdb_table_function *function, const char *name)) \
    X(void, table_function_set_extra_info, (struct duckdb_table_function *function, void *extra, \
                                            duckdb_delete_callback destroy)) \
    X(void, table_function_set_bind, (struct duckdb_table_function *function, \
                                      duckdb_table_callback bind)) \
    X(void, table_function_set_init, (struct duckdb_table_function *function, \
                                      duckdb_table_callback init)) \
    X(void, table_function_set_function, (struct duckdb_table_function *function, \
                                          duckdb_table_main call)) \
    X(void, table_function_supports_projection_pushdown, (struct duckdb_table_function *function, \
                                                          bool pushdown)) \
    X(int, register_table_function, (struct duckdb_connection *connection, \
                                     struct duckdb_table_function *function)) \
    X(void *, bind_get_extra_info, (struct duckdb_info *info)) \
    X(void, bind_add_result_column, (struct duckdb_info *info, const char *name, \
                                     struct duckdb_logical_type *type)) \
    X(void, bind_set_cardinality, (struct duckdb_info *info, uint64_t rows, bool exact)) \
    X(void *, init_get_extra_info, (struct duckdb_info *info)) \
    X(void, init_set_init_data, (struct duckdb_info *info, void *data, \
                                 duckdb_delete_callback destroy)) \
    X(uint64_t, init_get_column_count, (struct duckdb_info *info)) \
    X(uint64_t, init_get_column_index, (struct duckdb_info *info, uint64_t index)) \
    X(void, init_set_max_threads, (struct duckdb_info *info, uint64_t threads)) \
    X(void *, function_get_init_data, (struct duckdb_info *info)) \
    X(void, function_set_error, (struct duckdb_info *info, const char *text)) \
    /* scalar functions */ \
    X(struct duckdb_scalar_function *, create_scalar_function, (void)) \
    X(void, destroy_scalar_function, (struct duckdb_scalar_function **function)) \
    X(void, scalar_function_set_name, (struct duckdb_scalar_function *function, const char *name)) \
    X(void, scalar_function_set_special_handling, (struct duckdb_scalar_function *function)) \
    X(void, scalar_function_set_volatile, (struct duckdb_scalar_function *function)) \
    X(void, scalar_function_add_parameter, (struct duckdb_scalar_function *function, \
                                            struct duckdb_logical_type *type)) \
    X(void, scalar_function_set_varargs, (struct duckdb_scalar_function *function, \
                                          struct duckdb_logical_type *type)) \
    X(void, scalar_function_set_return_type, (struct duckdb_scalar_function *function, \
                                              struct duckdb_logical_type *type)) \
    X(void, scalar_function_set_extra_info, (struct duckdb_scalar_function *function, void *extra, \
                                             duckdb_delete_callback destroy)) \
    X(void, scalar_function_set_function, (struct duckdb_scalar_function *function, \
                                           duckdb_scalar_main call)) \
    X(int, register_scalar_function, (struct duckdb_connection *connection, \
                                      struct duckdb_scalar_function *function)) \
    X(void *, scalar_function_get_extra_info, (struct duckdb_info *info)) \
    X(void, scalar_function_set_error, (struct duckdb_info *info, const char *text)) \
    /* aggregate functions */ \
    X(struct duckdb_aggregate_function *, create_aggregate_function, (void)) \
    X(void, destroy_aggregate_function, (struct duckdb_aggregate_function **function)) \
    X(void, aggregate_function_set_name, (struct duckdb_aggregate_function *function, \
                                          const char *name)) \
    X(void, aggregate_function_add_parameter, (struct duckdb_aggregate_function *function, \
                                               struct duckdb_logical_type *type)) \
    X(void, aggregate_function_set_return_type, (struct duckdb_aggregate_function *function, \
                                                 struct duckdb_logical_type *type)) \
    X(void, aggregate_function_set_functions, (struct duckdb_aggregate_function *function, \
                                               duckdb_aggregate_size size, \
                                               duckdb_aggregate_init init, \
                                               duckdb_aggregate_update update, \
                                               duckdb_aggregate_combine combine, \
                                               duckdb_aggregate_finalize finalize)) \
    X(void, aggregate_function_set_destructor, (struct duckdb_aggregate_function *function, \
                                                duckdb_aggregate_destroy destroy)) \
    X(void, aggregate_function_set_special_handling, (struct duckdb_aggregate_function *function)) \
    X(void, aggregate_function_set_extra_info, (struct duckdb_aggregate_function *function, \
                                                void *extra, duckdb_delete_callback destroy)) \
    X(int, register_aggregate_function, (struct duckdb_connection *connection, \
                                         struct duckdb_aggregate_function *function)) \
    X(void *, aggregate_function_get_extra_info, (struct duckdb_info *info)) \
    X(void, aggregate_function_set_error, (struct duckdb_info *info, const char *text))
/* clang-format on */

struct cv_duck_api {
#define CV_DUCK_FIELD(result, name, parameters) result(*name) parameters;
    CV_DUCK_API(CV_DUCK_FIELD)
#undef CV_DUCK_FIELD
};

/* Filled by the first cv_duck_open(), the same for the process from then on. */
extern struct cv_duck_api cv_duck_api;

#endif
