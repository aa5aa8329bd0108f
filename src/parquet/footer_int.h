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
    size_t group_capacity;
    bool *typed_orders; /* per leaf: TypeDefinedOrder; NULL = the file tells no orders */
    bool encrypted;
};

/* A text of the footer in its arena; one with a NUL inside is a failure of the parser. */
const char *cv_footer_text(struct cv_footer_parser *parser, struct cv_str text);

/* footer_schema.c: the list of SchemaElement becomes nodes and leaves. */
enum cv_code cv_footer_parse_schema(struct cv_footer_parser *parser,
                                    const struct cv_thrift_field *field, struct cv_error *err);
/* footer_statistics.c */
void cv_footer_parse_statistics(struct cv_footer_parser *parser, struct cv_parquet_statistics *ret);
/* Drops what a chunk's statistics say in an order that is not Iceberg's. */
void cv_footer_check_statistics(struct cv_footer_parser *parser, const struct cv_parquet_node *leaf,
                                bool typed_order, struct cv_parquet_statistics *statistics);

#endif
