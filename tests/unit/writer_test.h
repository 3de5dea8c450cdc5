/* SPDX-License-Identifier: Apache-2.0 */
/* writer_test.h - scenes in which the writer's private state is looked at, or changed. */
#ifndef WRITER_TEST_H
#define WRITER_TEST_H

#include "unit/ring_scene.h"

#include "writer.h"

#endif
