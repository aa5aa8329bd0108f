/* SPDX-License-Identifier: Apache-2.0
 *
 * Fault points for tests: CALVE_FAULT=point[:nth][=fail|=stop] ends the process as kill -9 would
 * at the nth passage of a point, makes the step fail, or stops the process until SIGCONT. Built
 * unless -Dfaults=false; `make install` builds without. The names are those of the steps of a
 * micro-batch (src/stream/README.md). */
#ifndef CALVE_BASE_FAULT_H
#define CALVE_BASE_FAULT_H

#include "base/error.h"

#define CV_FAULT_POINTS(X)                                                                         \
    X("plan")                                                                                      \
    X("offsets-written")                                                                           \
    X("file-open")                                                                                 \
    X("file-half")                                                                                 \
    X("file-closed")                                                                               \
    X("files-done") X("manifest-written") X("manifest-list-written") X("metadata-written")         \
        X("commit-sent") X("commit-done") X("commits-written") X("lag-published") X("purge")       \
            X("rebase-staged") X("rebase-half") X("memo-written") X("delete-half")                 \
                X("rewrite-half") X("state-file") X("state-manifest") X("state-written")

#ifdef CV_FAULTS
/* CV_OK, or CV_FAULT when the environment asks for it here. */
enum cv_code cv_fault_pass(const char *point, struct cv_error *err);
/* Refuses a CALVE_FAULT that names no point. */
enum cv_code cv_fault_check_environment(struct cv_error *err);
#else
static inline enum cv_code cv_fault_pass(const char *point, struct cv_error *err)
{
    (void)point;
    (void)err;
    return CV_OK;
}
static inline enum cv_code cv_fault_check_environment(struct cv_error *err)
{
    (void)err;
    return CV_OK;
}
#endif

#endif
