/* SPDX-License-Identifier: Apache-2.0
 *
 * What the job subscribes to: topics, a pattern, or partitions. */
#ifndef CALVE_KAFKA_SUBSCRIPTION_H
#define CALVE_KAFKA_SUBSCRIPTION_H

#include "kafka/source.h"

enum cv_subscription_kind { CV_SUBSCRIBE, CV_SUBSCRIBE_PATTERN, CV_ASSIGN };

struct cv_subscription {
    struct cv_arena arena;
    enum cv_subscription_kind kind;
    char **topics; /* named ones: of subscribe and assign */
    size_t topic_count;
    struct cv_offsets assigned; /* of assign; the offsets have no meaning */
    struct cv_regex *pattern;   /* compiled */
    const char *description;    /* "Subscribe[orders]" */
};

enum cv_code cv_subscription_parse(const struct cv_source_options *options,
                                   struct cv_subscription *ret_subscription, struct cv_error *err);
void cv_subscription_release(struct cv_subscription *subscription);
/* True if the pattern is found in the topic's name; internal topics never match. */
bool cv_subscription_matches(const struct cv_subscription *subscription, const char *topic);
bool cv_topic_is_internal(const char *topic);
/* True if the value of startingOffsets is this word, blanks and case aside. */
bool cv_starting_is(const char *text, const char *word);

#endif
