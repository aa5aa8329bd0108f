/* SPDX-License-Identifier: Apache-2.0
 *
 * Avro plans over any bytes. The first byte chooses one of a few schemas and tables that together
 * use every op; the rest is the datum. The second byte FF instead says that what follows, up to a
 * zero byte, is a writer schema of its own, read into a table of one column for each kind. */
#include "fuzz.h"

#include "avro/plan.h"

#include <assert.h>
#include <stdlib.h>

/* Schemas with ' for ". */
#define NUMBERS                                                                                    \
    "{'type':'record','name':'R','fields':["                                                       \
    "{'name':'a','type':'int'},{'name':'b','type':['null','long']},"                               \
    "{'name':'c','type':'float'},{'name':'d','type':['double','null']},"                           \
    "{'name':'e','type':'boolean'},"                                                               \
    "{'name':'f','type':{'type':'bytes','logicalType':'decimal','precision':10,'scale':2}},"       \
    "{'name':'g','type':{'type':'long','logicalType':'timestamp-millis'}},"                        \
    "{'name':'h','type':{'type':'long','logicalType':'timestamp-nanos'}},"                         \
    "{'name':'i','type':{'type':'int','logicalType':'time-millis'}},"                              \
    "{'name':'j','type':{'type':'fixed','name':'D','size':16,'logicalType':'decimal',"             \
    "'precision':38}}]}"
#define NESTED                                                                                     \
    "{'type':'record','name':'N','fields':["                                                       \
    "{'name':'a','type':{'type':'array','items':['null','string']}},"                              \
    "{'name':'b','type':{'type':'map','values':{'type':'record','name':'R','fields':["             \
    "{'name':'x','type':'bytes'},{'name':'y','type':'int'}]}}},"                                   \
    "{'name':'c','type':['null','int','string',{'type':'array','items':'null'}]},"                 \
    "{'name':'d','type':['null','R']},"                                                            \
    "{'name':'e','type':{'type':'enum','name':'E','symbols':['A','B']}},"                          \
    "{'name':'f','type':{'type':'string','logicalType':'uuid'}}]}"

static const struct {
    const char *writer;
    const char *ddl;
    enum cv_avro_cast cast;
} shapes[] = {
    {NUMBERS,
     "a bigint, b bigint, c double, d double, e boolean, f decimal(12,2), g timestamp, "
     "h timestamp_ntz, i time, j decimal(38,0)",
     CV_AVRO_ASSIGN},
    {NUMBERS, "a string, b string, f decimal(5,1), d decimal(20,5), g string, j string",
     CV_AVRO_TRY_CAST},
    {NESTED, "a array<string>, b map<string, struct<y: int, x: binary>>, c int, e string, f uuid",
     CV_AVRO_ASSIGN},
    {NESTED, "e string", CV_AVRO_ASSIGN},
    {"{'type':'record','name':'L','fields':[{'name':'v','type':'string'},"
     "{'name':'next','type':['null','L']}]}",
     "v decimal(10,2)", CV_AVRO_CAST},
};

#define SHAPES (sizeof shapes / sizeof shapes[0])

struct target {
    struct cv_arena arena;
    struct cv_schema table;
    struct cv_avro_target *targets;
    struct cv_batch_builder builder;
    struct cv_avro_plan *plan;
};

static void make_table(struct target *t, const char *ddl, enum cv_avro_cast cast)
{
    size_t count;

    if (cv_schema_read_ddl(ddl, &t->arena, &t->table, NULL) != CV_OK)
        abort();
    count = t->table.root.field_count;
    t->targets = cv_arena_array(&t->arena, struct cv_avro_target, count);
    for (size_t i = 0; i < count; i++) {
        const char **path = cv_arena_array(&t->arena, const char *, 1);

        path[0] = t->table.root.fields[i].name;
        t->targets[i] = (struct cv_avro_target){.path = path,
                                                .path_length = 1,
                                                .column = i,
                                                .cast = cast,
                                                .cast_type = t->table.root.fields[i].type};
    }
    cv_batch_builder_init(&t->builder, &t->table);
}

static const char *unquote(struct cv_arena *arena, const char *text)
{
    char *json = cv_arena_strdup(arena, text);

    for (char *c = json; *c; c++)
        if (*c == '\'')
            *c = '"';
    return json;
}

static void compile(struct target *t, struct cv_str writer)
{
    struct cv_avro_schema *schema;
    struct cv_error err = CV_ERROR_INIT;

    if (cv_avro_schema_parse(writer, NULL, 0, &schema, &err) != CV_OK)
        return;
    (void)cv_avro_plan_compile(schema->root, NULL, &t->table, t->targets, t->table.root.field_count,
                               true, &t->plan, &err);
    cv_avro_schema_free(schema);
}

/* A good record adds one value to each column, a bad one can be taken back. */
static void decode(struct target *t, const uint8_t *data, size_t size)
{
    struct cv_avro_fault fault = {0};
    struct cv_batch batch;
    bool null;

    for (int round = 0; round < 2; round++) {
        size_t before = t->builder.columns[0].length;
        bool good = cv_avro_plan_run(t->plan, data, size, &t->builder, &null, &fault);

        if (!good) {
            assert(fault.field && fault.reason[0]);
            cv_batch_builder_truncate(&t->builder, before);
        }
        for (size_t i = 0; i < t->builder.column_count; i++)
            assert(t->builder.columns[i].length == before + good);
    }
    cv_batch_builder_view(&t->builder, &batch);
    cv_batch_builder_clear(&t->builder);
}

static void release(struct target *t)
{
    cv_avro_plan_free(t->plan);
    cv_batch_builder_release(&t->builder);
    cv_arena_release(&t->arena);
}

static void own_schema(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    struct target t = {0};

    if (!end)
        return;
    make_table(&t,
               "a int, b bigint, c string, d array<int>, e struct<a: int, b: string>, "
               "f map<string,bigint>, g decimal(10,2), h timestamp, i double",
               CV_AVRO_ASSIGN);
    compile(&t, (struct cv_str){(const char *)data, (size_t)(end - data)});
    if (t.plan)
        decode(&t, end + 1, size - (size_t)(end + 1 - data));
    release(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct target targets[SHAPES];
    struct target *t;

    if (size == 0)
        return 0;
    if (data[0] == 0xff) {
        own_schema(data + 1, size - 1);
        return 0;
    }
    t = &targets[data[0] % SHAPES];
    if (!t->plan) {
        make_table(t, shapes[data[0] % SHAPES].ddl, shapes[data[0] % SHAPES].cast);
        compile(t, cv_str_from(unquote(&t->arena, shapes[data[0] % SHAPES].writer)));
    }
    assert(t->plan);
    decode(t, data + 1, size - 1);
    return 0;
}
