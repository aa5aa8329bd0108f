/* SPDX-License-Identifier: Apache-2.0
 *
 * Answers of a REST catalog: the first byte chooses which one, the rest is its body. */
#include "fuzz.h"

#include "catalog/rest/rest_int.h"

#include <stdlib.h>

static void read_page(const uint8_t *data, size_t size, bool tables)
{
    struct cv_arena arena = CV_ARENA_INIT;
    const char *next;
    char **names;
    size_t count;

    (void)cv_rest_read_page(data, size, tables, &arena, &names, &count, &next, NULL);
    cv_arena_release(&arena);
}

static void read_table(const uint8_t *data, size_t size)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct cv_catalog_entry entry = {0};

    (void)cv_rest_read_table(data, size, &arena, &entry, NULL);
    cv_catalog_entry_release(&entry);
    cv_arena_release(&arena);
}

static void read_config(const uint8_t *data, size_t size)
{
    struct cv_rest_config_reply reply = {0};

    if (cv_rest_read_config(data, size, &reply, NULL) == CV_OK)
        cv_rest_config_reply_release(&reply);
}

static void read_token(const uint8_t *data, size_t size)
{
    struct cv_rest_token_reply reply = {0};

    if (cv_rest_read_token(data, size, &reply, NULL) != CV_OK)
        return;
    (void)cv_rest_token_expiry_ms(reply.token);
    free(reply.token);
}

static void read_credentials(const uint8_t *data, size_t size)
{
    struct cv_store_grants grants = {0};

    (void)cv_rest_read_credentials(data, size, &grants, NULL);
    cv_store_grants_release(&grants);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[512];

    if (!size)
        return 0;
    switch (data[0]) {
    case 'c':
        read_config(data + 1, size - 1);
        break;
    case 't':
        read_table(data + 1, size - 1);
        break;
    case 'o':
        read_token(data + 1, size - 1);
        break;
    case 'v':
        read_credentials(data + 1, size - 1);
        break;
    case 'n':
    case 'l':
        read_page(data + 1, size - 1, data[0] == 'l');
        break;
    default:
        cv_rest_read_error(data + 1, size - 1, text);
        break;
    }
    return 0;
}
