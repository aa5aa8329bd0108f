/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro's schema resolution (specification: Schema Resolution): which field of the writer and which
 * branch of the reader belong together. Names of records are compared only to choose between
 * branches; a record meets a record whatever they are called, as Java's reader has it. */
#include "avro/plan_int.h"

static const char *short_name(const char *full)
{
    const char *dot = strrchr(full, '.');

    return dot ? dot + 1 : full;
}

static bool names_match(const struct cv_avro_type *writer, const struct cv_avro_type *reader)
{
    if (strcmp(short_name(writer->name), short_name(reader->name)) == 0)
        return true;
    for (size_t i = 0; i < reader->alias_count; i++)
        if (strcmp(reader->aliases[i], writer->name) == 0)
            return true;
    return false;
}

static bool promotes(enum cv_avro_kind writer, enum cv_avro_kind reader)
{
    switch (writer) {
    case CV_AVRO_INT:
        return reader == CV_AVRO_LONG || reader == CV_AVRO_FLOAT || reader == CV_AVRO_DOUBLE;
    case CV_AVRO_LONG:
        return reader == CV_AVRO_FLOAT || reader == CV_AVRO_DOUBLE;
    case CV_AVRO_FLOAT:
        return reader == CV_AVRO_DOUBLE;
    case CV_AVRO_STRING:
        return reader == CV_AVRO_BYTES;
    case CV_AVRO_BYTES:
        return reader == CV_AVRO_STRING;
    default:
        return false;
    }
}

static bool decimals_agree(const struct cv_avro_type *writer, const struct cv_avro_type *reader)
{
    return writer->logical != CV_AVRO_LOGICAL_DECIMAL ||
           reader->logical != CV_AVRO_LOGICAL_DECIMAL ||
           (writer->scale == reader->scale && writer->precision <= reader->precision);
}

/* How well two types that are no unions fit: 0 not at all, then promoted, same kind, same name. */
static int fit(const struct cv_avro_type *writer, const struct cv_avro_type *reader)
{
    if (writer->kind != reader->kind)
        return promotes(writer->kind, reader->kind) ? 1 : 0;
    if (!decimals_agree(writer, reader))
        return 0;
    if (writer->kind == CV_AVRO_FIXED && writer->size != reader->size)
        return 0;
    if (!writer->name)
        return 3;
    if (strcmp(writer->name, reader->name) == 0)
        return 4;
    return names_match(writer, reader) ? 3 : 2;
}

const struct cv_avro_type *cv_plan_resolve(const struct cv_avro_type *writer,
                                           const struct cv_avro_type *reader)
{
    const struct cv_avro_type *best = NULL;
    int best_fit = 0;

    if (reader->kind != CV_AVRO_UNION)
        return fit(writer, reader) ? reader : NULL;
    for (size_t i = 0; i < reader->branch_count; i++) {
        int this_fit = fit(writer, reader->branches[i]);

        if (this_fit > best_fit) {
            best = reader->branches[i];
            best_fit = this_fit;
        }
    }
    return best;
}

bool cv_plan_accepts_null(const struct cv_avro_type *reader)
{
    if (!reader || reader->kind == CV_AVRO_NULL)
        return true;
    if (reader->kind != CV_AVRO_UNION)
        return false;
    for (size_t i = 0; i < reader->branch_count; i++)
        if (reader->branches[i]->kind == CV_AVRO_NULL)
            return true;
    return false;
}

static bool has_alias(const struct cv_avro_field *field, const char *name)
{
    for (size_t i = 0; i < field->alias_count; i++)
        if (strcmp(field->aliases[i], name) == 0)
            return true;
    return false;
}

/* By exact name, then in another letter case if that is allowed, then by alias. */
static const struct cv_avro_field *find_field(const struct cv_avro_type *record, const char *name,
                                              bool case_sensitive, bool *ret_ambiguous)
{
    const struct cv_avro_field *found = NULL;
    size_t count = 0;

    for (size_t i = 0; i < record->field_count; i++)
        if (strcmp(record->fields[i].name, name) == 0)
            return &record->fields[i];
    for (size_t i = 0; i < record->field_count && !case_sensitive; i++)
        if (cv_text_equal_nocase(record->fields[i].name, name)) {
            found = &record->fields[i];
            count++;
        }
    for (size_t i = 0; i < record->field_count && count == 0; i++)
        if (has_alias(&record->fields[i], name))
            return &record->fields[i];
    *ret_ambiguous = count > 1;
    return count == 1 ? found : NULL;
}

static const struct cv_avro_field *writer_field_of(const struct cv_avro_type *writer,
                                                   const struct cv_avro_field *reader_field)
{
    for (size_t i = 0; i < writer->field_count; i++)
        if (strcmp(writer->fields[i].name, reader_field->name) == 0)
            return &writer->fields[i];
    for (size_t i = 0; i < writer->field_count; i++)
        if (has_alias(reader_field, writer->fields[i].name))
            return &writer->fields[i];
    return NULL;
}

struct cv_plan_source cv_plan_find_source(const struct cv_avro_type *writer,
                                          const struct cv_avro_type *reader, const char *name,
                                          bool case_sensitive)
{
    struct cv_plan_source source = {0};

    if (!reader) {
        source.writer_field = find_field(writer, name, case_sensitive, &source.ambiguous);
        return source;
    }
    source.reader_field = find_field(reader, name, case_sensitive, &source.ambiguous);
    if (source.reader_field)
        source.writer_field = writer_field_of(writer, source.reader_field);
    return source;
}
