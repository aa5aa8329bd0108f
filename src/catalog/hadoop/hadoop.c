/* SPDX-License-Identifier: Apache-2.0
 *
 * The Hadoop catalog on local folders: a table is <warehouse>/<namespace…>/<table> and its current
 * metadata is the highest metadata/v<N>.metadata.json. A commit gives the new file its name by
 * link(), which fails where the name is taken; version-hint.text only shortens the search. */
#include "catalog/hadoop/hadoop_int.h"

#include "base/file.h"
#include "base/random.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAMESPACE_DEPTH_MAX 32

struct hadoop_catalog {
    struct cv_catalog base;
    struct cv_arena arena;
    const char *warehouse;      /* as configured, for locations */
    const char *warehouse_path; /* the same as a path */
};

static void hadoop_free(struct cv_catalog *base)
{
    struct hadoop_catalog *catalog = (struct hadoop_catalog *)base;

    cv_arena_release(&catalog->arena);
    free(catalog);
}

static enum cv_code hadoop_open(const char *name, const struct cv_catalog_settings *settings,
                                const struct cv_properties *properties,
                                struct cv_catalog **ret_catalog, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    struct hadoop_catalog *catalog;

    (void)name;
    (void)properties;
    if (!settings->warehouse)
        return cv_fail(err, CV_CONFIG, "a hadoop catalog needs `warehouse`");
    if (!cv_location_local_path(settings->warehouse, path))
        return cv_hadoop_objects_open(settings->warehouse, ret_catalog, err);
    catalog = cv_alloc(sizeof *catalog);
    catalog->base.ops = &cv_hadoop_catalog_ops;
    catalog->warehouse = cv_arena_strdup(&catalog->arena, settings->warehouse);
    catalog->warehouse_path = cv_arena_strdup(&catalog->arena, path);
    *ret_catalog = &catalog->base;
    return CV_OK;
}

static const char *table_path(const struct hadoop_catalog *catalog,
                              const struct cv_table_name *name, struct cv_arena *arena)
{
    const char *path = catalog->warehouse_path;

    for (size_t i = 0; i < name->level_count; i++)
        path = cv_location_join(arena, path, name->levels[i]);
    return cv_location_join(arena, path, name->table);
}

/* v3.metadata.json or v3.gz.metadata.json in the folder; NULL when neither is there. */
static const char *version_file(const char *folder, int64_t version, struct cv_arena *arena)
{
    static const char *const endings[] = {".metadata.json", ".gz.metadata.json"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(endings); i++) {
        const char *file = cv_arena_printf(arena, "v%lld%s", (long long)version, endings[i]);

        if (cv_file_exists(cv_location_join(arena, folder, file)))
            return file;
    }
    return NULL;
}

int64_t cv_hadoop_hint_version(const struct cv_buf *text)
{
    int64_t version;

    if (!cv_parse_i64(cv_str_trim((struct cv_str){(char *)text->data, text->length}), &version) ||
        version < 1 || version >= INT32_MAX)
        return -1;
    return version;
}

static int64_t read_hint(const char *folder, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(65536 + HINT_BYTES_MAX);

    if (cv_file_read(cv_location_join(arena, folder, HINT_FILE), HINT_BYTES_MAX, &text, NULL) !=
        CV_OK)
        return -1;
    return cv_hadoop_hint_version(&text);
}

static int64_t highest_listed(const char *folder, struct cv_arena *arena)
{
    int64_t highest = -1;
    char **names;
    size_t count;

    if (cv_directory_list(folder, arena, &names, &count, NULL) != CV_OK)
        return -1;
    for (size_t i = 0; i < count; i++)
        if (names[i][0] == 'v' && cv_text_ends_with(names[i], ".metadata.json"))
            highest = CV_MAX(highest, cv_metadata_file_version(names[i], 1, '.'));
    return highest;
}

/* The version from the hint on, or from the listing when the hint is missing, wrong or behind what
 * was cleaned up; then every further one that exists. NULL: no table. */
static const char *current_file(const char *folder, struct cv_arena *arena, int64_t *ret_version)
{
    int64_t version = read_hint(folder, arena);
    const char *file = version < 0 ? NULL : version_file(folder, version, arena);

    if (!file) {
        version = highest_listed(folder, arena);
        file = version < 0 ? NULL : version_file(folder, version, arena);
    }
    for (const char *next = file; next; version++) {
        file = next;
        next = version_file(folder, version + 1, arena);
        if (!next)
            break;
    }
    *ret_version = version;
    return file;
}

static enum cv_code find_current(struct cv_catalog *base, const struct cv_table_name *name,
                                 struct cv_arena *arena, const char **ret_location,
                                 struct cv_error *err)
{
    struct hadoop_catalog *catalog = (struct hadoop_catalog *)base;
    const char *folder = cv_location_join(arena, table_path(catalog, name, arena), "metadata");
    const char *location;
    const char *file;
    int64_t version;

