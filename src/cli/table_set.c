/* SPDX-License-Identifier: Apache-2.0
 *
 * calve table set: properties of a table. */
#include "cli/command.h"
#include "cli/lake.h"

#include "table/set_properties.h"

#include <stddef.h>
#include <stdio.h>

struct set_args {
    const char *config;
    struct cv_text_list properties, removed;
};

#define ARG(field) offsetof(struct set_args, field)

static const struct cv_flag flags[] = {
    {"property", CV_FLAG_LIST, ARG(properties), "KEY=VALUE", "set it; may be repeated"},
    {"remove", CV_FLAG_LIST, ARG(removed), "KEY", "take the property away; may be repeated"},
    {"config", CV_FLAG_TEXT, ARG(config), "FILE", "file with the catalogs"},
};

static enum cv_code run(int argc, char **argv, int *ret_status, struct cv_error *err)
{
    CV_CLEANUP(cv_properties_release) struct cv_properties properties = {0};
    CV_CLEANUP(cv_lake_release) struct cv_lake lake = {0};
    struct cv_text_list words = {0};
    struct set_args args = {0};
    bool changed;

    CV_DO(cv_args_parse(flags, CV_ARRAY_LENGTH(flags), argc, argv, &args, &words, err));
    if (words.count != 1 || args.properties.count + args.removed.count == 0) {
        (void)cv_fail(err, CV_USAGE, "calve table set takes a name and --property or --remove");
        cv_hint(err, "for example: calve table set lake.shop.orders --property "
                     "write.metadata.delete-after-commit.enabled=true");
        return CV_USAGE;
    }
    CV_DO(cv_args_properties(&args.properties, "--property", &properties, err));
    CV_DO(cv_lake_open_table(args.config, words.items[0], &lake, err));
    CV_TRY(cv_table_set_properties(lake.table, &properties, args.removed.items, args.removed.count,
                                   &changed, err),
           err, "%s", words.items[0]);
    (void)printf(changed ? "%s has its new properties\n" : "%s had them so already\n",
                 words.items[0]);
    *ret_status = 0;
    return CV_OK;
}

const struct cv_command cv_command_table_set = {"table set",
                                                "NAME [--property KEY=VALUE]… [--remove KEY]…",
                                                "change properties of a table",
                                                run,
                                                flags,
                                                CV_ARRAY_LENGTH(flags)};
