/* SPDX-License-Identifier: Apache-2.0 */
/* demangle.c - see demangle.h. */
#include "sym/child/demangle.h"

#include <stddef.h>

/* Of the Itanium C++ ABI, section 3.4; libstdc++ has it with C linkage. */
extern char *__cxa_demangle(const char *mangled_name, char *output_buffer, size_t *length, int *status);

char *demangle(const char *name)
{
    int status;

    return name[0] == '_' && name[1] == 'Z' ? __cxa_demangle(name, NULL, NULL, &status) : NULL;
}
