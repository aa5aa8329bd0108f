/* SPDX-License-Identifier: Apache-2.0
 *
 * The Hadoop catalog on an object store: the same files as on local folders, and a commit is a put
 * of v<N>.metadata.json that the store refuses where the name is taken. Stores that do not keep
 * that promise are refused with the first commit. A version has one name here, never
 * v<N>.gz.metadata.json, since a put guards only the name that it is for. */
#include "catalog/hadoop/hadoop_int.h"

#include "base/random.h"

#include <stdlib.h>

struct objects_catalog {
    struct cv_catalog base;
    char *warehouse;
    struct cv_store *store; /* NULL until needed */
};

static void objects_free(struct cv_catalog *base)
{
    struct objects_catalog *catalog = (struct objects_catalog *)base;

    cv_store_free(catalog->store);
    free(catalog->warehouse);
    free(catalog);
}

static enum cv_code open_store(struct objects_catalog *catalog, struct cv_error *err)
{
    if (catalog->store)
        return CV_OK;
    return cv_catalog_open_store(&catalog->base, catalog->warehouse, NULL, NULL, &catalog->store,
                                 err);
}

static enum cv_code metadata_folder(struct objects_catalog *catalog,
                                    const struct cv_table_name *name, struct cv_arena *arena,
                                    const char **ret_folder, struct cv_error *err)
{
    const char *location;

    CV_DO(cv_catalog_warehouse_location(catalog->warehouse, name, arena, &location, err));
    *ret_folder = cv_location_join(arena, location, "metadata");
    return CV_OK;
}

/* The location of a version's file; NULL when there is none. */
static enum cv_code version_file(struct objects_catalog *catalog, const char *folder,
                                 int64_t version, struct cv_arena *arena, const char **ret_location,
                                 struct cv_error *err)
{
    static const char *const endings[] = {".metadata.json", ".gz.metadata.json"};

    *ret_location = NULL;
    for (size_t i = 0; i < CV_ARRAY_LENGTH(endings) && !*ret_location; i++) {
        const char *location = cv_location_join(
            arena, folder, cv_arena_printf(arena, "v%lld%s", (long long)version, endings[i]));
        int64_t size;
        enum cv_code code = cv_store_size(catalog->store, location, &size, err);

        if (code == CV_OK)
            *ret_location = location;
        else if (code != CV_NOT_FOUND)
            return code;
    }
    return CV_OK;
}

static enum cv_code read_hint(struct objects_catalog *catalog, const char *folder,
                              struct cv_arena *arena, int64_t *ret_version, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(65536 + HINT_BYTES_MAX);
    enum cv_code code = cv_store_read(catalog->store, cv_location_join(arena, folder, HINT_FILE),
                                      HINT_BYTES_MAX, &text, err);

    *ret_version = code == CV_OK ? cv_hadoop_hint_version(&text) : -1;
    return code == CV_NOT_FOUND || code == CV_LIMIT ? CV_OK : code;
}

static enum cv_code note_version(void *context, const struct cv_listed_file *file,
                                 struct cv_error *err)
{
    const char *slash = strrchr(file->location, '/');
    int64_t *highest = context;

    (void)err;
    if (slash && slash[1] == 'v' && cv_text_ends_with(file->location, ".metadata.json"))
        *highest = CV_MAX(*highest, cv_metadata_file_version(file->location, 1, '.'));
    return CV_OK;
}

/* The version from the hint on, or from the listing when the hint is missing, wrong or behind what
 * was cleaned up; then every further one that exists. *ret_location NULL: no table. */
static enum cv_code current_file(struct objects_catalog *catalog, const char *folder,
                                 struct cv_arena *arena, const char **ret_location,
                                 struct cv_error *err)
{
    const char *location = NULL;
    const char *next;
    int64_t version;

    CV_DO(read_hint(catalog, folder, arena, &version, err));
    if (version >= 0)
        CV_DO(version_file(catalog, folder, version, arena, &location, err));
    if (!location) {
        version = -1;
        CV_DO(cv_store_list(catalog->store, folder, note_version, &version, err));
        if (version >= 0)
            CV_DO(version_file(catalog, folder, version, arena, &location, err));
    }
    for (next = location; next;) {
        location = next;
        CV_DO(version_file(catalog, folder, ++version, arena, &next, err));
    }
    *ret_location = location;
    return CV_OK;
}

