/* SPDX-License-Identifier: Apache-2.0
 *
 * What a source holds: the credentials that count now, when to ask again, and who does. */
#include "storage/credentials_int.h"

#include "base/random.h"
#include "base/stop.h"
#include "base/time.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define EARLY_MS_MAX     INT64_C(300000) /* before the end that credentials are asked for anew */
#define ASK_AGAIN_MS_MIN 500             /* after an answer */
#define FAILED_WAIT_MS   INT64_C(30000)  /* after a failure, while the old ones serve */
#define WAIT_SLICE_MS    200

struct cv_credential_source {
    struct cv_credential_place place; /* of the thread that asks */
    pthread_mutex_t lock;             /* of all below */
    pthread_cond_t changed;
    bool asking;
    bool held; /* `current` is set */
    struct cv_credentials current;
    int64_t refresh_ms; /* from when on they are asked for anew; INT64_MAX = never */
    uint64_t version;
};

static void wipe_text(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

void cv_credentials_release(struct cv_credentials *credentials)
{
    wipe_text(&credentials->access_key_id);
    wipe_text(&credentials->secret_access_key);
    wipe_text(&credentials->session_token);
    credentials->expires_ms = -1;
    credentials->version = 0;
}

static enum cv_code check_text(const char *what, const char *text, struct cv_error *err)
{
    size_t length = text ? strlen(text) : 0;

    if (length > CV_CREDENTIAL_BYTES_MAX)
        return cv_fail(err, CV_LIMIT, "%s of %zu bytes, at most %d", what, length,
                       CV_CREDENTIAL_BYTES_MAX);
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] <= ' ' || text[i] == 0x7f)
            return cv_fail(err, CV_CONFIG, "%s holds a blank or control character", what);
    return CV_OK;
}

enum cv_code cv_credentials_set(struct cv_credentials *credentials, const char *key_id,
                                const char *secret, const char *token, int64_t expires_ms,
                                struct cv_error *err)
{
    CV_DO(check_text("access key id", key_id, err));
    CV_DO(check_text("secret access key", secret, err));
    CV_DO(check_text("session token", token, err));
    cv_credentials_release(credentials);
    credentials->access_key_id = cv_strdup(key_id);
    credentials->secret_access_key = cv_strdup(secret);
    credentials->session_token = token && *token ? cv_strdup(token) : NULL;
    credentials->expires_ms = expires_ms;
    return CV_OK;
}

static void copy_credentials(struct cv_credentials *to, const struct cv_credentials *from)
{
    cv_credentials_release(to);
    to->access_key_id = from->access_key_id ? cv_strdup(from->access_key_id) : NULL;
    to->secret_access_key = from->secret_access_key ? cv_strdup(from->secret_access_key) : NULL;
    to->session_token = from->session_token ? cv_strdup(from->session_token) : NULL;
    to->expires_ms = from->expires_ms;
    to->version = from->version;
}

/* Five minutes before the end, or a quarter of a life that is short, and up to a quarter earlier
 * still, so that many processes do not ask at once. */
static int64_t refresh_time_ms(const struct cv_credentials *credentials)
{
    int64_t now_ms = cv_now_ms();
    int64_t early_ms;
    uint32_t random;

    if (credentials->expires_ms < 0)
        return INT64_MAX;
    early_ms = CV_MIN(EARLY_MS_MAX, CV_MAX((credentials->expires_ms - now_ms) / 4, 0));
    cv_random_bytes(&random, sizeof random);
    early_ms += (int64_t)(random % (uint64_t)(early_ms / 4 + 1));
    return CV_MAX(credentials->expires_ms - early_ms, now_ms + ASK_AGAIN_MS_MIN);
}

/* With the lock held. Takes the credentials over. */
static void install(struct cv_credential_source *source, struct cv_credentials *credentials)
{
    cv_credentials_release(&source->current);
    source->current = *credentials;
    memset(credentials, 0, sizeof *credentials);
    source->current.version = ++source->version;
    source->refresh_ms = source->place.lasting ? INT64_MAX : refresh_time_ms(&source->current);
    source->held = true;
}

enum cv_code cv_credential_source_new(const struct cv_credential_config *config,
                                      struct cv_credential_source **ret_source,
                                      struct cv_error *err)
{
    CV_CLEANUP(cv_credentials_release) struct cv_credentials given = {0};
    struct cv_credential_source *source = cv_alloc(sizeof *source);
    enum cv_code code;

