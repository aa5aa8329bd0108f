/* SPDX-License-Identifier: Apache-2.0
 *
 * JSONTestSuite: y_ must parse, n_ must not, i_ is free; none may crash. */
#include "test.h"

#include "base/file.h"
#include "codec/json.h"

#include <dirent.h>

/* Refused on purpose: in metadata a key that stands twice is a fault, not a choice, and no key of
 * ours holds a NUL. */
static bool is_exception(const char *name)
{
    return strcmp(name, "y_object_duplicated_key.json") == 0 ||
           strcmp(name, "y_object_duplicated_key_and_value.json") == 0 ||
           strcmp(name, "y_object_escaped_null_in_key.json") == 0;
}

static void check_file(const char *folder, const char *name)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf file = CV_BUF_INIT(0);
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    struct cv_error err = CV_ERROR_INIT;
    enum cv_code code;
    char path[4096];

    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CV_ASSERT_OK(cv_file_read(path, 1 << 20, &file, &err), &err);
    code = cv_json_parse(file.data, file.length, &root, &err);
    if (code == CV_OK)
        cv_json_write_node(root, &out);
    if (name[0] == 'y' && code != CV_OK && !is_exception(name))
        fail_msg("%s: %s", name, err.message);
    if (name[0] == 'n' && code == CV_OK)
        fail_msg("%s is taken for JSON", name);
}

static void the_whole_suite(void **state)
{
    char folder[4096];
    const struct dirent *entry;
    DIR *listing;
    int count = 0;

    (void)snprintf(folder, sizeof folder, "%s", cv_test_data("json/JSONTestSuite/test_parsing"));
    listing = opendir(folder);
    assert_non_null(listing);
    while ((entry = readdir(listing)) != NULL) {
        if (strstr(entry->d_name, ".json")) {
            check_file(folder, entry->d_name);
            count++;
        }
    }
    (void)closedir(listing);
    assert_true(count > 300);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_whole_suite),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
