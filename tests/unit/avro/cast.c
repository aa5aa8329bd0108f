/* SPDX-License-Identifier: Apache-2.0
 *
 * CAST and TRY_CAST inside a plan. What each cast gives is tested in schema/cast.c. */
#include "avro_test.h"

#define ONE(type) RECORD("R", FIELD("a", type))

static void cast_one(const char *type, const char *ddl, const char *hex, const char *row)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, type, NULL, ddl, "CAST a", true), &t.err);
    check_row(&t, hex, row);
    plan_test_release(&t);
}

static void casts_text_to_decimals(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(
        plan_test_compile(&t, ONE(NULLABLE(STRING)), NULL, "a decimal(10,2)", "CAST a", true),
        &t.err);
    check_row(&t, "02 0a 3132302e35", "{a: 120.50}");
    check_row(&t, "02 02 37", "{a: 7.00}");
    check_row(&t, "02 0a 2d302e3031", "{a: -0.01}");
    check_row(&t, "02 16 39393939393939392e3939", "{a: 99999999.99}");
    check_row(&t, "02 0a 302e303035", "{a: 0.01}"); /* rounds half up */
    check_row(&t, "02 08 20312e32", "{a: 1.20}");   /* a blank in front */
    check_row(&t, "02 06 316532", "{a: 100.00}");   /* 1e2 */
    check_row(&t, "02 0a 2b312e3235", "{a: 1.25}"); /* +1.25 */
    check_row(&t, "00", "{a: null}");
    check_bad(&t, "02 00", "a", "cannot be cast");
    check_bad(&t, "02 02 2d", "a", "cannot be cast");
    check_bad(&t, "02 06 312e78", "a", "\"1.x\" cannot be cast to decimal(10, 2)");
    check_bad(&t, "02 12 313233343536373839", "a", "cannot be cast"); /* 123456789 */
    check_bad(&t, "02 04 ffff", "a", "");
    plan_test_release(&t);
}

static void casts_text_to_a_wider_column(void **state)
{
    struct plan_test t;

    CV_ASSERT_FAILS(plan_test_compile(&t, ONE(STRING), NULL, "a decimal(30,2)", NULL, true),
                    CV_SCHEMA, "string cannot be written", &t.err);
    t.targets[0].cast = CV_AVRO_CAST;
    t.targets[0].cast_type = (struct cv_type){.kind = CV_TYPE_DECIMAL, .precision = 10, .scale = 2};
    CV_ASSERT_OK(
        cv_avro_plan_compile(t.writer->root, NULL, &t.table, t.targets, 1, true, &t.plan, &t.err),
        &t.err);
    check_row(&t, "04 2d31", "{a: -1.00}");
    plan_test_release(&t);
}

static void try_cast_gives_null(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, ONE(STRING), NULL, "a decimal(10,2)", "TRY a", true),
                 &t.err);
    check_row(&t, "02 37", "{a: 7.00}");
    check_row(&t, "02 78", "{a: null}");
    plan_test_release(&t);
    CV_ASSERT_OK(plan_test_compile(&t, ONE(STRING), NULL, "a int NOT NULL", "TRY a", true), &t.err);
    check_row(&t, "02 37", "{a: 7}");
    check_bad(&t, "02 78", "a", "and the column is required");
    plan_test_release(&t);
}

static void casts_other_types(void **state)
{
    cast_one(ONE(DOUBLE), "a decimal(10,2)", "9a9999999999f13f", "{a: 1.10}");
    cast_one(ONE(LONG), "a string", "0d", "{a: \"-7\"}");
    cast_one(ONE(LONG), "a timestamp", "02", "{a: 1970-01-01T00:00:01+00:00}");
}

static void same_type_is_no_cast(void **state)
{
    cast_one(ONE(STRING), "a string", "0278", "{a: \"x\"}");
    cast_one(ONE(LOGICAL("long", "timestamp-millis")), "a timestamp", "02",
             "{a: 1970-01-01T00:00:00.001000+00:00}");
}

static void casts_every_branch(void **state)
{
    struct plan_test t;

    CV_ASSERT_OK(plan_test_compile(&t, ONE("[\"null\",\"int\",\"string\",\"bytes\"]"), NULL,
                                   "a bigint", "CAST a", true),
                 &t.err);
    check_row(&t, "02 0e", "{a: 7}");
    check_row(&t, "04 02 38", "{a: 8}");
    check_row(&t, "00", "{a: null}");
    check_bad(&t, "06 02 38", "a", "bytes cannot be cast to long");
    plan_test_release(&t);
}

static void refused_at_once(void **state)
{
    check_refused(ONE(BOOLEAN), NULL, "a date", "CAST a", "boolean cannot be cast to date");
    check_refused(ONE(ARRAY(INT)), NULL, "a string", "CAST a", "array cannot be cast");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_text_to_decimals), cmocka_unit_test(casts_text_to_a_wider_column),
        cmocka_unit_test(try_cast_gives_null),    cmocka_unit_test(casts_other_types),
        cmocka_unit_test(same_type_is_no_cast),   cmocka_unit_test(casts_every_branch),
        cmocka_unit_test(refused_at_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
