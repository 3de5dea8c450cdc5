/* SPDX-License-Identifier: Apache-2.0 */
/* work_test.h - refusals of a limit, summed over all users. */
#ifndef WORK_TEST_H
#define WORK_TEST_H

#include "work/work.h"

static inline uint64_t work_refused_count(const struct work *work, enum work_limit limit)
{
    struct work_account account;
    uint64_t count = 0;

    for (size_t i = 0; work_account(work, i, &account); i++)
        count += account.refused[limit];
    return count;
}

#endif