    file = current_file(folder, arena, &version);
    if (!file)
        return cv_fail(err, CV_NOT_FOUND, "table %s does not exist: %s has no v<N>.metadata.json",
                       cv_table_name_text(name, arena), folder);
    CV_DO(cv_catalog_warehouse_location(catalog->warehouse, name, arena, &location, err));
    *ret_location = cv_location_join(arena, cv_location_join(arena, location, "metadata"), file);
    return CV_OK;
}

/* Never `unchanged`: a table that was made anew has files of the same names. */
static enum cv_code hadoop_load(struct cv_catalog *base, const struct cv_table_name *name,
                                const char *known, struct cv_arena *arena,
                                struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    const char *location;

    (void)known;
    CV_DO(find_current(base, name, arena, &location, err));
    *ret_entry = (struct cv_catalog_entry){.metadata_location = location};
    return CV_OK;
}

/* Best effort: readers probe on from an old hint. */
static void write_hint(const char *folder, int64_t version, struct cv_arena *arena)
{
    char uuid[CV_UUID_TEXT_BYTES];
    const char *temporary;
    FILE *file;

    cv_uuid_text(uuid);
    temporary = cv_location_join(arena, folder, cv_arena_printf(arena, "%s.hint.tmp", uuid));
    file = fopen(temporary, "wxe");
    if (!file)
        return;
    (void)fprintf(file, "%lld", (long long)version);
    if (fclose(file) != 0 || rename(temporary, cv_location_join(arena, folder, HINT_FILE)) != 0)
        (void)unlink(temporary);
}

/* A network file system may report a failure for a link that it made: two names tell. */
static bool has_two_names(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && status.st_nlink == 2;
}

/* Others may have gone on so far while this process stood still that its version's name was cleaned
 * up and free again, as the one before it. Such a version is none: a hint to it would turn the
 * table back. */
static bool is_overtaken(const char *folder, int64_t version, struct cv_arena *arena)
{
    int64_t newest = version;

    if (read_hint(folder, arena) > version && !version_file(folder, version - 1, arena))
        (void)current_file(folder, arena, &newest);
    return newest > version;
}

/* Gives the written file at `next` its version's name. */
static enum cv_code publish(const char *next, int64_t version, struct cv_arena *arena,
                            struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    char path[CV_PATH_BYTES_MAX];
    const char *folder;
    const char *file;
    const char *target;

    if (!cv_location_local_path(next, path) || !strrchr(path, '/'))
        return cv_fail(err, CV_CONFIG, "%.500s is not a local file", next);
    folder = cv_arena_strndup(arena, path, (size_t)(strrchr(path, '/') - path));
    file = cv_arena_printf(arena, "v%lld%s", (long long)version,
                           cv_text_ends_with(path, ".gz.metadata.json") ? ".gz.metadata.json"
                                                                        : ".metadata.json");
    target = cv_location_join(arena, folder, file);
    if (version_file(folder, version, arena))
        return cv_fail(err, CV_CONFLICT, "another commit was first: %s exists", target);
    if (link(path, target) != 0 && !has_two_names(path)) {
        if (errno == EEXIST)
            return cv_fail(err, CV_CONFLICT, "another commit was first: %s exists", target);
        return cv_fail(err, CV_CATALOG, "cannot make %s: %s", target, strerror(errno));
    }
    if (cv_directory_sync(folder, err) != CV_OK)
        return cv_fail(err, CV_UNKNOWN, "%s was made but its folder cannot be synced", target);
    if (is_overtaken(folder, version, arena))
        return cv_fail(err, CV_UNKNOWN, "%s was made, but is not the newest version", target);
    (void)unlink(path);
    write_hint(folder, version, arena);
    *ret_entry = (struct cv_catalog_entry){
        .metadata_location =
            cv_arena_printf(arena, "%.*s/%s", (int)(strrchr(next, '/') - next), next, file)};
    return CV_OK;
}

static enum cv_code hadoop_create(struct cv_catalog *base, const struct cv_table_name *name,
                                  const struct cv_catalog_change *change, struct cv_arena *arena,
                                  struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    const char *current;
    enum cv_code code = find_current(base, name, arena, &current, NULL);

    if (code == CV_NOT_FOUND)
        code = publish(change->next_location, 1, arena, ret_entry, err);
    else if (code == CV_OK)
        code = CV_CONFLICT;
    if (code == CV_CONFLICT)
        return cv_fail(err, CV_EXISTS, "table %s exists already", cv_table_name_text(name, arena));
    return code;
}

