/* SPDX-License-Identifier: Apache-2.0
 *
 * Which deletes apply to which data file: the rules of the spec's Scan Planning one by one. */
#include "iceberg/delete_index.h"
#include "test.h"

#include <math.h>

#define FILES_MAX 16

struct fixture {
    struct cv_arena arena;
    struct cv_table_metadata *metadata;
    struct cv_partition_spec specs[2]; /* 0: identity(p), 1: unpartitioned */
    struct cv_manifest_entry entries[FILES_MAX];
    const struct cv_manifest_entry *deletes[FILES_MAX];
    size_t count;
};

static int set_up(void **state)
{
    struct fixture *f = cv_alloc(sizeof *f);
    struct cv_error err = CV_ERROR_INIT;
    struct cv_schema schema;

    CV_ASSERT_OK(cv_schema_read_ddl("id bigint, p double, name string", &f->arena, &schema, &err),
                 &err);
    CV_ASSERT_OK(cv_partition_spec_read_ddl("p", &schema, &f->arena, &f->specs[0], &err), &err);
    CV_ASSERT_OK(cv_table_metadata_create(
                     &(struct cv_table_create){"file:///t", &schema, &f->specs[0], NULL},
                     &f->metadata, &err),
                 &err);
    f->specs[0] = f->metadata->specs[0];
    f->specs[1] = (struct cv_partition_spec){.spec_id = 1};
    f->metadata->specs = f->specs;
    f->metadata->spec_count = 2;
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;

    cv_arena_release(&f->arena);
    cv_table_metadata_free(f->metadata);
    free(f);
    return 0;
}

static struct cv_manifest_entry entry_of(struct fixture *f, enum cv_file_content content,
                                         const char *path, int64_t sequence, int32_t spec_id,
                                         double p)
{
    struct cv_value *tuple = cv_arena_array(&f->arena, struct cv_value, 1);

    *tuple = (struct cv_value){.kind = CV_TYPE_DOUBLE, .f64 = p};
    return (struct cv_manifest_entry){
        .sequence_number = sequence,
        .file = {.content = content, .path = path, .spec_id = spec_id, .partition = tuple}};
}

static struct cv_manifest_entry *add(struct fixture *f, enum cv_file_content content,
                                     const char *path, int64_t sequence, int32_t spec_id, double p)
{
    struct cv_manifest_entry *entry = &f->entries[f->count];

    *entry = entry_of(f, content, path, sequence, spec_id, p);
    f->deletes[f->count++] = entry;
    return entry;
}

static void set_bounds(struct fixture *f, struct cv_manifest_entry *entry, int32_t id,
                       const char *lower, const char *upper)
{
    struct cv_column_metrics *column = cv_arena_new(&f->arena, struct cv_column_metrics);

    *column = (struct cv_column_metrics){.field_id = id,
                                         .value_count = 10,
                                         .null_count = 0,
                                         .nan_count = -1,
                                         .lower = cv_str_from(lower),
                                         .upper = cv_str_from(upper)};
    entry->file.metrics.columns = column;
    entry->file.metrics.column_count = 1;
}

/* The paths of the deletes that apply, joined. */
static const char *found(struct fixture *f, const struct cv_manifest_entry *data)
{
    static char text[256];
    CV_CLEANUP(cv_delete_index_freep)
    struct cv_delete_index *index = cv_delete_index_new(f->deletes, f->count, f->metadata);
    const struct cv_manifest_entry *const *deletes;
    size_t count;

    cv_delete_index_find(index, data, &f->arena, &deletes, &count);
    text[0] = '\0';
    for (size_t i = 0; i < count; i++)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s ",
                       deletes[i]->file.path);
    return text;
}

static void sequence_numbers_decide(void **state)
{
    struct fixture *f = *state;
    struct cv_manifest_entry data = entry_of(f, CV_CONTENT_DATA, "d", 5, 0, 1);

    add(f, CV_CONTENT_POSITION_DELETES, "p6", 6, 0, 1);
    add(f, CV_CONTENT_POSITION_DELETES, "p5", 5, 0, 1);
    add(f, CV_CONTENT_POSITION_DELETES, "p4", 4, 0, 1);
    add(f, CV_CONTENT_EQUALITY_DELETES, "e6", 6, 0, 1);
    add(f, CV_CONTENT_EQUALITY_DELETES, "e5", 5, 0, 1);
    add(f, CV_CONTENT_EQUALITY_DELETES, "g6", 6, 1, 0);
    add(f, CV_CONTENT_EQUALITY_DELETES, "g5", 5, 1, 0);
    assert_string_equal(found(f, &data), "g6 e6 p5 p6 ");
}

