/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading of XML answers. */
#include "storage/xml.h"

#include <expat.h>
#include <stdio.h>

#define PATH_BYTES_MAX 512

struct reader {
    XML_Parser parser;
    cv_xml_take *take;
    void *context;
    char path[PATH_BYTES_MAX];
    size_t depth;
    struct cv_buf text;
    const char *wrong; /* why reading was stopped */
};

static void stop(struct reader *reader, const char *why)
{
    reader->wrong = reader->wrong ? reader->wrong : why;
    (void)XML_StopParser(reader->parser, XML_FALSE);
}

static void XMLCALL begin_element(void *context, const XML_Char *name, const XML_Char **attributes)
{
    struct reader *reader = context;
    size_t length = strlen(reader->path);
    const char *colon = strrchr(name, ':');

    (void)attributes;
    name = colon ? colon + 1 : name;
    cv_buf_clear(&reader->text);
    if (reader->depth == CV_XML_DEPTH_MAX || length + strlen(name) + 2 > PATH_BYTES_MAX) {
        stop(reader, "elements nest too deeply");
        return;
    }
    (void)snprintf(reader->path + length, PATH_BYTES_MAX - length, "%s%s", length ? "/" : "", name);
    reader->depth++;
}

static void XMLCALL end_element(void *context, const XML_Char *name)
{
    struct reader *reader = context;
    char *slash = strrchr(reader->path, '/');

    (void)name;
    if (reader->wrong)
        return;
    reader->take(reader->context, reader->path,
                 (struct cv_str){cv_buf_text(&reader->text), reader->text.length});
    cv_buf_clear(&reader->text);
    if (slash)
        *slash = '\0';
    else
        reader->path[0] = '\0';
    reader->depth--;
}

static void XMLCALL take_characters(void *context, const XML_Char *text, int length)
{
    struct reader *reader = context;

    cv_buf_append(&reader->text, text, (size_t)length);
    if (reader->text.failed)
        stop(reader, "a text is too long");
}

static void XMLCALL refuse_document_type(void *context, const XML_Char *name,
                                         const XML_Char *system, const XML_Char *public,
                                         int has_internal)
{
    (void)name;
    (void)system;
    (void)public;
    (void)has_internal;
    stop(context, "it declares a document type");
}

enum cv_code cv_xml_read(const void *bytes, size_t length, cv_xml_take *take, void *context,
                         struct cv_error *err)
{
    struct reader reader = {
        .take = take, .context = context, .text = CV_BUF_INIT(CV_XML_TEXT_BYTES_MAX)};
    struct cv_str body = cv_str_trim((struct cv_str){bytes, length}); /* blanks keep a wait alive */
    enum cv_code code = CV_OK;

    if (length > CV_XML_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "answer of %zu bytes is too long", length);
    reader.parser = XML_ParserCreate("UTF-8");
    if (!reader.parser)
        return cv_fail(err, CV_INTERNAL, "cannot start the XML parser");
    XML_SetUserData(reader.parser, &reader);
    XML_SetElementHandler(reader.parser, begin_element, end_element);
    XML_SetCharacterDataHandler(reader.parser, take_characters);
    XML_SetStartDoctypeDeclHandler(reader.parser, refuse_document_type);
    if (XML_Parse(reader.parser, body.length ? body.ptr : "", (int)body.length, XML_TRUE) !=
        XML_STATUS_OK)
        code =
            cv_fail(err, CV_FORMAT, "answer is not XML at byte %ld: %s",
                    (long)XML_GetCurrentByteIndex(reader.parser),
                    reader.wrong ? reader.wrong : XML_ErrorString(XML_GetErrorCode(reader.parser)));
    XML_ParserFree(reader.parser);
    cv_buf_release(&reader.text);
    return code;
}
