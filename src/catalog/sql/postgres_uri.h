/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to catalog/sql/: the uri of a PostgreSQL database in the forms of libpq
 * ("postgresql://user:password@host:port/db?sslmode=…"), SQLAlchemy ("postgresql+psycopg2://…") and
 * Java ("jdbc:postgresql://host:port/db?user=…&ssl=true"), taken apart into what libpq takes. */
#ifndef CALVE_CATALOG_SQL_POSTGRES_URI_H
#define CALVE_CATALOG_SQL_POSTGRES_URI_H

#include "base/memory.h"

#define CV_POSTGRES_CONNECT_MS 10000
#define CV_POSTGRES_ANSWER_MS  30000

#define CV_POSTGRES_KEYWORDS_MAX 64

/* Lives in the arena. */
struct cv_postgres_target {
    const char *keywords[CV_POSTGRES_KEYWORDS_MAX + 1]; /* of libpq, each once; ends with NULL */
    const char *values[CV_POSTGRES_KEYWORDS_MAX + 1];
    size_t count;
    int64_t connect_ms;   /* connect_timeout, connectTimeout, loginTimeout */
    int64_t answer_ms;    /* socketTimeout: how long an answer is waited for */
    const char *location; /* "postgresql://host:5432/db": for messages, without credentials */
};

/* `user` and `password` (NULL = not given) count over those of the uri. Messages name no value of
 * the uri but its host, port and database. */
enum cv_code cv_postgres_target_parse(const char *uri, const char *user, const char *password,
                                      struct cv_arena *arena, struct cv_postgres_target *ret_target,
                                      struct cv_error *err);
/* How many hosts are named, at least one. */
size_t cv_postgres_target_hosts(const struct cv_postgres_target *target);
/* The values with the host number `turn`, from 0, first and those before it last; in the arena. */
const char **cv_postgres_target_values(const struct cv_postgres_target *target, size_t turn,
                                       struct cv_arena *arena);

#endif
