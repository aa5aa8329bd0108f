/* SPDX-License-Identifier: Apache-2.0
 *
 * What the parts of the footer's parser share. */
#ifndef CALVE_PARQUET_FOOTER_INT_H
#define CALVE_PARQUET_FOOTER_INT_H

#include "codec/thrift.h"
#include "parquet/footer.h"

struct cv_footer_parser {
    struct cv_thrift_reader thrift;
    struct cv_parquet_footer *footer;
    bool encrypted;
};

/* A text of the footer in its arena; one with a NUL inside is a failure of the parser. */
const char *cv_footer_text(struct cv_footer_parser *parser, struct cv_str text);

/* footer_schema.c: the list of SchemaElement becomes nodes and leaves. */
enum cv_code cv_footer_parse_schema(struct cv_footer_parser *parser,
                                    const struct cv_thrift_field *field, struct cv_error *err);
/* footer_statistics.c: a struct Statistics whose fields follow; the bounds lie in the bytes read.
 */
void cv_parse_statistics(struct cv_thrift_reader *thrift, struct cv_parquet_statistics *ret);
/* Whether bounds of the leaf, of the deprecated fields or not, are in Iceberg's order. */
bool cv_order_is_known(const struct cv_parquet_node *leaf, bool deprecated);
/* Drops bounds whose order is not Iceberg's, and copies the others into the arena. */
void cv_check_statistics(const struct cv_parquet_node *leaf,
                         struct cv_parquet_statistics *statistics, struct cv_arena *arena);

#endif
