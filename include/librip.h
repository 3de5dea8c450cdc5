/* SPDX-License-Identifier: Apache-2.0 */
/* librip.h - the one include of a traced application. The contract is in rip/rip.h. */
#ifndef LIBRIP_H
#define LIBRIP_H

#include "rip/rip.h"

#endif
