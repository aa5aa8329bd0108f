/* SPDX-License-Identifier: Apache-2.0
 *
 * URIs of PostgreSQL as libpq, SQLAlchemy and Java's driver document them, and what libpq gets of
 * each. No message holds a password. */
#include "test.h"

#include "base/str.h"
#include "catalog/sql/database.h"
#include "catalog/sql/postgres_uri.h"

static struct cv_error err;
static struct cv_arena arena;

/* "keyword=value …" without what every connection gets, in the order of first mention. */
static const char *parsed(const char *uri, const char *user, const char *password)
{
    struct cv_postgres_target target;
    const char *text = "";

    CV_ASSERT_OK(cv_postgres_target_parse(uri, user, password, &arena, &target, &err), &err);
    assert_null(target.keywords[target.count]);
    for (size_t i = 0; i < target.count; i++)
        if (strcmp(target.keywords[i], "fallback_application_name") != 0 &&
            strcmp(target.keywords[i], "client_encoding") != 0)
            text = cv_arena_printf(&arena, "%s%s%s=%s", text, *text ? " " : "", target.keywords[i],
                                   target.values[i]);
    return text;
}

static void forms_of_a_uri(void **state)
{
    static const char *const cases[][2] = {
        {"postgresql://localhost", "host=localhost port=5432"},
        {"postgresql://localhost/mydb", "host=localhost port=5432 dbname=mydb"},
        {"postgresql://user@localhost", "user=user host=localhost port=5432"},
        {"postgresql://user:secret@localhost:5433/db",
         "user=user password=secret host=localhost port=5433 dbname=db"},
        {"postgres://a/b?sslmode=require", "host=a port=5432 dbname=b sslmode=require"},
        {"postgresql://host1:123,host2:456/somedb?target_session_attrs=any",
         "host=host1,host2 port=123,456 dbname=somedb target_session_attrs=any"},
        {"postgresql://[2001:db8::1234]/database", "host=2001:db8::1234 port=5432 dbname=database"},
        {"postgresql:///dbname?host=/var/lib/postgresql", "dbname=dbname host=/var/lib/postgresql"},
        {"postgresql://%2Fvar%2Frun/dbname", "host=/var/run port=5432 dbname=dbname"},
        {"postgresql+psycopg2://scott:p%40ss%2F@h/db",
         "user=scott password=p@ss/ host=h port=5432 dbname=db"},
        {"postgresql://u:p@ss@h/db", "user=u password=p@ss host=h port=5432 dbname=db"},
        {"jdbc:postgresql://h:5439/db?user=u&password=p%26q",
         "host=h port=5439 dbname=db user=u password=p&q"},
        {"jdbc:postgresql:db", "dbname=db host=localhost port=5432"},
        {"jdbc:postgresql:/", "host=localhost port=5432"},
        {"jdbc:postgresql://h/db?ssl=true", "host=h port=5432 dbname=db sslmode=verify-full"},
        {"jdbc:postgresql://h/db?sslmode=require&ssl=true&sslrootcert=/ca.pem",
         "host=h port=5432 dbname=db sslmode=require sslrootcert=/ca.pem"},
        {"jdbc:postgresql://h/db?ssl=true&sslfactory=org.postgresql.ssl.NonValidatingFactory",
         "host=h port=5432 dbname=db sslmode=require"},
        {"jdbc:postgresql://h/db?currentSchema=a b,c&ApplicationName=x&prepareThreshold=0",
         "host=h port=5432 dbname=db options=-c search_path=a\\ b,c application_name=x"},
        {"jdbc:postgresql://h,i:5/db?targetServerType=primary&tcpKeepAlive=true",
         "host=h,i port=5432,5 dbname=db target_session_attrs=primary keepalives=1"},
    };

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        assert_true(cv_postgres_is_uri(cases[i][0]));
        assert_string_equal(parsed(cases[i][0], NULL, NULL), cases[i][1]);
    }
    assert_false(cv_postgres_is_uri("jdbc:sqlite:x"));
    assert_false(cv_postgres_is_uri("mysql://h/db"));
}

