/* SPDX-License-Identifier: Apache-2.0
 *
 * Conditions put together: AND, OR, NOT in three-valued logic, and the two-valued tree that is left
 * at the end. */
#include "schema/predicate_int.h"

static const struct cv_predicate true_predicate = {.kind = CV_PREDICATE_TRUE};
static const struct cv_predicate false_predicate = {.kind = CV_PREDICATE_FALSE};
const struct cv_predicate cv_predicate_unknown = {.kind = CV_PREDICATE_FALSE};

const struct cv_predicate *cv_predicate_constant(bool value)
{
    return value ? &true_predicate : &false_predicate;
}

bool cv_predicate_too_large(const struct cv_predicate_parser *parser)
{
    return parser->node_count > CV_PREDICATE_NODES_MAX;
}

static bool is_constant(const struct cv_predicate *predicate, enum cv_predicate_kind kind)
{
    return predicate->kind == kind && predicate != &cv_predicate_unknown;
}

static const struct cv_predicate *join_two(struct cv_predicate_parser *parser,
                                           enum cv_predicate_kind kind,
                                           const struct cv_predicate *left,
                                           const struct cv_predicate *right)
{
    enum cv_predicate_kind neutral =
        kind == CV_PREDICATE_AND ? CV_PREDICATE_TRUE : CV_PREDICATE_FALSE;
    enum cv_predicate_kind decisive =
        kind == CV_PREDICATE_AND ? CV_PREDICATE_FALSE : CV_PREDICATE_TRUE;
    struct cv_predicate *both;

    if (is_constant(left, neutral) || is_constant(right, decisive))
        return right;
    if (is_constant(right, neutral) || is_constant(left, decisive))
        return left;
    both = cv_arena_new(parser->arena, struct cv_predicate);
    *both = (struct cv_predicate){.kind = kind, .left = left, .right = right};
    parser->node_count++;
    return both;
}

const struct cv_predicate *cv_predicate_join(struct cv_predicate_parser *parser,
                                             enum cv_predicate_kind kind,
                                             const struct cv_predicate *const *parts, size_t count)
{
    if (count == 1)
        return parts[0];
    return join_two(parser, kind, cv_predicate_join(parser, kind, parts, count / 2),
                    cv_predicate_join(parser, kind, parts + count / 2, count - count / 2));
}

const struct cv_predicate *cv_predicate_not(struct cv_predicate_parser *parser,
                                            const struct cv_predicate *predicate)
{
    static const enum cv_predicate_kind opposites[] = {
        [CV_PREDICATE_LESS] = CV_PREDICATE_GREATER_EQUAL,
        [CV_PREDICATE_LESS_EQUAL] = CV_PREDICATE_GREATER,
        [CV_PREDICATE_GREATER] = CV_PREDICATE_LESS_EQUAL,
        [CV_PREDICATE_GREATER_EQUAL] = CV_PREDICATE_LESS,
        [CV_PREDICATE_EQUAL] = CV_PREDICATE_NOT_EQUAL,
        [CV_PREDICATE_NOT_EQUAL] = CV_PREDICATE_EQUAL,
        [CV_PREDICATE_IN] = CV_PREDICATE_NOT_IN,
        [CV_PREDICATE_NOT_IN] = CV_PREDICATE_IN,
        [CV_PREDICATE_IS_NULL] = CV_PREDICATE_NOT_NULL,
        [CV_PREDICATE_NOT_NULL] = CV_PREDICATE_IS_NULL,
        [CV_PREDICATE_STARTS_WITH] = CV_PREDICATE_NOT_STARTS_WITH,
        [CV_PREDICATE_NOT_STARTS_WITH] = CV_PREDICATE_STARTS_WITH,
    };
    struct cv_predicate *opposite;

    if (predicate == &cv_predicate_unknown)
        return predicate;
    switch (predicate->kind) {
    case CV_PREDICATE_TRUE:
    case CV_PREDICATE_FALSE:
        return cv_predicate_constant(predicate->kind == CV_PREDICATE_FALSE);
    case CV_PREDICATE_AND:
    case CV_PREDICATE_OR:
        return join_two(
            parser, predicate->kind == CV_PREDICATE_AND ? CV_PREDICATE_OR : CV_PREDICATE_AND,
            cv_predicate_not(parser, predicate->left), cv_predicate_not(parser, predicate->right));
    default:
        opposite = cv_arena_new(parser->arena, struct cv_predicate);
        *opposite = *predicate;
        opposite->kind = opposites[predicate->kind];
        parser->node_count++;
        return opposite;
    }
}

const struct cv_predicate *cv_predicate_finish(struct cv_predicate_parser *parser,
                                               const struct cv_predicate *predicate)
{
    if (predicate == &cv_predicate_unknown)
        return &false_predicate;
    if (predicate->kind != CV_PREDICATE_AND && predicate->kind != CV_PREDICATE_OR)
        return predicate;
    return join_two(parser, predicate->kind, cv_predicate_finish(parser, predicate->left),
                    cv_predicate_finish(parser, predicate->right));
}
