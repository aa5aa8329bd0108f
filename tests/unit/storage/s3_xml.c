/* SPDX-License-Identifier: Apache-2.0
 *
 * XML of S3, with the examples of its API reference, and what is refused. */
#include "test.h"

#include "storage/s3_int.h"

static struct cv_error err;

#define NAMESPACE " xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\""

static void error_of_the_reference(void **state)
{
    static const char text[] =
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\n  <Code>NoSuchKey</Code>\n"
        "  <Message>The resource you &lt;requested&gt; does not exist</Message>\n"
        "  <Resource>/mybucket/myfoto.jpg</Resource> \n  <RequestId>4442587FB7D0A2F9</RequestId>\n"
        "</Error>";
    struct s3_error error;

    (void)state;
    assert_true(s3_parse_error(text, strlen(text), &error));
    assert_string_equal(error.code, "NoSuchKey");
    assert_string_equal(error.message, "The resource you <requested> does not exist");
    assert_string_equal(error.request_id, "4442587FB7D0A2F9");
    assert_true(s3_parse_error(text, 90, &error)); /* cut after the code */
    assert_string_equal(error.code, "NoSuchKey");
    assert_false(s3_parse_error("<html>Bad gateway</html>", 24, &error));
    assert_false(s3_parse_error("", 0, &error));
    assert_false(
        s3_parse_error("<DeleteResult><Error><Code>A</Code></Error></DeleteResult>", 58, &error));
}

static void page_of_objects(void **state)
{
    static const char text[] =
        "<?xml version=\"1.0\"?><ListBucketResult" NAMESPACE "><Name>b</Name><Prefix/>"
        "<NextContinuationToken>1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=</"
        "NextContinuationToken>"
        "<IsTruncated>true</IsTruncated><EncodingType>url</EncodingType>"
        "<Contents><Key>happyface.jpg</Key><LastModified>2014-11-21T19:40:05.250Z</LastModified>"
        "<ETag>\"70ee1738b6b21e2c8a43f3a5ab0eee71\"</ETag><Size>11</Size>"
        "<Owner><ID>x</ID><Key>not this</Key></Owner></Contents>"
        "<Contents><Key>a%20b</Key><Size>0</Size></Contents></ListBucketResult>";
    struct cv_arena arena = CV_ARENA_INIT;
    struct s3_page page;

    (void)state;
    CV_ASSERT_OK(s3_parse_page(text, strlen(text), &arena, &page, &err), &err);
    assert_int_equal(page.count, 2);
    assert_true(page.truncated && page.encoded);
    assert_string_equal(page.next, "1ueGcxLPRx1Tr/XYExHnhbYLgveDs2J/wm36Hy4vbOwM=");
    assert_string_equal(page.items[0].key, "happyface.jpg");
    assert_int_equal(page.items[0].size, 11);
    assert_int_equal(page.items[0].time_ms, INT64_C(1416598805250)); /* date -d … +%s */
    assert_int_equal(page.items[1].size, 0);
    assert_int_equal(page.items[1].time_ms, -1);
    cv_arena_release(&arena);
}

static void page_of_uploads(void **state)
{
    static const char text[] =
        "<ListMultipartUploadsResult" NAMESPACE "><NextKeyMarker>my-movie.m2ts</NextKeyMarker>"
        "<NextUploadIdMarker>YW55IGlkZWE</NextUploadIdMarker><IsTruncated>false</IsTruncated>"
        "<Upload><Key>my-divisor</Key><UploadId>XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5nIG11Y2ggbHVjaw"
        "</UploadId><Initiated>2010-11-10T20:48:33.000Z</Initiated></Upload>"
        "</ListMultipartUploadsResult>";
    struct cv_arena arena = CV_ARENA_INIT;
    struct s3_page page;

    (void)state;
    CV_ASSERT_OK(s3_parse_page(text, strlen(text), &arena, &page, &err), &err);
    assert_int_equal(page.count, 1);
    assert_string_equal(page.items[0].id, "XMgbGlrZSBlbHZpbmcncyBub3QgaGF2aW5nIG11Y2ggbHVjaw");
    assert_int_equal(page.items[0].time_ms, INT64_C(1289422113000));
    assert_string_equal(page.next_upload, "YW55IGlkZWE");
    cv_arena_release(&arena);
}

