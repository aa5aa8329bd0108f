/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds libduckdb.so and looks up the functions of duck_api.h, once per process: two libraries in
 * one process would share nothing but trouble, and a loaded one stays. */
#include "sql/duck_int.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LIBRARY_NAME "libduckdb.so"

struct cv_duck_api cv_duck_api;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char *loaded_path; /* under the lock until it is set */

static const struct {
    const char *name;
    size_t offset;
} functions[] = {
#define FUNCTION(result, name, parameters) {"duckdb_" #name, offsetof(struct cv_duck_api, name)},
    CV_DUCK_API(FUNCTION)
#undef FUNCTION
};

static enum cv_code look_up(void *library, const char *path, struct cv_error *err)
{
    struct cv_duck_api api;
    void *symbol;

    for (size_t i = 0; i < CV_ARRAY_LENGTH(functions); i++) {
        symbol = dlsym(library, functions[i].name);
        if (!symbol) {
            (void)cv_fail(err, CV_CONFIG, "%s: there is no function %s", path, functions[i].name);
            cv_hint(err, "DuckDB 1.4 or later is needed; `make deps-sql` gets one");
            return CV_CONFIG;
        }
        memcpy((char *)&api + functions[i].offset, &symbol, sizeof symbol);
    }
    cv_duck_api = api;
    return CV_OK;
}

/* A library that was named must be there and is the only one tried; the other places may be empty.
 * NULL = not here; `why` is what the loader said. */
static void *load(const char *path, struct cv_buf *why)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

    if (!library)
        cv_buf_printf(why, "%s%s", why->length ? "; " : "", dlerror());
    return library;
}

/* <folder of the program>/../lib/calve/libduckdb.so; false when it cannot be known. */
static bool beside_program(char *path, size_t size)
{
    ssize_t length = readlink("/proc/self/exe", path, size - 1);
    char *slash;

    if (length < 0)
        return false;
    path[length] = '\0';
    slash = strrchr(path, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return (size_t)snprintf(slash, size - (size_t)(slash - path), "/../lib/calve/%s",
                            LIBRARY_NAME) < size - (size_t)(slash - path);
}

static void *find(const char *named, char *path, size_t size, struct cv_buf *why)
{
    void *library = NULL;

    if (!named || !named[0])
        named = getenv("CALVE_DUCKDB");
    if (named && named[0]) {
        (void)snprintf(path, size, "%s", named);
        return load(path, why);
    }
    if (beside_program(path, size))
        library = load(path, why);
#ifdef CALVE_DUCKDB_BUILT /* where `make deps-sql` puts it, for programs that are not installed */
    if (!library) {
        (void)snprintf(path, size, "%s", CALVE_DUCKDB_BUILT);
        library = load(path, why);
    }
#endif
    if (!library) {
        (void)snprintf(path, size, "%s", LIBRARY_NAME);
        library = load(path, why);
    }
    return library;
}

static enum cv_code load_once(const char *named, struct cv_error *err)
{
    CV_CLEANUP(cv_buf_release) struct cv_buf why = CV_BUF_INIT(CV_ERROR_MESSAGE_BYTES);
    char path[CV_PATH_BYTES_MAX];
    void *library;

    if (loaded_path) {
        if (named && named[0] && strcmp(named, loaded_path) != 0)
            return cv_fail(err, CV_CONFIG, "%s: this process has loaded %s already", named,
                           loaded_path);
        return CV_OK;
    }
    library = find(named, path, sizeof path, &why);
    if (!library) {
        (void)cv_fail(err, CV_UNSUPPORTED, "SQL needs the DuckDB library, which is not there: %s",
                      cv_buf_text(&why));
        cv_hint(err, "`make deps-sql` gets it; or name it: duckdb-library, or CALVE_DUCKDB in the "
                     "environment");
        return CV_UNSUPPORTED;
    }
    if (look_up(library, path, err) != CV_OK) {
        (void)dlclose(library);
        return CV_CONFIG;
    }
    loaded_path = cv_strdup(path);
    return CV_OK;
}

enum cv_code cv_duck_load(const char *library, struct cv_error *err)
{
    enum cv_code code;

    (void)pthread_mutex_lock(&lock);
    code = load_once(library, err);
    (void)pthread_mutex_unlock(&lock);
    return code;
}

const char *cv_duck_loaded_path(void)
{
    return loaded_path;
}
