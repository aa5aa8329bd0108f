/* SPDX-License-Identifier: Apache-2.0
 *
 * What a broker says about a job's partitions, for `calve doctor`: where they begin and end, what
 * the group for monitoring shows, how long records are kept, and how old the next one to read is.
 * Nothing is changed at the broker. */
#ifndef CALVE_KAFKA_HEALTH_H
#define CALVE_KAFKA_HEALTH_H

#include "kafka/source.h"

#define CV_RETENTION_FOR_EVER (-1)
#define CV_RETENTION_UNKNOWN  (-2)

struct cv_partition_health {
    const char *topic;
    int32_t partition;
    int64_t position; /* the next record to read; of a partition that is new: its earliest */
    int64_t earliest, latest;
    int64_t committed; /* of the group; -1 = none */
    int64_t unread_ms; /* time of the record at the position; -1 = there is none, or not known */
};

struct cv_topic_health {
    const char *topic;
    int64_t retention_ms; /* CV_RETENTION_FOR_EVER when nothing is deleted by time */
};

struct cv_source_health {
    struct cv_arena arena;
    struct cv_partition_health *partitions; /* by topic, then partition */
    size_t count;
    struct cv_topic_health *topics;
    size_t topic_count;
};

/* `positions`: the next records to read, as the table has them. `group` "" = none. What the broker
 * does not tell stays unknown; only an unreachable one is an error. The source must have no open
 * range. */
enum cv_code cv_source_examine(struct cv_source *source, const char *group,
                               const struct cv_offsets *positions,
                               struct cv_source_health *ret_health, struct cv_error *err);
void cv_source_health_release(struct cv_source_health *health);
/* NULL when it was not asked about. */
const struct cv_topic_health *cv_source_health_topic(const struct cv_source_health *health,
                                                     const char *topic);

#endif