    source->refresh_ms = INT64_MAX;
    (void)pthread_mutex_init(&source->lock, NULL);
    (void)pthread_cond_init(&source->changed, NULL);
    code = cv_credential_place_init(&source->place, config, err);
    if (code == CV_OK && config->refresh) { /* the first ones came with it, or are asked for */
        code = cv_credentials_from_properties(config->properties, &given, err);
        if (code == CV_OK)
            install(source, &given);
        else if (code == CV_NOT_FOUND)
            code = CV_OK;
    }
    if (code != CV_OK) {
        cv_credential_source_free(source);
        return code;
    }
    *ret_source = source;
    return CV_OK;
}

void cv_credential_source_free(struct cv_credential_source *source)
{
    if (!source)
        return;
    cv_credential_place_release(&source->place);
    cv_credentials_release(&source->current);
    (void)pthread_cond_destroy(&source->changed);
    (void)pthread_mutex_destroy(&source->lock);
    free(source);
}

const char *cv_credential_source_name(const struct cv_credential_source *source)
{
    return source->place.name;
}

/* With the lock held, which is given up meanwhile. What was held stays on a failure. */
static enum cv_code ask(struct cv_credential_source *source, struct cv_error *err)
{
    CV_CLEANUP(cv_credentials_release) struct cv_credentials fresh = {.expires_ms = -1};
    enum cv_code code;

    source->asking = true;
    (void)pthread_mutex_unlock(&source->lock);
    code = source->place.ask(&source->place, &fresh, err);
    (void)pthread_mutex_lock(&source->lock);
    source->asking = false;
    if (code == CV_OK)
        install(source, &fresh);
    else
        cv_context(err, "S3 credentials (%s)", source->place.name);
    (void)pthread_cond_broadcast(&source->changed);
    return code;
}

/* Waits for the thread that asks; bounded by its requests. False: the process shall end. */
static bool wait_for_asker(struct cv_credential_source *source)
{
    struct timespec end;

    while (source->asking) {
        if (cv_stop_requested(NULL))
            return false;
        (void)clock_gettime(CLOCK_REALTIME, &end);
        end.tv_nsec += WAIT_SLICE_MS * 1000000L;
        end.tv_sec += end.tv_nsec / 1000000000L;
        end.tv_nsec %= 1000000000L;
        (void)pthread_cond_timedwait(&source->changed, &source->lock, &end);
    }
    return true;
}

static bool still_valid(const struct cv_credential_source *source)
{
    return source->held &&
           (source->refresh_ms == INT64_MAX || cv_now_ms() < source->current.expires_ms);
}

/* With the lock held. Waiters look at what the asker got; when it failed, each tries itself. */
static enum cv_code make_valid(struct cv_credential_source *source, struct cv_error *err)
{
    struct cv_error why = CV_ERROR_INIT;
    enum cv_code code;

    while (!still_valid(source) && source->asking)
        if (!wait_for_asker(source))
            return cv_fail(err, CV_CANCELLED, "gave up waiting for S3 credentials (%s)",
                           source->place.name);
    if (source->asking || (source->held && cv_now_ms() < source->refresh_ms))
        return CV_OK;
    code = ask(source, &why);
    if (code == CV_OK)
        return CV_OK;
    if (still_valid(source)) { /* the old ones serve to their end */
        int64_t now_ms = cv_now_ms();
        int64_t left_ms = source->current.expires_ms - now_ms;

        source->refresh_ms =
            now_ms + CV_MIN(CV_MIN(FAILED_WAIT_MS, left_ms), CV_MAX(left_ms / 4, ASK_AGAIN_MS_MIN));
        return CV_OK;
    }
    if (err)
        *err = why;
    return code;
}

enum cv_code cv_credential_source_get(struct cv_credential_source *source,
                                      struct cv_credentials *ret_credentials, struct cv_error *err)
{
    enum cv_code code;

    (void)pthread_mutex_lock(&source->lock);
    code = make_valid(source, err);
    if (code == CV_OK)
        copy_credentials(ret_credentials, &source->current);
    (void)pthread_mutex_unlock(&source->lock);
    return code;
}

enum cv_code cv_credential_source_renew(struct cv_credential_source *source, uint64_t version,
                                        struct cv_error *err)
{
    enum cv_code code = CV_OK;

    (void)pthread_mutex_lock(&source->lock);
    if (!wait_for_asker(source)) {
        code = cv_fail(err, CV_CANCELLED, "gave up waiting for S3 credentials (%s)",
                       source->place.name);
    } else if (source->version == version) {
        if (source->place.lasting) {
            code = cv_fail(err, CV_AUTH,
                           "the server says that the S3 credentials (%s) have ended, and there is "
                           "no way to get new ones",
                           source->place.name);
            cv_hint(err, "give credentials that do not end, or a profile, role or catalog that "
                         "gives new ones");
        } else {
            code = ask(source, err);
        }
    }
    (void)pthread_mutex_unlock(&source->lock);
    return code;
}
