/* SPDX-License-Identifier: Apache-2.0
 *
 * Job files: libyaml's document tree flattened to entries. */
#include "config/job_file.h"

#include "base/file.h"
#include "base/limits.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <yaml.h>

#define NESTING_MAX 16

struct reader {
    struct cv_job_file *file;
    yaml_document_t *document;
    const char *name;
};

static enum cv_code fail_at(const struct reader *r, const yaml_node_t *node, struct cv_error *err,
                            const char *what)
{
    return cv_fail(err, CV_CONFIG, "%s line %zu: %s", r->name, node->start_mark.line + 1, what);
}

static const char *scalar_text(const yaml_node_t *node)
{
    return (const char *)node->data.scalar.value;
}

static void append_json_string(struct cv_buf *out, const char *text, size_t length)
{
    cv_buf_append_byte(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];

        if (c == '"' || c == '\\')
            cv_buf_printf(out, "\\%c", c);
        else if (c < 0x20)
            cv_buf_printf(out, "\\u%04x", c);
        else
            cv_buf_append_byte(out, c);
    }
    cv_buf_append_byte(out, '"');
}

/* Plain scalars that YAML takes for numbers, booleans or null stay bare. */
static bool is_bare(const yaml_node_t *node)
{
    const char *text = scalar_text(node);
    int64_t number;

    if (node->data.scalar.style != YAML_PLAIN_SCALAR_STYLE)
        return false;
    return cv_parse_i64(cv_str_from(text), &number) || strcmp(text, "true") == 0 ||
           strcmp(text, "false") == 0 || strcmp(text, "null") == 0;
}

static enum cv_code append_json(const struct reader *r, const yaml_node_t *node, int depth,
                                struct cv_buf *out, struct cv_error *err)
{
    /* Aliases make a small file large: stop as soon as the text is over its limit. */
    if (depth > NESTING_MAX || out->failed)
        return fail_at(r, node, err, "nested too deeply or too large");
    if (node->type == YAML_SCALAR_NODE) {
        if (is_bare(node))
            cv_buf_append(out, scalar_text(node), node->data.scalar.length);
        else
            append_json_string(out, scalar_text(node), node->data.scalar.length);
    } else if (node->type == YAML_SEQUENCE_NODE) {
        cv_buf_append_byte(out, '[');
        for (yaml_node_item_t *i = node->data.sequence.items.start;
             i < node->data.sequence.items.top; i++) {
            if (i > node->data.sequence.items.start)
                cv_buf_append_byte(out, ',');
            CV_DO(append_json(r, yaml_document_get_node(r->document, *i), depth + 1, out, err));
        }
        cv_buf_append_byte(out, ']');
    } else {
        cv_buf_append_byte(out, '{');
        for (yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top;
             p++) {
            const yaml_node_t *key = yaml_document_get_node(r->document, p->key);

            if (key->type != YAML_SCALAR_NODE)
                return fail_at(r, key, err, "a key must be text");
            if (p > node->data.mapping.pairs.start)
                cv_buf_append_byte(out, ',');
            append_json_string(out, scalar_text(key), key->data.scalar.length);
            cv_buf_append_byte(out, ':');
            CV_DO(
                append_json(r, yaml_document_get_node(r->document, p->value), depth + 1, out, err));
        }
        cv_buf_append_byte(out, '}');
    }
    return CV_OK;
}

/* Replaces ${NAME}; "$" elsewhere stays. */
static enum cv_code expand_environment(const char *text, struct cv_buf *out, struct cv_error *err)
{
    for (const char *c = text; *c;) {
        const char *end = c[0] == '$' && c[1] == '{' ? strchr(c, '}') : NULL;
        char name[128];
        const char *value;

        if (!end) {
            cv_buf_append_byte(out, (uint8_t)*c++);
            continue;
        }
        if ((size_t)(end - c - 2) >= sizeof name)
            return cv_fail(err, CV_CONFIG, "the name in %.40s… is too long", c);
        (void)snprintf(name, sizeof name, "%.*s", (int)(end - c - 2), c + 2);
        value = getenv(name);
        if (!value) {
            (void)cv_fail(err, CV_CONFIG, "environment variable %s is not set", name);
            cv_hint(err, "set it, or write the value into the job file");
            return CV_CONFIG;
        }
        cv_buf_append_text(out, value);
        c = end + 1;
    }
    return CV_OK;
}