static void properties_count_over_the_uri(void **state)
{
    assert_string_equal(parsed("jdbc:postgresql://h/db?user=a&password=b", "c", "d"),
                        "host=h port=5432 dbname=db user=c password=d");
}

static void each_host_comes_first_in_its_turn(void **state)
{
    static const struct {
        const char *uri, *hosts[3], *ports[3];
        size_t count;
    } cases[] = {
        {"postgresql://a:1,b:2,c/d",
         {"a,b,c", "b,c,a", "c,a,b"},
         {"1,2,5432", "2,5432,1", "5432,1,2"},
         3},
        {"postgresql:///d?host=a,b&port=7", {"a,b", "b,a"}, {"7", "7"}, 2},
        {"postgresql://a/d", {"a"}, {"5432"}, 1},
    };
    struct cv_postgres_target target;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        CV_ASSERT_OK(cv_postgres_target_parse(cases[i].uri, NULL, NULL, &arena, &target, &err),
                     &err);
        assert_int_equal(cv_postgres_target_hosts(&target), cases[i].count);
        for (size_t turn = 0; turn < cases[i].count; turn++) {
            const char **values = cv_postgres_target_values(&target, turn, &arena);

            for (size_t j = 0; j < target.count; j++) {
                if (strcmp(target.keywords[j], "host") == 0)
                    assert_string_equal(values[j], cases[i].hosts[turn]);
                if (strcmp(target.keywords[j], "port") == 0)
                    assert_string_equal(values[j], cases[i].ports[turn]);
            }
        }
    }
}

static void times_are_taken_out(void **state)
{
    struct cv_postgres_target target;

    CV_ASSERT_OK(cv_postgres_target_parse("jdbc:postgresql://h/d?loginTimeout=3&socketTimeout=7",
                                          NULL, NULL, &arena, &target, &err),
                 &err);
    assert_int_equal(target.connect_ms, 3000);
    assert_int_equal(target.answer_ms, 7000);
    CV_ASSERT_OK(cv_postgres_target_parse("postgresql://h/d?connect_timeout=0", NULL, NULL, &arena,
                                          &target, &err),
                 &err);
    assert_int_equal(target.connect_ms, CV_POSTGRES_CONNECT_MS); /* never without limit */
    assert_int_equal(target.answer_ms, CV_POSTGRES_ANSWER_MS);
}

static void messages_hold_no_secret(void **state)
{
    static const char *const cases[][2] = {
        {"postgresql://u:hush%zz@h/db", "password"},
        {"postgresql://u:hush@h:port/db", "port of host h"},
        {"postgresql://u:hush@h:70000/db", "port of host h"},
        {"postgresql:u:hush@h/db", "//"},
        {"postgresql://u:hush@h/db?sslmod=require", "sslmod "},
        {"postgresql://u:hush@h/db?user=%00", "hex digits"},
        {"postgresql://u:hush@h/db?connect_timeout=x", "connect_timeout"},
        {"jdbc:postgresql://h/db?password=hush&targetServerType=x", "targetServerType"},
        {"postgresql://u:p@hush/x@h/db", "there is an @"},
        {"postgresql://u:1?hush@h/db", "there is an @"},
    };
    struct cv_postgres_target target;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(cases); i++) {
        CV_ASSERT_FAILS(cv_postgres_target_parse(cases[i][0], NULL, NULL, &arena, &target, &err),
                        CV_CONFIG, cases[i][1], &err);
        assert_null(strstr(err.message, "hush"));
        assert_null(strstr(err.hint, "hush"));
    }
    CV_ASSERT_OK(cv_postgres_target_parse("postgresql://u:hush@h:1,i:2/db?sslpassword=hush", NULL,
                                          "hush", &arena, &target, &err),
                 &err);
    assert_string_equal(target.location, "postgresql://h,i:1,2/db");
}

static int forget(void **state)
{
    cv_arena_release(&arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(forms_of_a_uri, forget),
        cmocka_unit_test_teardown(properties_count_over_the_uri, forget),
        cmocka_unit_test_teardown(each_host_comes_first_in_its_turn, forget),
        cmocka_unit_test_teardown(times_are_taken_out, forget),
        cmocka_unit_test_teardown(messages_hold_no_secret, forget),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