static void partition_and_spec_must_be_the_same(void **state)
{
    struct fixture *f = *state;
    struct cv_manifest_entry data = entry_of(f, CV_CONTENT_DATA, "d", 1, 0, 1);
    struct cv_manifest_entry nan = entry_of(f, CV_CONTENT_DATA, "d", 1, 0, -(double)NAN);
    struct cv_manifest_entry zero = entry_of(f, CV_CONTENT_DATA, "d", 1, 0, 0.0);
    struct cv_manifest_entry none = entry_of(f, CV_CONTENT_DATA, "d", 1, 1, 0);

    add(f, CV_CONTENT_POSITION_DELETES, "one", 2, 0, 1);
    add(f, CV_CONTENT_EQUALITY_DELETES, "two", 2, 0, 2);
    add(f, CV_CONTENT_POSITION_DELETES, "nan", 2, 0, (double)NAN);
    add(f, CV_CONTENT_POSITION_DELETES, "minus-zero", 2, 0, -0.0);
    add(f, CV_CONTENT_POSITION_DELETES, "unpartitioned", 2, 1, 0);
    add(f, CV_CONTENT_EQUALITY_DELETES, "global", 2, 1, 0);
    assert_string_equal(found(f, &data), "global one ");
    assert_string_equal(found(f, &nan), "global nan ");
    assert_string_equal(found(f, &zero), "global ");
    assert_string_equal(found(f, &none), "global unpartitioned ");
}

static void files_named_by_position_deletes(void **state)
{
    struct fixture *f = *state;
    struct cv_manifest_entry data = entry_of(f, CV_CONTENT_DATA, "file:/b", 1, 0, 1);

    add(f, CV_CONTENT_POSITION_DELETES, "named", 1, 0, 1)->file.referenced_data_file = "file:/b";
    add(f, CV_CONTENT_POSITION_DELETES, "other", 1, 0, 1)->file.referenced_data_file = "file:/c";
    set_bounds(f, add(f, CV_CONTENT_POSITION_DELETES, "same", 1, 0, 1), CV_DELETE_FILE_PATH_ID,
               "file:/b", "file:/b");
    set_bounds(f, add(f, CV_CONTENT_POSITION_DELETES, "around", 1, 0, 1), CV_DELETE_FILE_PATH_ID,
               "file:/a", "file:/c");
    set_bounds(f, add(f, CV_CONTENT_POSITION_DELETES, "behind", 1, 0, 1), CV_DELETE_FILE_PATH_ID,
               "file:/c", "file:/d");
    add(f, CV_CONTENT_POSITION_DELETES, "unknown", 1, 0, 1);
    assert_string_equal(found(f, &data), "around unknown named same ");
    assert_string_equal(cv_delete_file_target(&f->entries[0].file, &f->arena), "file:/b");
    assert_string_equal(cv_delete_file_target(&f->entries[2].file, &f->arena), "file:/b");
    assert_null(cv_delete_file_target(&f->entries[3].file, &f->arena));
    assert_null(cv_delete_file_target(&f->entries[5].file, &f->arena));
}

static void bounds_rule_out_equality_deletes(void **state)
{
    struct fixture *f = *state;
    static const int32_t by_name[] = {3};
    struct cv_manifest_entry data = entry_of(f, CV_CONTENT_DATA, "d", 1, 0, 1);
    struct cv_manifest_entry *near, *far;

    set_bounds(f, &data, 3, "b", "d");
    near = add(f, CV_CONTENT_EQUALITY_DELETES, "near", 2, 0, 1);
    far = add(f, CV_CONTENT_EQUALITY_DELETES, "far", 2, 0, 1);
    near->file.equality_ids = far->file.equality_ids = by_name;
    near->file.equality_count = far->file.equality_count = 1;
    set_bounds(f, near, 3, "d", "z");
    set_bounds(f, far, 3, "e", "z");
    assert_string_equal(found(f, &data), "near ");
    /* with a NULL on both sides the bounds say nothing */
    far->file.metrics.columns[0].null_count = 1;
    assert_string_equal(found(f, &data), "near ");
    data.file.metrics.columns[0].null_count = -1;
    assert_string_equal(found(f, &data), "near far ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sequence_numbers_decide, set_up, tear_down),
        cmocka_unit_test_setup_teardown(partition_and_spec_must_be_the_same, set_up, tear_down),
        cmocka_unit_test_setup_teardown(files_named_by_position_deletes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(bounds_rule_out_equality_deletes, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
