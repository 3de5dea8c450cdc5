/* SPDX-License-Identifier: Apache-2.0 */
/* librip.h - the only header that a traced application includes. The contract is in rip/rip.h. */
#ifndef LIBRIP_H
#define LIBRIP_H

#include "rip/rip.h"

#endif
