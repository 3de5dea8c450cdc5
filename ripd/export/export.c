/* SPDX-License-Identifier: Apache-2.0 */
/* export.c - see export.h. Pure. */
#include "export/export.h"

#include <stdlib.h>

struct exporter *export_new(const struct export_format *format, const struct export_output *output, struct known *known)
{
    struct exporter *exporter = calloc(1, format->bytes);

    if (exporter != NULL)
        *exporter = (struct exporter){format, *output, known};
    return exporter;
}

void export_free(struct exporter *exporter)
{
    if (exporter != NULL)
        exporter->format->done(exporter);
    free(exporter);
}
