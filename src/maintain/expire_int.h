/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to expire_snapshots: the files that go with expired snapshots, and the reasons why the
 * others stay. */
#ifndef CALVE_MAINTAIN_EXPIRE_INT_H
#define CALVE_MAINTAIN_EXPIRE_INT_H

#include "maintain/removals.h"
#include "table/expire.h"

/* What only the expired snapshots reach: data and delete files, manifests, lists, statistics. An
 * expired list or manifest that cannot be read is told and left out, as its files stay; one that a
 * retained snapshot names is a failure. */
enum cv_code cv_expired_files(const struct cv_maintenance *maintenance,
                              const struct cv_expire_result *expired, struct cv_removals *removals,
                              struct cv_error *err);

/* Notes which snapshots and refs went. */
void cv_expire_note_gone(const struct cv_expire_result *expired, bool dry_run,
                         struct cv_maintain_result *result);
/* Notes the snapshots that the rules alone would take and that stay for a stream's position; with
 * `all` every one that stays, and why. */
enum cv_code cv_expire_note_kept(const struct cv_expire_result *expired,
                                 const struct cv_expire_rules *rules, bool all,
                                 struct cv_maintain_result *result, struct cv_error *err);

#endif