static enum cv_code hadoop_commit(struct cv_catalog *base, const struct cv_table_name *name,
                                  const struct cv_catalog_change *change, struct cv_arena *arena,
                                  struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    int64_t version = cv_metadata_file_version(change->base_location, 1, '.');
    const char *head;

    if (version < 0)
        return cv_fail(err, CV_CATALOG, "%.500s is not named v<N>.metadata.json",
                       change->base_location);
    /* a version that was cleaned up would be free again */
    CV_DO(find_current(base, name, arena, &head, err));
    if (cv_metadata_file_version(head, 1, '.') != version)
        return cv_fail(err, CV_CONFLICT, "another commit to %s was first: %s",
                       cv_table_name_text(name, arena), head);
    return publish(change->next_location, version + 1, arena, ret_entry, err);
}

/* The metadata folder gets another name: nothing is a table there any more, and nothing is lost. */
static enum cv_code hadoop_drop(struct cv_catalog *base, const struct cv_table_name *name,
                                struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    const struct hadoop_catalog *catalog = (const struct hadoop_catalog *)base;
    const char *path = table_path(catalog, name, &arena);
    const char *folder = cv_location_join(&arena, path, "metadata");
    char uuid[CV_UUID_TEXT_BYTES];
    const char *location;

    CV_DO(find_current(base, name, &arena, &location, err));
    cv_uuid_text(uuid);
    if (rename(folder, cv_arena_printf(&arena, "%s.dropped-%s", folder, uuid)) != 0)
        return cv_fail(err, CV_IO, "cannot rename %s: %s", folder, strerror(errno));
    return cv_directory_sync(path, err);
}

struct name_list {
    struct cv_arena *arena;
    char **items;
    size_t count;
    size_t capacity;
};

static bool is_folder(const char *path)
{
    struct stat status;

    return lstat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static enum cv_code list_folder(const char *path, const char *prefix, int depth,
                                struct name_list *list, struct cv_error *err)
{
    char **names;
    size_t count;

    if (depth > NAMESPACE_DEPTH_MAX)
        return cv_fail(err, CV_LIMIT, "namespaces below %s nest deeper than %d", path,
                       NAMESPACE_DEPTH_MAX);
    CV_DO(cv_directory_list(path, list->arena, &names, &count, err));
    for (size_t i = 0; i < count; i++) {
        const char *below = cv_location_join(list->arena, path, names[i]);
        char *full = *prefix ? cv_arena_printf(list->arena, "%s.%s", prefix, names[i]) : names[i];
        int64_t version;

        if (names[i][0] == '.' || !is_folder(below))
            continue;
        if (!current_file(cv_location_join(list->arena, below, "metadata"), list->arena,
                          &version)) {
            CV_DO(list_folder(below, full, depth + 1, list, err));
        } else if (*prefix) {
            cv_array_reserve(&list->items, &list->capacity, list->count + 1);
            list->items[list->count++] = full;
        }
    }
    return CV_OK;
}

static enum cv_code hadoop_list(struct cv_catalog *base, struct cv_arena *arena, char ***ret_names,
                                size_t *ret_count, struct cv_error *err)
{
    const struct hadoop_catalog *catalog = (const struct hadoop_catalog *)base;
    struct name_list list = {.arena = arena};
    enum cv_code code = list_folder(catalog->warehouse_path, "", 0, &list, err);

    if (code == CV_OK) {
        *ret_names = cv_arena_copy(arena, list.items, list.count * sizeof *list.items);
        *ret_count = list.count;
    }
    free(list.items);
    return code;
}

static enum cv_code hadoop_table_location(struct cv_catalog *base, const struct cv_table_name *name,
                                          struct cv_arena *arena, const char **ret_location,
                                          struct cv_error *err)
{
    const struct hadoop_catalog *catalog = (const struct hadoop_catalog *)base;

    return cv_catalog_warehouse_location(catalog->warehouse, name, arena, ret_location, err);
}

enum cv_code cv_hadoop_metadata_location(struct cv_catalog *base, const char *metadata_folder,
                                         const char *current, bool gzip, struct cv_arena *arena,
                                         const char **ret_location, struct cv_error *err)
{
    char uuid[CV_UUID_TEXT_BYTES];

    (void)base;
    (void)current;
    (void)err;
    cv_uuid_text(uuid);
    *ret_location =
        cv_location_join(arena, metadata_folder,
                         cv_arena_printf(arena, "%s%s.metadata.json", uuid, gzip ? ".gz" : ""));
    return CV_OK;
}

const struct cv_catalog_ops cv_hadoop_catalog_ops = {
    .type = "hadoop",
    .fixed_layout = true,
    .open = hadoop_open,
    .load = hadoop_load,
    .create = hadoop_create,
    .commit = hadoop_commit,
    .drop = hadoop_drop,
    .list = hadoop_list,
    .table_location = hadoop_table_location,
    .metadata_location = cv_hadoop_metadata_location,
    .free = hadoop_free,
};
