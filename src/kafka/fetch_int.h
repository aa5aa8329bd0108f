/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of fetching share: fetch.c the flow, trouble.c what goes wrong. */
#ifndef CALVE_KAFKA_FETCH_INT_H
#define CALVE_KAFKA_FETCH_INT_H

#include "kafka/source_int.h"

/* fetch.c: everything before `next` is done with, whether it held records or not. */
void cv_fetch_pass(struct cv_source *source, struct cv_fetch_partition *partition, int64_t next);
struct cv_fetch_chunk *cv_fetch_last_held(struct cv_fetch *fetch);

/* trouble.c: an event of the queue that is not a record. `partition` may be NULL. */
void cv_fetch_on_error(struct cv_source *source, struct cv_fetch_partition *partition,
                       const rd_kafka_message_t *message);
/* Partitions out of range, lost topics, too much held over; called outside the callback. */
enum cv_code cv_fetch_attend(struct cv_source *source, struct cv_error *err);
/* CV_TIMEOUT naming a partition that does not move. */
enum cv_code cv_fetch_time_out(struct cv_source *source, struct cv_error *err);
/* Makes the client look at its queue: it sleeps up to a second after it found it full. */
void cv_fetch_wake(struct cv_source *source);

/* fingerprint.c: CRC-32C over key and value with their lengths. */
uint32_t cv_record_crc(const struct cv_record *record);

/* Whether a record at this offset belongs to the range that is open now. */
static inline bool cv_fetch_wants(const struct cv_fetch_partition *p, int64_t offset)
{
    return p->open && offset < p->end;
}

#endif
