/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro's logical types, and the search for cycles. */
#include "codec/avro_schema_int.h"

#include "base/map.h"

/* Records inside records by name; a longer chain is treated as a cycle. */
#define CYCLE_DEPTH_MAX 1000

static const struct {
    const char *name;
    enum cv_avro_logical logical;
    enum cv_avro_kind kind; /* the type it stands on; decimal and uuid have two */
} logical_types[] = {
    {"decimal", CV_AVRO_LOGICAL_DECIMAL, CV_AVRO_BYTES},
    {"decimal", CV_AVRO_LOGICAL_DECIMAL, CV_AVRO_FIXED},
    {"big-decimal", CV_AVRO_LOGICAL_BIG_DECIMAL, CV_AVRO_BYTES},
    {"uuid", CV_AVRO_LOGICAL_UUID, CV_AVRO_STRING},
    {"uuid", CV_AVRO_LOGICAL_UUID, CV_AVRO_FIXED},
    {"date", CV_AVRO_LOGICAL_DATE, CV_AVRO_INT},
    {"time-millis", CV_AVRO_LOGICAL_TIME_MILLIS, CV_AVRO_INT},
    {"time-micros", CV_AVRO_LOGICAL_TIME_MICROS, CV_AVRO_LONG},
    {"timestamp-millis", CV_AVRO_LOGICAL_TIMESTAMP_MILLIS, CV_AVRO_LONG},
    {"timestamp-micros", CV_AVRO_LOGICAL_TIMESTAMP_MICROS, CV_AVRO_LONG},
    {"timestamp-nanos", CV_AVRO_LOGICAL_TIMESTAMP_NANOS, CV_AVRO_LONG},
    {"local-timestamp-millis", CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MILLIS, CV_AVRO_LONG},
    {"local-timestamp-micros", CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_MICROS, CV_AVRO_LONG},
    {"local-timestamp-nanos", CV_AVRO_LOGICAL_LOCAL_TIMESTAMP_NANOS, CV_AVRO_LONG},
    {"duration", CV_AVRO_LOGICAL_DURATION, CV_AVRO_FIXED},
    {"map", CV_AVRO_LOGICAL_MAP, CV_AVRO_ARRAY},
};

const char *cv_avro_logical_name(enum cv_avro_logical logical)
{
    for (size_t i = 0; i < CV_ARRAY_LENGTH(logical_types); i++)
        if (logical_types[i].logical == logical)
            return logical_types[i].name;
    return "none";
}

/* Most digits that always fit `size` bytes of two's complement: floor(log10(2^(8 size - 1) - 1)).
 */
static int64_t fixed_digits_max(uint32_t size)
{
    if (size == 0)
        return 0;
    if (size > 1000)
        return INT32_MAX;
    return (int64_t)((8.0 * size - 1) * 0.30102999566398119521);
}

static bool decimal_fits(const struct cv_json *json, struct cv_avro_type *type)
{
    int64_t precision = 0;
    int64_t scale = 0;

    if (cv_json_optional_i64(json, "precision", &precision, NULL) != CV_OK ||
        cv_json_optional_i64(json, "scale", &scale, NULL) != CV_OK)
        return false;
    if (precision < 1 || precision > INT32_MAX || scale < 0 || scale > precision)
        return false;
    if (type->kind == CV_AVRO_FIXED && precision > fixed_digits_max(type->size))
        return false;
    type->precision = (int32_t)precision;
    type->scale = (int32_t)scale;
    return true;
}

static bool map_fits(const struct cv_avro_type *type)
{
    const struct cv_avro_type *items = type->items;

    return items->kind == CV_AVRO_RECORD && items->field_count == 2 &&
           strcmp(items->fields[0].name, "key") == 0 && strcmp(items->fields[1].name, "value") == 0;
}

static bool fits(const struct cv_json *json, struct cv_avro_type *type,
                 enum cv_avro_logical logical)
{
    switch (logical) {
    case CV_AVRO_LOGICAL_DECIMAL:
        return decimal_fits(json, type);
    case CV_AVRO_LOGICAL_UUID:
        return type->kind == CV_AVRO_STRING || type->size == 16;
    case CV_AVRO_LOGICAL_DURATION:
        return type->size == 12;
    case CV_AVRO_LOGICAL_MAP:
        return map_fits(type);
    default:
        return true;
    }
}

void cv_avro_read_logical(const struct cv_json *json, struct cv_avro_type *type)
{
    const struct cv_json *name = cv_json_get(json, "logicalType");

    if (cv_json_is_bool(cv_json_get(json, "adjust-to-utc")))
        type->adjust_to_utc = cv_json_bool(cv_json_get(json, "adjust-to-utc"));
    if (!cv_json_is_string(name))
        return;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(logical_types); i++)
        if (logical_types[i].kind == type->kind &&
            strcmp(logical_types[i].name, cv_json_text(name)) == 0 &&
            fits(json, type, logical_types[i].logical))
            type->logical = logical_types[i].logical;
}

/* The search keeps the records it stands in (`open`) apart from those known to be free of cycles
 * (`done`), so that a type used at many places is walked once. */
struct search {
    struct cv_map open;
    struct cv_map done;
    struct cv_arena *arena;
    unsigned depth;
};

static const char *find_cycle(struct search *search, const struct cv_avro_type *type,
                              const char *path);

static const char *find_in_fields(struct search *search, const struct cv_avro_type *type,
                                  const char *path)
{
    for (size_t i = 0; i < type->field_count; i++) {
        const char *below = cv_arena_printf(search->arena, "%s.%s", path, type->fields[i].name);
        const char *cycle = find_cycle(search, type->fields[i].type, below);

        if (cycle)
            return cycle;
    }
    return NULL;
}

static const char *find_in_record(struct search *search, const struct cv_avro_type *type,
                                  const char *path)
{
    const char *dot = strrchr(type->name, '.');
    const char *name = dot ? dot + 1 : type->name;
    const char *cycle;
    static char present;

    path = *path ? cv_arena_printf(search->arena, "%s.%s", path, name) : name;
    if (cv_map_get(&search->open, &type, sizeof type) || search->depth == CYCLE_DEPTH_MAX)
        return cv_arena_strdup(search->arena, path);
    if (cv_map_has(&search->done, &type, sizeof type))
        return NULL;
    (void)cv_map_set(&search->open, &type, sizeof type, &present);
    search->depth++;
    cycle = find_in_fields(search, type, path);
    search->depth--;
    if (cycle)
        return cycle;
    (void)cv_map_set(&search->open, &type, sizeof type, NULL);
    (void)cv_map_set(&search->done, &type, sizeof type, &present);
    return NULL;
}

static const char *find_cycle(struct search *search, const struct cv_avro_type *type,
                              const char *path)
{
    const char *cycle = NULL;

    switch (type->kind) {
    case CV_AVRO_RECORD:
        return find_in_record(search, type, path);
    case CV_AVRO_UNION:
        for (size_t i = 0; i < type->branch_count && !cycle; i++)
            cycle = find_cycle(search, type->branches[i], path);
        return cycle;
    case CV_AVRO_ARRAY:
    case CV_AVRO_MAP:
        return find_cycle(search, type->items, path);
    default:
        return NULL;
    }
}

const char *cv_avro_schema_cycle(const struct cv_avro_type *type, struct cv_arena *arena)
{
    struct search search = {.arena = arena};
    const char *cycle = find_cycle(&search, type, "");

    cv_map_release(&search.open);
    cv_map_release(&search.done);
    return cycle;
}
