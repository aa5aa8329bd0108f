/* SPDX-License-Identifier: Apache-2.0
 *
 * Locations of data files. */
#include "data/location.h"

#include "codec/murmur3.h"

static char *without_slash(struct cv_arena *arena, const char *text)
{
    size_t length = strlen(text);

    while (length > 1 && text[length - 1] == '/')
        length--;
    return cv_arena_strndup(arena, text, length);
}

static bool is_absolute(const char *location)
{
    return location[0] == '/' || strstr(location, ":/");
}

static const char *data_folder(const struct cv_table_metadata *metadata, struct cv_arena *arena)
{
    static const char *const keys[] = {"write.data.path", "write.object-storage.path",
                                       "write.folder-storage.path"};

    for (size_t i = 0; i < CV_ARRAY_LENGTH(keys); i++) {
        const char *value = cv_properties_get(&metadata->properties, keys[i]);

        if (value && *value)
            return is_absolute(value)
                       ? without_slash(arena, value)
                       : without_slash(arena,
                                       cv_arena_printf(arena, "%s/%s", metadata->location, value));
    }
    return cv_arena_printf(arena, "%s/data", metadata->location);
}

/* The last two names of the table's location. */
static const char *context_of(const char *location, struct cv_arena *arena)
{
    const char *last = strrchr(location, '/');
    const char *start = last;

    while (start && start > location && start[-1] != '/')
        start--;
    return cv_arena_strdup(arena, !last ? location : start < last ? start : last + 1);
}

enum cv_code cv_data_locations_read(const struct cv_table_metadata *metadata,
                                    struct cv_arena *arena, struct cv_data_locations *ret_locations,
                                    struct cv_error *err)
{
    struct cv_data_locations locations = {.partitioned_paths = true};

    CV_DO(cv_properties_get_bool(&metadata->properties, "write.object-storage.enabled",
                                 &locations.object_storage, err));
    CV_DO(cv_properties_get_bool(&metadata->properties, "write.object-storage.partitioned-paths",
                                 &locations.partitioned_paths, err));
    locations.folder = data_folder(metadata, arena);
    if (!cv_text_starts_with(locations.folder, metadata->location))
        locations.context = context_of(metadata->location, arena);
    *ret_locations = locations;
    return CV_OK;
}

/* The low 20 bits of the name's hash as folders of 4, 4, 4 and 8 binary digits. */
static void write_hash_folders(const char *name, char text[24])
{
    uint32_t hash = (uint32_t)cv_murmur3(name, strlen(name));
    size_t at = 0;

    for (int bit = 19; bit >= 0; bit--) {
        text[at++] = hash >> bit & 1 ? '1' : '0';
        if (bit == 16 || bit == 12 || bit == 8)
            text[at++] = '/';
    }
    text[at] = '\0';
}

static const char *plain_location(const struct cv_data_locations *locations, const char *partition,
                                  const char *file_name, struct cv_arena *arena)
{
    if (!*partition)
        return cv_arena_printf(arena, "%s/%s", locations->folder, file_name);
    return cv_arena_printf(arena, "%s/%s/%s", locations->folder, partition, file_name);
}

static const char *hashed_location(const struct cv_data_locations *locations, const char *partition,
                                   const char *file_name, struct cv_arena *arena)
{
    const char *name = *partition && locations->partitioned_paths
                           ? cv_arena_printf(arena, "%s/%s", partition, file_name)
                           : file_name;
    char hash[24];

    write_hash_folders(name, hash);
    if (locations->context)
        return cv_arena_printf(arena, "%s/%s/%s/%s", locations->folder, hash, locations->context,
                               name);
    return cv_arena_printf(arena, "%s/%s%c%s", locations->folder, hash,
                           locations->partitioned_paths ? '/' : '-', name);
}

static const char *build(const struct cv_data_locations *locations, const char *partition,
                         const char *file_name, struct cv_arena *arena)
{
    return locations->object_storage ? hashed_location(locations, partition, file_name, arena)
                                     : plain_location(locations, partition, file_name, arena);
}

/* Each folder name longer than `most` is cut, never inside %XX, and ends in a hash of itself. */
static const char *shorten(const char *partition, size_t most, struct cv_arena *arena)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf out = CV_BUF_INIT(0);

    for (const char *at = partition; *at;) {
        size_t length = strcspn(at, "/");
        size_t keep = length > most ? most - 9 : length; /* '-' and 8 digits follow */

        if (keep < length)
            for (size_t back = 1; back < 3; back++)
                if (keep >= back && at[keep - back] == '%')
                    keep -= back;
        cv_buf_append(&out, at, keep);
        if (keep < length)
            cv_buf_printf(&out, "-%08x", (unsigned)cv_murmur3(at, length));
        at += length;
        if (*at == '/')
            cv_buf_append_byte(&out, (uint8_t)*at++);
    }
    return cv_arena_strndup(arena, cv_buf_text(&out), out.length);
}

const char *cv_data_location(const struct cv_data_locations *locations, const char *partition,
                             const char *file_name, struct cv_arena *arena)
{
    static const size_t lengths[] = {CV_FOLDER_NAME_BYTES_MAX, 64, 24};
    const char *location = NULL;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(lengths); i++) {
        location = build(locations, shorten(partition, lengths[i], arena), file_name, arena);
        if (strlen(location) <= CV_LOCATION_BYTES_MAX)
            return location;
    }
    /* Many partition fields below a long folder: one hash stands for all of them. */
    return build(locations,
                 cv_arena_printf(arena, "partition-%08x",
                                 (unsigned)cv_murmur3(partition, strlen(partition))),
                 file_name, arena);
}
