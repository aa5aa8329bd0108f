/* SPDX-License-Identifier: Apache-2.0
 *
 * calve table create | list | rename | drop. */
#include "cli/command.h"
#include "cli/lake.h"
#include "cli/text_table.h"

#include "codec/json.h"

#include <stddef.h>
#include <stdio.h>

struct create_args {
    const char *config;
    const char *schema;
    const char *partitioned_by;
    const char *location;
    struct cv_text_list properties;
    bool if_not_exists;
};

#define ARG(field) offsetof(struct create_args, field)

static const struct cv_flag create_flags[] = {
    {"schema", CV_FLAG_TEXT, ARG(schema), "DDL",
     "columns as in Spark: \"id bigint NOT NULL, ts timestamp, tags array<string>\""},
    {"partitioned-by", CV_FLAG_TEXT, ARG(partitioned_by), "SPEC",
     "\"day(ts), bucket(16, id), truncate(4, name), category\""},
    {"property", CV_FLAG_LIST, ARG(properties), "KEY=VALUE", "table property; may be repeated"},
    {"location", CV_FLAG_TEXT, ARG(location), "URI", "default <warehouse>/<namespace>/<table>"},
    {"if-not-exists", CV_FLAG_BOOL, ARG(if_not_exists), NULL, "leave a table that is there alone"},
    {"config", CV_FLAG_TEXT, ARG(config), "FILE", "file with the catalogs"},
};

static enum cv_code create(const struct create_args *args, const char *name, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    struct cv_partition_spec spec;
    struct cv_schema schema;
    enum cv_code code;

    CV_TRY(cv_schema_read_ddl(args->schema, &arena, &schema, err), err, "--schema");
    CV_TRY(cv_partition_spec_read_ddl(args->partitioned_by, &schema, &arena, &spec, err), err,
           "--partitioned-by");
    CV_DO(cv_args_properties(&args->properties, "--property", &properties, err));
    CV_DO(cv_lake_open_catalog(args->config, name, &lake, err));
    code = cv_table_create(lake.catalog, name, &schema, &spec, &properties, args->location,
                           &lake.table, err);
    if (code == CV_EXISTS && args->if_not_exists) {
        (void)printf("%s exists already\n", name);
        return CV_OK;
    }
    CV_DO(code);
    (void)printf("created %s at %s\n", name, lake.table->metadata->location);
    return CV_OK;
}

static enum cv_code run_create(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    struct create_args args = {0};
    struct cv_text_list words = {0};

    CV_DO(
        cv_args_parse(create_flags, CV_ARRAY_LENGTH(create_flags), argc, argv, &args, &words, err));
    if (words.count != 1 || !args.schema) {
        (void)cv_fail(err, CV_USAGE, "calve table create takes a name and --schema");
        cv_hint(err, "for example: calve table create lake.shop.orders --schema \"id bigint, ts "
                     "timestamp\" --partitioned-by \"day(ts)\"");
        return CV_USAGE;
    }
    *ret_status = 0;
    return create(&args, words.items[0], err);
}

const struct cv_command cv_command_table_create = {
    "table create", "NAME --schema DDL [--partitioned-by SPEC] [--property KEY=VALUE]…",
    "make a table", run_create,
    create_flags,   CV_ARRAY_LENGTH(create_flags)};

struct list_args {
    const char *config;
    bool json;
};

static const struct cv_flag list_flags[] = {
    {"json", CV_FLAG_BOOL, offsetof(struct list_args, json), NULL, "an array of objects"},
    {"config", CV_FLAG_TEXT, offsetof(struct list_args, config), "FILE", "file with the catalogs"},
};

static enum cv_code print_list(const struct list_args *args, const char *catalog,
                               struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(0);
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    struct cv_json_writer w = CV_JSON_WRITER(&json);
    char **names;
    size_t count;

    CV_DO(cv_lake_open_catalog(args->config, catalog, &lake, err));
    CV_DO(lake.catalog->ops->list(lake.catalog, &arena, &names, &count, err));
    cv_json_begin_array(&w);
    for (size_t i = 0; i < count; i++) {
        cv_json_begin_object(&w);
        cv_json_key(&w, "table");
        cv_json_put_string(&w, names[i]);
        cv_json_end_object(&w);
    }
    cv_json_end_array(&w);
    if (args->json)
        (void)printf("%s\n", cv_buf_text(&json));
    else
        CV_DO(cv_text_table_print((struct cv_str){cv_buf_text(&json), json.length}, NULL, err));
    return CV_OK;
}