static enum cv_code find_current(struct objects_catalog *catalog, const struct cv_table_name *name,
                                 struct cv_arena *arena, const char **ret_location,
                                 struct cv_error *err)
{
    struct cv_error failure = CV_ERROR_INIT;
    const char *location = NULL;
    const char *folder;
    enum cv_code code;

    CV_DO(open_store(catalog, err));
    CV_DO(metadata_folder(catalog, name, arena, &folder, err));
    cv_request_count(&catalog->base.counts, CV_REQUEST_CATALOG_READ);
    code = current_file(catalog, folder, arena, &location, &failure);
    if (code != CV_OK) {
        if (err)
            *err = failure;
        return code;
    }
    if (!location)
        return cv_fail(err, CV_NOT_FOUND, "table %s does not exist: %s has no v<N>.metadata.json",
                       cv_table_name_text(name, arena), folder);
    *ret_location = location;
    return CV_OK;
}

/* Never `unchanged`: a table that was made anew has files of the same names. */
static enum cv_code objects_load(struct cv_catalog *base, const struct cv_table_name *name,
                                 const char *known, struct cv_arena *arena,
                                 struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    const char *location;

    (void)known;
    CV_DO(find_current((struct objects_catalog *)base, name, arena, &location, err));
    *ret_entry = (struct cv_catalog_entry){.metadata_location = location};
    return CV_OK;
}

/* After a put without a good answer: only some failures tell that the file is not there, and none
 * does where an attempt before it has no answer. */
static bool is_certain(enum cv_code code, const struct cv_error *failure)
{
    if (failure->flags & CV_ERROR_LOST)
        return false;
    return code == CV_UNSUPPORTED || code == CV_CONFIG || code == CV_AUTH || code == CV_NOT_FOUND ||
           (failure->flags & CV_ERROR_UNSENT);
}

static enum cv_code put_version(struct objects_catalog *catalog, const char *target,
                                const struct cv_buf *bytes, struct cv_error *err)
{
    struct cv_error failure = CV_ERROR_INIT;
    enum cv_code code;

    cv_request_count(&catalog->base.counts, CV_REQUEST_CATALOG_COMMIT);
    code = cv_store_put(catalog->store, target, bytes->data, bytes->length, CV_PUT_NEW, &failure);
    if (code == CV_OK)
        return CV_OK;
    if (code == CV_EXISTS)
        return cv_fail(err, CV_CONFLICT, "another commit was first: %s exists", target);
    if (!is_certain(code, &failure))
        code = failure.code = CV_UNKNOWN;
    if (err)
        *err = failure;
    return code;
}

/* Others may have gone on so far while the put was on its way that its name was cleaned up and free
 * again, as the one before it. Such a version is none: nobody reads it, and a hint to it would turn
 * the table back. */
static enum cv_code check_newest(struct objects_catalog *catalog, const char *folder,
                                 int64_t version, struct cv_arena *arena, struct cv_error *err)
{
    const char *newest = NULL;
    const char *base = NULL;
    int64_t hint = -1;
    enum cv_code code = read_hint(catalog, folder, arena, &hint, err);

    if (code == CV_OK && hint <= version)
        return CV_OK;
    if (code == CV_OK)
        code = version_file(catalog, folder, version - 1, arena, &base, err);
    if (code == CV_OK && !base)
        code = current_file(catalog, folder, arena, &newest, err);
    if (code == CV_OK && (base || (newest && cv_metadata_file_version(newest, 1, '.') <= version)))
        return CV_OK; /* others went on from it, or it is a hint to nowhere */
    return cv_fail(err, CV_UNKNOWN, "version %lld was written, but the newest one is %s",
                   (long long)version, newest ? newest : "not known");
}

