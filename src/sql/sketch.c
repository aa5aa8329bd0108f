/* SPDX-License-Identifier: Apache-2.0
 *
 * approx_count_distinct as Spark has it: HyperLogLog++ with 512 registers (a deviation of 0.05),
 * over XXH64 with seed 42 of the value. A sketch is a byte per register; two are merged by the
 * larger of each. */
#include "codec/hash.h"
#include "sql/duck_int.h"
#include "sql/function_int.h"
#include "sql/sketch_tables.h"

#include <math.h>
#include <stdio.h>

#define BITS        9
#define THRESHOLD   400 /* up to which zeros are counted instead */
#define NEIGHBOURS  6
#define HASH_SEED   42
#define BATCH_STATE struct duckdb_aggregate_state

static uint64_t hash_int(int32_t value, uint64_t seed)
{
    return XXH64(&value, sizeof value, seed);
}

static uint64_t hash_long(int64_t value, uint64_t seed)
{
    return XXH64(&value, sizeof value, seed);
}

static uint64_t hash_double(double value, uint64_t seed)
{
    int64_t bits;

    value = isnan(value) ? NAN : value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof bits);
    return hash_long(bits, seed);
}

static uint64_t hash_float(float value, uint64_t seed)
{
    int32_t bits;

    value = isnan(value) ? NAN : value == 0 ? 0 : value;
    memcpy(&bits, &value, sizeof bits);
    return hash_int(bits, seed);
}

static uint64_t hash_decimal(cv_wide_int value, const struct cv_type *type, uint64_t seed)
{
    uint8_t bytes[16];

    if (type->precision <= 18)
        return hash_long((int64_t)value, seed);
    return XXH64(bytes, cv_decimal_minimal_bytes(value, bytes), seed);
}

uint64_t cv_spark_xxhash64(const struct cv_value *value, const struct cv_type *type, uint64_t seed)
{
    if (value->is_null)
        return seed;
    switch (type->kind) {
    case CV_TYPE_BOOLEAN:
        return hash_int(value->boolean, seed);
    case CV_TYPE_INT:
    case CV_TYPE_DATE:
        return hash_int(value->i32, seed);
    case CV_TYPE_FLOAT:
        return hash_float(value->f32, seed);
    case CV_TYPE_DOUBLE:
        return hash_double(value->f64, seed);
    case CV_TYPE_DECIMAL:
        return hash_decimal(value->decimal, type, seed);
    case CV_TYPE_STRING:
    case CV_TYPE_UUID:
    case CV_TYPE_FIXED:
    case CV_TYPE_BINARY:
        return XXH64(value->bytes.ptr, value->bytes.length, seed);
    default:
        return hash_long(value->i64, seed);
    }
}

/* --- the aggregate --------------------------------------------------------------------------- */

static void add_hash(uint8_t *registers, uint64_t hash)
{
    size_t index = hash >> (64 - BITS);
    uint8_t zeros = (uint8_t)(__builtin_clzll(hash << BITS | UINT64_C(1) << (BITS - 1)) + 1);

    registers[index] = CV_MAX(registers[index], zeros);
}

static uint64_t state_size(struct duckdb_info *info)
{
    (void)info;
    return CV_SKETCH_BYTES;
}

static void state_init(struct duckdb_info *info, BATCH_STATE *state)
{
    (void)info;
    memset((void *)state, 0, CV_SKETCH_BYTES);
}

static void state_update(struct duckdb_info *info, struct duckdb_chunk *input, BATCH_STATE **states)
{
    const struct cv_schema *schema = cv_duck_api.aggregate_function_get_extra_info(info);
    const struct cv_type *type = &schema->root.fields[0].type;
    size_t rows = cv_duck_api.data_chunk_get_size(input);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_batch_builder builder;
    struct cv_batch batch;

    cv_batch_builder_init(&builder, schema);
    if (cv_duck_import(cv_duck_api.data_chunk_get_vector(input, 0), 0, rows, &builder.columns[0],
                       &err) != CV_OK) {
        cv_duck_api.aggregate_function_set_error(info, err.message);
    } else {
        cv_batch_builder_view(&builder, &batch);
        for (size_t i = 0; i < rows; i++)
            if (!cv_column_is_null(&batch.columns[0], i)) {
                struct cv_value value = cv_column_value(&batch.columns[0], i);

                add_hash((uint8_t *)states[i], cv_spark_xxhash64(&value, type, HASH_SEED));
            }
    }
    cv_batch_builder_release(&builder);
}

static void state_combine(struct duckdb_info *info, BATCH_STATE **source, BATCH_STATE **target,
                          uint64_t count)
{
    (void)info;
    for (uint64_t i = 0; i < count; i++) {
        const uint8_t *from = (const uint8_t *)source[i];
        uint8_t *to = (uint8_t *)target[i];

        for (size_t k = 0; k < CV_SKETCH_BYTES; k++)
            to[k] = CV_MAX(to[k], from[k]);
    }
}

