/* SPDX-License-Identifier: Apache-2.0
 *
 * The text of a condition. What parses can be asked of rows and of bounds: a row that matches lies
 * in a set of rows that may match. */
#include "fuzz.h"

#include "schema/predicate.h"

#include <stdlib.h>

static const char columns[] =
    "i int, l long NOT NULL, f float, d double, dec decimal(9,2), day date, "
    "ts timestamp_ntz, tz timestamp, s string, u uuid, b binary, "
    "flag boolean, st struct<a:int NOT NULL>, li array<int>";

/* Every column has the value of all zero bytes. */
static struct cv_value zero_of(void *context, const struct cv_field *field)
{
    static const char bytes[16];
    struct cv_value value = {.kind = field->type.kind};

    (void)context;
    if (value.kind == CV_TYPE_STRING || value.kind == CV_TYPE_BINARY || value.kind == CV_TYPE_UUID)
        value.bytes = (struct cv_str){bytes, value.kind == CV_TYPE_UUID ? 16 : 0};
    return value;
}

static bool zero_column(void *context, const struct cv_field *field,
                        struct cv_predicate_column *ret_column)
{
    struct cv_value value = zero_of(context, field);

    *ret_column = (struct cv_predicate_column){1, 0, 0, value, value};
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_error err = CV_ERROR_INIT;
    const struct cv_predicate *predicate;
    struct cv_schema schema;
    const char *text = cv_arena_strndup(&arena, (const char *)data, size);

    if (cv_schema_read_ddl(columns, &arena, &schema, &err) != CV_OK)
        abort();
    if (cv_predicate_parse(text, &schema, &arena, &predicate, &err) == CV_OK) {
        if (cv_predicate_matches(predicate, zero_of, NULL) &&
            !cv_predicate_may_match(predicate, zero_column, NULL))
            abort();
    } else if (err.message[0] == '\0') {
        abort();
    }
    cv_arena_release(&arena);
    return 0;
}