static enum cv_code run_list(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    struct list_args args = {0};
    struct cv_text_list words = {0};

    CV_DO(cv_args_parse(list_flags, CV_ARRAY_LENGTH(list_flags), argc, argv, &args, &words, err));
    if (words.count != 1)
        return cv_fail(err, CV_USAGE, "calve table list takes the name of a catalog");
    *ret_status = 0;
    return print_list(&args, words.items[0], err);
}

const struct cv_command cv_command_table_list = {
    "table list", "CATALOG [--json]", "the tables of a catalog",
    run_list,     list_flags,         CV_ARRAY_LENGTH(list_flags)};

struct rename_args {
    const char *config;
};

static const struct cv_flag rename_flags[] = {
    {"config", CV_FLAG_TEXT, offsetof(struct rename_args, config), "FILE",
     "file with the catalogs"},
};

/* "shop.b" after "lake.shop.a" means lake.shop.b, as in Spark. */
static const char *full_target(const char *from, const char *to, struct cv_arena *arena)
{
    size_t catalog = strcspn(from, ".");

    if (strncmp(from, to, catalog + 1) == 0)
        return to;
    return cv_arena_printf(arena, "%.*s.%s", (int)catalog, from, to);
}

static enum cv_code rename_table(struct cv_catalog *catalog, const char *from, const char *to,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct cv_table_name old_name;
    struct cv_table_name new_name;

    CV_DO(cv_table_name_parse(from, &arena, &old_name, err));
    CV_DO(cv_table_name_parse(full_target(from, to, &arena), &arena, &new_name, err));
    if (old_name.branch || new_name.branch)
        return cv_fail(err, CV_USAGE, "calve table rename takes tables, not branches of them");
    if (!catalog->ops->rename) {
        (void)cv_fail(err, CV_UNSUPPORTED, "a %s catalog cannot rename: a table is its folder",
                      catalog->ops->type);
        cv_hint(err, "sql and rest catalogs can");
        return CV_UNSUPPORTED;
    }
    CV_TRY(catalog->ops->rename(catalog, &old_name, &new_name, err), err, "table %s", from);
    (void)printf("%s is now %s.%s; its files stay where they are\n", from, new_name.catalog,
                 cv_table_name_text(&new_name, &arena));
    return CV_OK;
}

static enum cv_code run_rename(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    struct rename_args args = {0};
    struct cv_text_list words = {0};

    CV_DO(
        cv_args_parse(rename_flags, CV_ARRAY_LENGTH(rename_flags), argc, argv, &args, &words, err));
    if (words.count != 2)
        return cv_fail(err, CV_USAGE, "calve table rename takes the old and the new name");
    *ret_status = 0;
    CV_DO(cv_lake_open_catalog(args.config, words.items[0], &lake, err));
    return rename_table(lake.catalog, words.items[0], words.items[1], err);
}

const struct cv_command cv_command_table_rename = {
    "table rename", "NAME NEW_NAME", "give a table another name in its catalog",
    run_rename,     rename_flags,    CV_ARRAY_LENGTH(rename_flags)};

struct drop_args {
    const char *config;
    bool yes;
};

static const struct cv_flag drop_flags[] = {
    {"yes", CV_FLAG_BOOL, offsetof(struct drop_args, yes), NULL, "do it; without it nothing is"},
    {"config", CV_FLAG_TEXT, offsetof(struct drop_args, config), "FILE", "file with the catalogs"},
};

static enum cv_code run_drop(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    struct drop_args args = {0};
    struct cv_text_list words = {0};
    struct cv_table_name name;
    const char *location;

    CV_DO(cv_args_parse(drop_flags, CV_ARRAY_LENGTH(drop_flags), argc, argv, &args, &words, err));
    if (words.count != 1)
        return cv_fail(err, CV_USAGE, "calve table drop takes the name of a table");
    /* The table is not opened: it may be dropped because its metadata file is gone. */
    CV_DO(cv_lake_open_catalog(args.config, words.items[0], &lake, err));
    CV_DO(cv_table_name_parse(words.items[0], &arena, &name, err));
    CV_TRY(cv_catalog_find(lake.catalog, &name, &arena, &location, err), err, "table %s",
           words.items[0]);
    *ret_status = 0;
    if (!args.yes) {
        (void)printf("%s would be taken out of the catalog; its files stay, metadata %s. Add --yes "
                     "to do it.\n",
                     words.items[0], location);
        return CV_OK;
    }
    CV_DO(lake.catalog->ops->drop(lake.catalog, &name, err));
    (void)printf("dropped %s; its files are still there, metadata %s\n", words.items[0], location);
    return CV_OK;
}

const struct cv_command cv_command_table_drop = {
    "table drop", "NAME --yes", "take a table out of its catalog; files stay",
    run_drop,     drop_flags,   CV_ARRAY_LENGTH(drop_flags)};