static enum cv_code parse_page(const char *text)
{
    struct cv_arena arena = CV_ARENA_INIT;
    struct s3_page page;
    enum cv_code code = s3_parse_page(text, strlen(text), &arena, &page, &err);

    cv_arena_release(&arena);
    return code;
}

static void what_is_refused(void **state)
{
    static char deep[1000];
    static char wide[40000];

    (void)state;
    CV_ASSERT_FAILS(parse_page("<!DOCTYPE a [<!ENTITY e \"x\">]><a>&e;</a>"), CV_FORMAT,
                    "document type", &err);
    CV_ASSERT_FAILS(parse_page("<a>&e;</a>"), CV_FORMAT, "undefined entity", &err);
    CV_ASSERT_FAILS(parse_page("<a><b></a>"), CV_FORMAT, "byte 8", &err);
    CV_ASSERT_FAILS(parse_page(""), CV_FORMAT, "not XML", &err);
    CV_ASSERT_FAILS(
        parse_page("<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"),
        CV_FORMAT, "without a key", &err);
    CV_ASSERT_FAILS(parse_page("<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></"
                               "Contents></ListBucketResult>"),
                    CV_FORMAT, "bad size", &err);
    CV_ASSERT_FAILS(
        parse_page("<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>"),
        CV_FORMAT, "goes on", &err);
    for (size_t i = 0; i < 20; i++)
        memcpy(deep + i * 3, "<a>", 3);
    CV_ASSERT_FAILS(parse_page(deep), CV_FORMAT, "too deeply", &err);
    memset(wide, 'x', sizeof wide - 1);
    memcpy(wide, "<a>", 3);
    CV_ASSERT_FAILS(parse_page(wide), CV_FORMAT, "too long", &err);
}

static void refused_deletes(void **state)
{
    static const char text[] =
        "<DeleteResult" NAMESPACE "><Deleted><Key>sample1.txt</Key></Deleted><Error>"
        "<Key>sample2.txt</Key><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"
        "</DeleteResult>";
    struct cv_arena arena = CV_ARENA_INIT;
    struct s3_refused *items;
    size_t count;

    (void)state;
    CV_ASSERT_OK(s3_parse_deleted(text, strlen(text), &arena, &items, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_string_equal(items[0].key, "sample2.txt");
    assert_string_equal(items[0].code, "AccessDenied");
    cv_arena_release(&arena);
}

static void upload_answers(void **state)
{
    static const char begun[] = "<InitiateMultipartUploadResult" NAMESPACE
                                "><Bucket>b</Bucket><UploadId>VXBsb2Fk</UploadId>"
                                "</InitiateMultipartUploadResult>";
    static const char completed[] =
        "<?xml version=\"1.0\"?>\n<CompleteMultipartUploadResult" NAMESPACE
        "><ETag>\"3858f62230ac3c915f300c664312c11f-9\"</ETag>"
        "</CompleteMultipartUploadResult>";
    struct cv_arena arena = CV_ARENA_INIT;
    const char *id;

    (void)state;
    CV_ASSERT_OK(s3_parse_upload_id(begun, strlen(begun), &arena, &id, &err), &err);
    assert_string_equal(id, "VXBsb2Fk");
    CV_ASSERT_FAILS(s3_parse_upload_id(completed, strlen(completed), &arena, &id, &err), CV_FORMAT,
                    "UploadId", &err);
    CV_ASSERT_OK(s3_parse_completed(completed, strlen(completed), &err), &err);
    CV_ASSERT_FAILS(s3_parse_completed(begun, strlen(begun), &err), CV_FORMAT, "Complete", &err);
    cv_arena_release(&arena);
}

static void escaped_texts(void **state)
{
    struct cv_buf out = CV_BUF_INIT(1000);

    (void)state;
    s3_xml_escape(&out, "a<b>&\"c\"\r\n\tü");
    assert_string_equal(cv_buf_text(&out), "a&lt;b&gt;&amp;&quot;c&quot;&#13;&#10;&#9;ü");
    assert_true(s3_xml_can_hold("a\tb"));
    assert_false(s3_xml_can_hold("a\x01"
                                 "b"));
    cv_buf_release(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(error_of_the_reference), cmocka_unit_test(page_of_objects),
        cmocka_unit_test(page_of_uploads),        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(refused_deletes),        cmocka_unit_test(upload_answers),
        cmocka_unit_test(escaped_texts),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