/* Gives the bytes of the file at `next` their version's name. */
static enum cv_code publish(struct objects_catalog *catalog, const char *next, int64_t version,
                            struct cv_arena *arena, struct cv_catalog_entry *ret_entry,
                            struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf bytes = CV_BUF_INIT(CV_METADATA_BYTES_MAX);
    const char *folder = cv_arena_strndup(arena, next, (size_t)(strrchr(next, '/') - next));
    const char *number = cv_arena_printf(arena, "%lld", (long long)version);
    const char *target =
        cv_location_join(arena, folder, cv_arena_printf(arena, "v%s.metadata.json", number));
    const char *taken;

    CV_DO(version_file(catalog, folder, version, arena, &taken, err));
    if (taken)
        return cv_fail(err, CV_CONFLICT, "another commit was first: %s exists", taken);
    CV_DO(cv_store_read(catalog->store, next, CV_METADATA_BYTES_MAX, &bytes, err));
    CV_DO(put_version(catalog, target, &bytes, err));
    CV_DO(check_newest(catalog, folder, version, arena, err));
    (void)cv_store_remove(catalog->store, next, NULL);
    /* best effort: readers probe on from an old hint */
    (void)cv_store_put(catalog->store, cv_location_join(arena, folder, HINT_FILE), number,
                       strlen(number), CV_PUT_REPLACE, NULL);
    *ret_entry = (struct cv_catalog_entry){.metadata_location = target};
    return CV_OK;
}

static enum cv_code objects_create(struct cv_catalog *base, const struct cv_table_name *name,
                                   const struct cv_catalog_change *change, struct cv_arena *arena,
                                   struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    struct objects_catalog *catalog = (struct objects_catalog *)base;
    const char *current;
    enum cv_code code = find_current(catalog, name, arena, &current, err);

    if (code == CV_NOT_FOUND)
        code = publish(catalog, change->next_location, 1, arena, ret_entry, err);
    else if (code == CV_OK)
        code = CV_CONFLICT;
    if (code == CV_CONFLICT)
        return cv_fail(err, CV_EXISTS, "table %s exists already", cv_table_name_text(name, arena));
    return code;
}

static enum cv_code objects_commit(struct cv_catalog *base, const struct cv_table_name *name,
                                   const struct cv_catalog_change *change, struct cv_arena *arena,
                                   struct cv_catalog_entry *ret_entry, struct cv_error *err)
{
    struct objects_catalog *catalog = (struct objects_catalog *)base;
    int64_t version = cv_metadata_file_version(change->base_location, 1, '.');
    const char *head;

    if (version < 0)
        return cv_fail(err, CV_CATALOG, "%.500s is not named v<N>.metadata.json",
                       change->base_location);
    /* a version that was cleaned up would be free again */
    CV_DO(find_current(catalog, name, arena, &head, err));
    if (cv_metadata_file_version(head, 1, '.') != version)
        return cv_fail(err, CV_CONFLICT, "another commit to %s was first: %s",
                       cv_table_name_text(name, arena), head);
    return publish(catalog, change->next_location, version + 1, arena, ret_entry, err);
}

static enum cv_code objects_drop(struct cv_catalog *base, const struct cv_table_name *name,
                                 struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct objects_catalog *catalog = (struct objects_catalog *)base;
    const char *location;
    const char *folder;

    CV_DO(find_current(catalog, name, &arena, &location, err));
    CV_DO(metadata_folder(catalog, name, &arena, &folder, err));
    (void)cv_fail(err, CV_UNSUPPORTED,
                  "a table of a hadoop catalog on an object store is dropped by deleting %s, which "
                  "calve leaves to you",
                  folder);
    cv_hint(err, "copy the newest v<N>.metadata.json first if the table may be wanted again");
    return CV_UNSUPPORTED;
}

struct name_list {
    struct cv_arena *arena;
    size_t skip; /* of each location */
    char **items;
    size_t count;
    size_t capacity;
};

/* "<ns…>/<table>/metadata/v<N>.metadata.json" below the warehouse names a table. */
static enum cv_code note_table(void *context, const struct cv_listed_file *file,
                               struct cv_error *err)
{
    struct name_list *list = context;
    const char *file_name = strrchr(file->location, '/');
    char *name;
    char *end;

