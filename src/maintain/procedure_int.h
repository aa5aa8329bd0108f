/* SPDX-License-Identifier: Apache-2.0
 *
 * Private to maintain/: the procedures, each in a file of its name. */
#ifndef CALVE_MAINTAIN_PROCEDURE_INT_H
#define CALVE_MAINTAIN_PROCEDURE_INT_H

#include "maintain/procedure.h"

extern const struct cv_procedure cv_procedure_expire_snapshots;
extern const struct cv_procedure cv_procedure_remove_orphan_files;
extern const struct cv_procedure cv_procedure_register_table;
extern const struct cv_procedure cv_procedure_rewrite_data_files;

#endif
