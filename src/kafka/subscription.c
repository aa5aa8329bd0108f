/* SPDX-License-Identifier: Apache-2.0
 *
 * Parsing of subscribe, subscribePattern and assign. Patterns are Java's: PCRE2 reads that syntax,
 * and the search is unanchored ("ord" matches "orders"), as with Spark's admin path. */
#include "kafka/subscription.h"

#include "base/limits.h"
#include "codec/regex.h"

#include <stdio.h>

static enum cv_code parse_topics(const char *text, struct cv_subscription *s, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf name = CV_BUF_INIT(0);

    s->kind = CV_SUBSCRIBE;
    s->topics = cv_split(&s->arena, text, ',', &s->topic_count);
    if (s->topic_count == 0)
        return cv_fail(err, CV_CONFIG, "source.subscribe names no topic");
    if (s->topic_count > CV_PARTITIONS_MAX)
        return cv_fail(err, CV_LIMIT, "source.subscribe names more than %d topics",
                       CV_PARTITIONS_MAX);
    cv_buf_append_text(&name, "Subscribe[");
    for (size_t i = 0; i < s->topic_count; i++) {
        if (strlen(s->topics[i]) > 249)
            return cv_fail(err, CV_CONFIG,
                           "source.subscribe: a topic name has more than 249 bytes");
        cv_buf_printf(&name, "%s%s", i ? ", " : "", s->topics[i]);
    }
    cv_buf_append_text(&name, "]");
    s->description = cv_arena_strdup(&s->arena, cv_buf_text(&name));
    return CV_OK;
}

static enum cv_code parse_pattern(const char *text, struct cv_subscription *s, struct cv_error *err)
{
    s->kind = CV_SUBSCRIBE_PATTERN;
    CV_TRY(cv_regex_compile(text, &s->pattern, err), err, "source.subscribePattern");
    s->description = cv_arena_printf(&s->arena, "SubscribePattern[%s]", text);
    return CV_OK;
}

static enum cv_code add_assigned(struct cv_subscription *s, const char *topic,
                                 const struct cv_json *list, struct cv_buf *name,
                                 struct cv_error *err)
{
    if (!cv_json_is_array(list))
        return cv_fail(err, CV_CONFIG, "source.assign: topic %s: not a list of partitions", topic);
    for (size_t i = 0; i < cv_json_size(list); i++) {
        const struct cv_json *item = cv_json_at(list, i);
        int64_t partition = cv_json_is_integer(item) ? cv_json_integer(item) : -1;

        if (partition < 0 || partition > INT32_MAX)
            return cv_fail(err, CV_CONFIG, "source.assign: topic %s: item %zu is not a partition",
                           topic, i);
        if (s->assigned.count >= CV_PARTITIONS_MAX)
            return cv_fail(err, CV_LIMIT, "source.assign: more than %d partitions",
                           CV_PARTITIONS_MAX);
        cv_buf_printf(name, "%s%s-%d", s->assigned.count ? ", " : "", topic, (int)partition);
        cv_offsets_set(&s->assigned, topic, (int32_t)partition, 0);
    }
    s->topics[s->topic_count++] = cv_arena_strdup(&s->arena, topic);
    return CV_OK;
}

static enum cv_code parse_assign(const char *text, struct cv_subscription *s, struct cv_error *err)
{
    CV_CLEANUP(cv_json_freep) struct cv_json *root = NULL;
    CV_CLEANUP(cv_buf_release) struct cv_buf name = CV_BUF_INIT(0);
    const struct cv_json *list;
    const char *topic;
    size_t position = 0;

    s->kind = CV_ASSIGN;
    if (cv_json_parse(text, strlen(text), &root, err) != CV_OK || !cv_json_is_object(root)) {
        (void)cv_fail(err, CV_CONFIG, "source.assign is not a JSON object");
        cv_hint(err, "write {\"topic\":[0,1]}");
        return CV_CONFIG;
    }
    s->topics = cv_arena_array(&s->arena, char *, cv_json_size(root) + 1);
    cv_buf_append_text(&name, "Assign[");
    while ((topic = cv_json_next(root, &position, &list)))
        CV_DO(add_assigned(s, topic, list, &name, err));
    if (s->assigned.count == 0)
        return cv_fail(err, CV_CONFIG, "source.assign names no partition");
    cv_buf_append_text(&name, "]");
    s->description = cv_arena_strdup(&s->arena, cv_buf_text(&name));
    return CV_OK;
}

enum cv_code cv_subscription_parse(const struct cv_source_options *o,
                                   struct cv_subscription *ret_subscription, struct cv_error *err)
{
    CV_CLEANUP(cv_subscription_release) struct cv_subscription s = {0};
    int given = (o->subscribe != NULL) + (o->subscribe_pattern != NULL) + (o->assign != NULL);

    if (given != 1) {
        (void)cv_fail(err, CV_CONFIG, "source: %s of subscribe, subscribePattern and assign is set",
                      given == 0 ? "none" : "more than one");
        cv_hint(err, "set exactly one of them");
        return CV_CONFIG;
    }
    if (o->subscribe)
        CV_DO(parse_topics(o->subscribe, &s, err));
    else if (o->subscribe_pattern)
        CV_DO(parse_pattern(o->subscribe_pattern, &s, err));
    else
        CV_DO(parse_assign(o->assign, &s, err));
    *ret_subscription = s;
    memset(&s, 0, sizeof s);
    return CV_OK;
}

void cv_subscription_release(struct cv_subscription *s)
{
    if (!s)
        return;
    cv_regex_free(s->pattern);
    cv_offsets_release(&s->assigned);
    cv_arena_release(&s->arena);
    memset(s, 0, sizeof *s);
}

bool cv_topic_is_internal(const char *topic)
{
    return strcmp(topic, "__consumer_offsets") == 0 || strcmp(topic, "__transaction_state") == 0 ||
           strcmp(topic, "__share_group_state") == 0;
}

bool cv_subscription_matches(const struct cv_subscription *s, const char *topic)
{
    CV_CLEANUP(cv_regex_match_freep) struct cv_regex_match *match = NULL;

    if (cv_topic_is_internal(topic))
        return false;
    match = cv_regex_match_new(s->pattern);
    return cv_regex_search(match, cv_str_from(topic), 0) == CV_REGEX_FOUND;
}

bool cv_starting_is(const char *text, const char *word)
{
    struct cv_str trimmed = cv_str_trim(cv_str_from(text));

    return trimmed.length == strlen(word) && strncasecmp(trimmed.ptr, word, trimmed.length) == 0;
}