static void state_finalize(struct duckdb_info *info, BATCH_STATE **source,
                           struct duckdb_vector *result, uint64_t count, uint64_t offset)
{
    (void)info;
    for (uint64_t i = 0; i < count; i++)
        cv_duck_api.vector_assign_string_element_len(result, offset + i, (const char *)source[i],
                                                     CV_SKETCH_BYTES);
}

static enum cv_code register_sketch(const struct cv_schema *schema, size_t index,
                                    struct cv_duck_connection *connection, struct cv_error *err)
{
    struct duckdb_aggregate_function *function = cv_duck_api.create_aggregate_function();
    struct duckdb_logical_type *argument = cv_duck_logical_type(&schema->root.fields[0].type);
    struct duckdb_logical_type *result = cv_duck_api.create_logical_type(DUCKDB_BLOB);
    char name[32];
    int failed;

    (void)snprintf(name, sizeof name, "calve_sketch_%zu", index);
    cv_duck_api.aggregate_function_set_name(function, name);
    cv_duck_api.aggregate_function_add_parameter(function, argument);
    cv_duck_api.aggregate_function_set_return_type(function, result);
    cv_duck_api.aggregate_function_set_functions(function, state_size, state_init, state_update,
                                                 state_combine, state_finalize);
    cv_duck_api.aggregate_function_set_special_handling(function);
    cv_duck_api.aggregate_function_set_extra_info(function, (void *)schema, NULL);
    failed = cv_duck_api.register_aggregate_function(connection->handle, function);
    cv_duck_api.destroy_logical_type(&argument);
    cv_duck_api.destroy_logical_type(&result);
    cv_duck_api.destroy_aggregate_function(&function);
    if (failed)
        return cv_fail(err, CV_INTERNAL, "DuckDB does not take the aggregate %s", name);
    return CV_OK;
}

enum cv_code cv_sketch_register(const struct cv_natives *natives,
                                struct cv_duck_connection *connection, struct cv_error *err)
{
    for (size_t i = 0; i < natives->sketch_count; i++)
        CV_DO(register_sketch(&natives->sketches[i], i, connection, err));
    return CV_OK;
}

const char *cv_sketch_use(struct cv_natives *natives, const struct cv_type *type)
{
    size_t i = 0;

    while (i < natives->sketch_count &&
           !cv_type_same(&natives->sketches[i].root.fields[0].type, type))
        i++;
    if (i == CV_SKETCHES_MAX)
        return NULL;
    if (i == natives->sketch_count)
        natives->sketches[i] = cv_native_columns(&natives->arena, type, 1);
    natives->sketch_count = CV_MAX(natives->sketch_count, i + 1);
    return cv_arena_printf(&natives->arena, "calve_sketch_%zu", i);
}

/* --- the estimate ---------------------------------------------------------------------------- */

/* The mean of the biases of the nearest raw estimates. */
static double bias_of(double estimate)
{
    size_t count = CV_ARRAY_LENGTH(raw_estimates);
    size_t nearest = 0;
    size_t low;
    size_t high;
    double sum = 0;

    while (nearest < count && raw_estimates[nearest] < estimate)
        nearest++;
    low = nearest > NEIGHBOURS - 1 ? nearest - (NEIGHBOURS - 1) : 0;
    high = CV_MIN(low + NEIGHBOURS, count);
    while (high < count &&
           fabs(estimate - raw_estimates[high]) < fabs(estimate - raw_estimates[low])) {
        low++;
        high++;
    }
    for (size_t i = low; i < high; i++)
        sum += biases[i];
    return sum / (double)(high - low);
}

int64_t cv_sketch_estimate(const uint8_t registers[CV_SKETCH_BYTES])
{
    const double m = CV_SKETCH_BYTES;
    double inverse = 0;
    double zeros = 0;
    double estimate;

    for (size_t i = 0; i < CV_SKETCH_BYTES; i++) {
        inverse += 1.0 / (double)(UINT64_C(1) << (registers[i] & 63));
        zeros += registers[i] == 0;
    }
    estimate = 0.7213 / (1.0 + 1.079 / m) * m * m / inverse;
    if (zeros > 0) {
        double counted = m * log(m / zeros);

        if (counted <= THRESHOLD || estimate <= 2.5 * m)
            return (int64_t)floor(counted + 0.5);
    }
    if (estimate < 5.0 * m)
        estimate -= bias_of(estimate);
    return (int64_t)floor(estimate + 0.5);
}

static bool native_estimate(struct cv_native_row *row)
{
    if (row->in[0].bytes.length != CV_SKETCH_BYTES)
        return cv_native_fail(row, "approx_count_distinct: the sketch is damaged");
    row->out.i64 = cv_sketch_estimate((const uint8_t *)row->in[0].bytes.ptr);
    return true;
}

const char *cv_sketch_finish(struct cv_natives *natives)
{
    const struct cv_type binary = CV_PLAIN(BINARY);
    const struct cv_type *arguments[1] = {&binary};

    return cv_native_use(natives,
                         &(struct cv_native){.call = native_estimate, .result = CV_PLAIN(LONG)},
                         arguments, 1)
        ->name;
}
