/* SPDX-License-Identifier: Apache-2.0 */
/*
 * documents_small.c - the documents that are no list: version, health, problem. Pure.
 *
 * Guarantees
 *   A. A problem may quote what a client sent: its detail and parameter are shown like any bytes of unknown origin.
 */
#include "view/documents.h"

#include <string.h>

#include "view/document_parts.h"

int document_version(char **ret_text, size_t *ret_length)
{
    struct json_writer writer;

    json_init(&writer);
    json_object_begin(&writer);
    json_key(&writer, "schema");
    json_text(&writer, "ripd/version/1");
    json_key(&writer, "version");
    json_text(&writer, RIP_VERSION);
    json_key(&writer, "compiler");
    json_text(&writer, __VERSION__);
    json_key(&writer, "ring_format");
    json_uint(&writer, RIP_FORMAT_VERSION);
    return part_finish(&writer, ret_text, ret_length);
}

int document_health(const char *status, char **ret_text, size_t *ret_length)
{
    struct json_writer writer;

    json_init(&writer);
    json_object_begin(&writer);
    json_key(&writer, "schema");
    json_text(&writer, "ripd/health/1");
    json_key(&writer, "status");
    json_text(&writer, status);
    return part_finish(&writer, ret_text, ret_length);
}

int document_problem(int status, const char *title, const char *detail, const char *parameter, char **ret_text,
                     size_t *ret_length)
{
    struct json_writer writer;

    json_init(&writer);
    json_object_begin(&writer);
    json_key(&writer, "type");
    json_text(&writer, "about:blank");
    json_key(&writer, "title");
    json_text(&writer, title);
    json_key(&writer, "status");
    json_uint(&writer, (uint64_t)status);
    if (detail != NULL) {
        json_key(&writer, "detail");
        json_text(&writer, detail);
    }
    if (parameter != NULL) {
        json_key(&writer, "parameter");
        json_text(&writer, parameter);
    }
    return part_finish(&writer, ret_text, ret_length);
}
