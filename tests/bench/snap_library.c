/* SPDX-License-Identifier: Apache-2.0 */
/* snap_library.c - the contenders of bench_snap in a shared library. */
#define SNAP_FORMS_PREFIX library_
#include "snap_forms.h"
