/* SPDX-License-Identifier: Apache-2.0 */
/* writer_test.h - forked tests that read or change the private state of the writer. */
#ifndef WRITER_TEST_H
#define WRITER_TEST_H

#include "unit/forked_test.h"

#include "writer.h"

enum { BOTH_LOCKS = RIP_PROCESS_HAS_HOLDER_LOCK | RIP_PROCESS_HAS_LIFE_LOCK };

#endif