static enum cv_code add_entry(struct cv_job_file *file, const char *section, const char *key,
                              const char *raw, int line, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf value = CV_BUF_INIT(CV_JOB_FILE_BYTES_MAX);
    struct cv_job_entry entry = {section, cv_arena_strdup(&file->arena, key), NULL, line};

    CV_TRY(expand_environment(raw, &value, err), err, "%s%s%s", section, section[0] ? "." : "",
           key);
    CV_DO(cv_buf_check(&value, key, err));
    entry.value = cv_arena_strdup(&file->arena, cv_buf_text(&value));
    for (size_t i = 0; i < file->count; i++) {
        struct cv_job_entry *have = &file->entries[i];

        if (strcmp(have->section, section) != 0 || !cv_text_equal_nocase(have->key, key))
            continue;
        if (line)
            return cv_fail(err, CV_CONFIG, "%s%s%s is set twice (lines %d and %d)", section,
                           section[0] ? "." : "", key, have->line, line);
        *have = entry;
        return CV_OK;
    }
    cv_array_reserve(&file->entries, &file->capacity, file->count + 1);
    file->entries[file->count++] = entry;
    return CV_OK;
}

static enum cv_code read_leaf(const struct reader *r, const char *section, const char *key,
                              const yaml_node_t *node, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf json = CV_BUF_INIT(CV_JOB_FILE_BYTES_MAX);
    int line = (int)node->start_mark.line + 1;

    if (node->type == YAML_SCALAR_NODE)
        return add_entry(r->file, section, key, scalar_text(node), line, err);
    CV_DO(append_json(r, node, 0, &json, err));
    CV_DO(cv_buf_check(&json, key, err));
    return add_entry(r->file, section, key, cv_buf_text(&json), line, err);
}

static enum cv_code read_section(const struct reader *r, const char *section,
                                 const yaml_node_t *mapping, struct cv_error *err)
{
    for (yaml_node_pair_t *p = mapping->data.mapping.pairs.start;
         p < mapping->data.mapping.pairs.top; p++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
        const yaml_node_t *value = yaml_document_get_node(r->document, p->value);

        if (key->type != YAML_SCALAR_NODE)
            return fail_at(r, key, err, "a key must be text");
        if (strcmp(section, "catalogs") == 0 || strcmp(section, "tables") == 0) {
            if (value->type != YAML_MAPPING_NODE)
                return fail_at(r, value, err,
                               section[0] == 'c' ? "a catalog is a map of its settings"
                                                 : "a table is a map of its settings");
            CV_DO(read_section(r,
                               cv_arena_printf(&r->file->arena, "%s.%s", section, scalar_text(key)),
                               value, err));
        } else {
            CV_DO(read_leaf(r, section, scalar_text(key), value, err));
        }
    }
    return CV_OK;
}

static const char *const sections[] = {"catalogs", "source",    "value",      "tables",
                                       "sink",     "watermark", "maintenance"};

static enum cv_code read_top(const struct reader *r, const yaml_node_t *root, struct cv_error *err)
{
    for (yaml_node_pair_t *p = root->data.mapping.pairs.start; p < root->data.mapping.pairs.top;
         p++) {
        const yaml_node_t *key = yaml_document_get_node(r->document, p->key);
        const yaml_node_t *value = yaml_document_get_node(r->document, p->value);
        bool is_section = false;

        if (key->type != YAML_SCALAR_NODE)
            return fail_at(r, key, err, "a key must be text");
        for (size_t i = 0; i < CV_ARRAY_LENGTH(sections); i++)
            is_section |= strcmp(scalar_text(key), sections[i]) == 0;
        if (!is_section) {
            CV_DO(read_leaf(r, "", scalar_text(key), value, err));
        } else if (value->type != YAML_MAPPING_NODE) {
            return fail_at(r, value, err, "this section is a map of options");
        } else {
            CV_DO(read_section(r, cv_arena_strdup(&r->file->arena, scalar_text(key)), value, err));
        }
    }
    return CV_OK;
}

static enum cv_code fail_yaml(const yaml_parser_t *parser, const char *name, struct cv_error *err)
{
    return cv_fail(err, CV_CONFIG, "%s line %zu: not YAML: %s", name, parser->problem_mark.line + 1,
                   parser->problem ? parser->problem : "?");
}

