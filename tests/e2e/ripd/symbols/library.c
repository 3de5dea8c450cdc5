/* SPDX-License-Identifier: Apache-2.0 */
/* library.c - a library that target.c loads at run time. */
#include <librip.h>

volatile int library_sink;

void library_work(void);
void library_work(void)
{
    rip_snap(); /* MARK library_work */
    library_sink++;
}
