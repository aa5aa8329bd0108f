/* SPDX-License-Identifier: Apache-2.0
 *
 * What a status means for the caller, by what was asked for (reference: ErrorHandlers of the
 * specification). A body may be missing or HTML: the status alone decides. */
#include "catalog/rest/rest_int.h"

#include "base/error_part.h"

#define ANY     31u
#define READ    (1u << CV_REST_READ)
#define CREATE  (1u << CV_REST_CREATE)
#define COMMIT  (1u << CV_REST_COMMIT)
#define DROP    (1u << CV_REST_DROP)
#define CHANGES (CREATE | COMMIT)

static const struct meaning {
    int from, to; /* statuses */
    unsigned verbs;
    enum cv_code code;
    const char *hint;
} meanings[] = {
    {401, 401, ANY, CV_AUTH, "the catalog takes neither `credential` nor `token` as they are"},
    {419, 419, ANY, CV_AUTH, "the token has ended and could not be renewed"},
    {403, 403, ANY, CV_AUTH, "the catalog knows who asks and does not allow it"},
    {404, 404, ANY, CV_NOT_FOUND, NULL},
    {406, 406, ANY, CV_UNSUPPORTED, "the catalog does not offer this"},
    {501, 501, ANY, CV_UNSUPPORTED, "the catalog does not offer this"},
    {409, 409, COMMIT, CV_CONFLICT, NULL},
    {409, 409, CREATE, CV_EXISTS, NULL},
    {409, 409, READ | DROP, CV_CATALOG, NULL},
    {412, 412, COMMIT, CV_CONFLICT, NULL},
    {429, 429, ANY, CV_CATALOG, "the catalog asks for fewer requests"},
    {408, 408, CHANGES, CV_UNKNOWN, NULL},
    {500, 599, CHANGES, CV_UNKNOWN, NULL},
    {500, 599, ANY, CV_CATALOG, "the catalog is not well; see its log"},
    {300, 399, ANY, CV_CATALOG, "it sends elsewhere, which is not followed: correct `uri`"},
    {0, 999, ANY, CV_CATALOG, NULL},
};

enum cv_code cv_rest_fail(const struct cv_rest_call *call, const struct cv_http_response *response,
                          struct cv_error *err)
{
    const struct meaning *meaning = meanings;
    char text[512];

    while (response->status < meaning->from || response->status > meaning->to ||
           !(meaning->verbs & (1u << call->verb)))
        meaning++;
    cv_rest_read_error(response->body.data, response->body.length, text);
    (void)cv_fail(err, meaning->code, "%s: HTTP status %d%s%s", call->what, response->status,
                  *text ? ", " : "", text);
    if (meaning->hint)
        cv_hint(err, "%s", meaning->hint);
    if (response->status == 401 || response->status == 419)
        cv_error_set_part(err, CV_PART_AUTHORIZATION);
    if (err && meaning->code == CV_CATALOG && cv_retry_status(response->status))
        err->flags |= CV_ERROR_RETRIABLE;
    return meaning->code;
}