    (void)err;
    if (!file_name || file_name[1] != 'v' || cv_metadata_file_version(file->location, 1, '.') < 0 ||
        !cv_text_ends_with(file->location, ".metadata.json") ||
        strlen(file->location) <= list->skip + 1)
        return CV_OK;
    name = cv_arena_strndup(list->arena, file->location + list->skip + 1,
                            (size_t)(file_name - file->location) - list->skip - 1);
    end = strrchr(name, '/');
    if (!end || strcmp(end, "/metadata") != 0)
        return CV_OK;
    *end = '\0';
    if (!strchr(name, '/'))
        return CV_OK; /* no namespace */
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '.';
    if (list->count && strcmp(list->items[list->count - 1], name) == 0)
        return CV_OK; /* another version of the same */
    cv_array_reserve(&list->items, &list->capacity, list->count + 1);
    list->items[list->count++] = name;
    return CV_OK;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* An object store has no folders to walk: everything below the warehouse is listed. */
static enum cv_code objects_list(struct cv_catalog *base, struct cv_arena *arena, char ***ret_names,
                                 size_t *ret_count, struct cv_error *err)
{
    struct objects_catalog *catalog = (struct objects_catalog *)base;
    struct name_list list = {.arena = arena, .skip = strlen(catalog->warehouse)};
    enum cv_code code = open_store(catalog, err);
    size_t kept = 0;

    if (code == CV_OK)
        code = cv_store_list(catalog->store, catalog->warehouse, note_table, &list, err);
    if (code == CV_OK && list.count)
        qsort(list.items, list.count, sizeof *list.items, compare_names);
    for (size_t i = 0; i < list.count; i++)
        if (!kept || strcmp(list.items[kept - 1], list.items[i]) != 0)
            list.items[kept++] = list.items[i];
    if (code == CV_OK) {
        *ret_names = cv_arena_copy(arena, list.items, kept * sizeof *list.items);
        *ret_count = kept;
    }
    free(list.items);
    return code;
}

static enum cv_code objects_table_location(struct cv_catalog *base,
                                           const struct cv_table_name *name, struct cv_arena *arena,
                                           const char **ret_location, struct cv_error *err)
{
    const struct objects_catalog *catalog = (const struct objects_catalog *)base;

    return cv_catalog_warehouse_location(catalog->warehouse, name, arena, ret_location, err);
}

/* Whether commits are safe here is tried with an object of its own. */
static enum cv_code objects_check(struct cv_catalog *base, cv_catalog_report *report, void *context,
                                  struct cv_error *err)
{
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    struct objects_catalog *catalog = (struct objects_catalog *)base;
    struct cv_error own = CV_ERROR_INIT;
    char uuid[CV_UUID_TEXT_BYTES];
    const char *object;
    enum cv_code code = open_store(catalog, &own);

    cv_uuid_text(uuid);
    object = cv_location_join(&arena, catalog->warehouse,
                              cv_arena_printf(&arena, "calve-check-%s", uuid));
    if (code == CV_OK)
        code = cv_store_put(catalog->store, object, uuid, strlen(uuid), CV_PUT_NEW, &own);
    if (code == CV_OK)
        (void)cv_store_remove(catalog->store, object, NULL);
    report(context, code == CV_OK || code == CV_UNSUPPORTED ? "conditional put" : "warehouse",
           "the store refuses to overwrite, so commits are safe", code == CV_OK ? NULL : &own);
    if (code != CV_OK && err)
        *err = own;
    return code;
}

static const struct cv_catalog_ops objects_ops = {
    .type = "hadoop",
    .fixed_layout = true,
    .plain_metadata = true,
    .load = objects_load,
    .create = objects_create,
    .commit = objects_commit,
    .drop = objects_drop,
    .list = objects_list,
    .table_location = objects_table_location,
    .metadata_location = cv_hadoop_metadata_location,
    .check = objects_check,
    .free = objects_free,
};

enum cv_code cv_hadoop_objects_open(const char *warehouse, struct cv_catalog **ret_catalog,
                                    struct cv_error *err)
{
    struct objects_catalog *catalog;
    size_t length = strlen(warehouse);

    if (!cv_text_starts_with(warehouse, "s3://") && !cv_text_starts_with(warehouse, "s3a://") &&
        !cv_text_starts_with(warehouse, "s3n://"))
        return cv_fail(err, CV_UNSUPPORTED,
                       "warehouse %.500s: a hadoop catalog lies on local folders or on S3",
                       warehouse);
    while (length && warehouse[length - 1] == '/')
        length--;
    catalog = cv_alloc(sizeof *catalog);
    catalog->base.ops = &objects_ops;
    catalog->warehouse = cv_strdup(warehouse);
    catalog->warehouse[length] = '\0';
    *ret_catalog = &catalog->base;
    return CV_OK;
}