enum cv_code cv_job_file_parse(struct cv_str text, const char *name, const char *folder,
                               struct cv_job_file *ret_file, struct cv_error *err)
{
    CV_CLEANUP(cv_job_file_release) struct cv_job_file file = {0};
    CV_CLEANUP(yaml_parser_delete) yaml_parser_t parser = {0};
    CV_CLEANUP(yaml_document_delete) yaml_document_t document = {0};
    struct reader reader = {&file, &document, name};
    const yaml_node_t *root;

    if (!yaml_parser_initialize(&parser))
        return cv_fail(err, CV_INTERNAL, "the YAML parser did not start");
    yaml_parser_set_input_string(&parser, (const unsigned char *)(text.ptr ? text.ptr : ""),
                                 text.length);
    if (!yaml_parser_load(&parser, &document))
        return fail_yaml(&parser, name, err);
    file.path = cv_arena_strdup(&file.arena, name);
    file.folder = cv_arena_strdup(&file.arena, folder);
    root = yaml_document_get_root_node(&document);
    if (!root || root->type != YAML_MAPPING_NODE) {
        (void)cv_fail(err, CV_CONFIG, "%s is not a job file: it has no sections", name);
        cv_hint(err, "docs/CONFIGURATION.md shows a whole one");
        return CV_CONFIG;
    }
    CV_TRY(read_top(&reader, root, err), err, "%s", name);
    *ret_file = file;
    file = (struct cv_job_file){0};
    return CV_OK;
}

const char *cv_path_resolve(const char *folder, const char *path, struct cv_arena *arena)
{
    char *full = path[0] == '/' ? cv_arena_strdup(arena, path)
                                : cv_arena_printf(arena, "%s/%s", folder, path);
    char *to = full;

    for (const char *from = full; *from;) {
        if (from[0] == '/' && from[1] == '/') {
            from++;
        } else if (from[0] == '/' && from[1] == '.' && (from[2] == '/' || !from[2])) {
            from += 2;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
    return full[0] ? full : "/";
}

enum cv_code cv_job_file_read(const char *path, struct cv_job_file *ret_file, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf text = CV_BUF_INIT(CV_JOB_FILE_BYTES_MAX);
    CV_CLEANUP(cv_arena_release) struct cv_arena arena = CV_ARENA_INIT;
    char working[CV_PATH_BYTES_MAX];
    char *folder;
    enum cv_code code = cv_file_read(path, CV_JOB_FILE_BYTES_MAX, &text, err);

    if (code != CV_OK)
        return cv_fail(err, CV_CONFIG, "%s", err ? cv_arena_strdup(&arena, err->message) : "");
    if (!getcwd(working, sizeof working))
        return cv_fail(err, CV_IO, "the working folder cannot be told");
    folder = cv_arena_strdup(&arena, cv_path_resolve(working, path, &arena));
    *CV_MAX(strrchr(folder, '/'), folder + 1) = '\0';
    return cv_job_file_parse((struct cv_str){(const char *)text.data, text.length}, path, folder,
                             ret_file, err);
}

enum cv_code cv_job_file_override(struct cv_job_file *file, const char *assignment,
                                  struct cv_error *err)
{
    const char *equals = strchr(assignment, '=');
    const char *key = assignment;
    const char *section = "";
    const char *dot;

    if (!equals || equals == assignment) {
        (void)cv_fail(err, CV_USAGE, "-o %s is not an assignment", assignment);
        cv_hint(err, "write -o section.key=value, for example -o sink.trigger=\"5 seconds\"");
        return CV_USAGE;
    }
    dot = memchr(key, '.', (size_t)(equals - key));
    if (dot && (strncmp(key, "catalogs.", 9) == 0 || strncmp(key, "tables.", 7) == 0)) {
        const char *second = memchr(dot + 1, '.', (size_t)(equals - dot - 1));

        dot = second ? second : dot;
    }
    if (dot) {
        section = cv_arena_strndup(&file->arena, key, (size_t)(dot - key));
        key = dot + 1;
    }
    key = cv_arena_strndup(&file->arena, key, (size_t)(equals - key));
    return add_entry(file, section, key, equals + 1, 0, err);
}

void cv_job_file_release(struct cv_job_file *file)
{
    cv_arena_release(&file->arena);
    free(file->entries);
    *file = (struct cv_job_file){0};
}
