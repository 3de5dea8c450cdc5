/* SPDX-License-Identifier: Apache-2.0 */
/* other_name.h - starts ripd's end of ripd-probe with this program, under a name that selects what its main() does. */
#ifndef TESTS_UNIT_OTHER_NAME_H
#define TESTS_UNIT_OTHER_NAME_H

#include <limits.h>
#include <unistd.h>

#include "probe/remote.h"
#include "support/ring_stage.h"
#include "support/test.h"

static inline struct remote *remote_by_name(const char *name)
{
    struct remote *remote = NULL;
    struct ring_stage stage;
    char self[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(length > 0);
    self[length] = '\0';
    ring_stage_open(&stage);
    assert_int_equal(symlink(self, ring_stage_path(&stage, name)), 0);
    assert_int_equal(remote_new(&remote, ring_stage_path(&stage, name), -1), 0);
    ring_stage_close(&stage);
    return remote;
}

#endif
