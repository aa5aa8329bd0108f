/* SPDX-License-Identifier: Apache-2.0
 *
 * Fills a topic with one of the bench's data sets. Row n of a set is the same in every run and on
 * every machine: its values come from a generator that is seeded with n.
 *   orders   Avro of five nullable fields in Confluent's framing, 95 bytes
 *   events   JSON of a web event with nested objects, a list and a map, 585 bytes
 *   wide     Avro of 100 nullable columns in Confluent's framing, 753 bytes
 *
 *   bench-generate --bootstrap HOST:PORT --topic T --set S --rows N [--schema-id I]
 *                  [--partitions P] [--codec lz4] */
#include "bench.h"

#define WIDE_COLUMNS       100
#define PARTITIONS_DEFAULT "4"
/* 2026-03-31T00:00:00Z, where the times of all sets begin. */
#define START_MILLIS INT64_C(1774915200000)

struct generator {
    uint64_t state;
    uint8_t bytes[4096];
    size_t length;
};

static uint64_t generator_next(struct generator *g)
{
    uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t generator_below(struct generator *g, uint64_t bound)
{
    return generator_next(g) % bound;
}

static void put_byte(struct generator *g, uint8_t byte)
{
    g->bytes[g->length++] = byte;
}

static void put_bytes(struct generator *g, const void *bytes, size_t length)
{
    memcpy(g->bytes + g->length, bytes, length);
    g->length += length;
}

static void put_text(struct generator *g, const char *format, ...) BENCH_PRINTF(2, 3);
static void put_text(struct generator *g, const char *format, ...)
{
    size_t space = sizeof g->bytes - g->length;
    va_list args;

    va_start(args, format);
    int length = vsnprintf((char *)g->bytes + g->length, space, format, args);
    va_end(args);
    if (length < 0 || (size_t)length >= space)
        bench_die("a row is longer than %zu bytes", sizeof g->bytes);
    g->length += (size_t)length;
}

static void put_long(struct generator *g, int64_t value)
{
    uint64_t zigzag = ((uint64_t)value << 1) ^ (uint64_t)(value >> 63);

    for (; zigzag > 0x7f; zigzag >>= 7)
        put_byte(g, (uint8_t)(zigzag | 0x80));
    put_byte(g, (uint8_t)zigzag);
}

/* The second branch of [null, T] and a string in it. */
static void put_string(struct generator *g, const char *text)
{
    put_byte(g, 2);
    put_long(g, (int64_t)strlen(text));
    put_bytes(g, text, strlen(text));
}

static void put_frame(struct generator *g, uint32_t schema_id)
{
    for (int shift = 32; shift >= 0; shift -= 8)
        put_byte(g, shift == 32 ? 0 : (uint8_t)(schema_id >> shift));
}

static void uuid_text(struct generator *g, char text[37])
{
    uint64_t high = generator_next(g), low = generator_next(g);

    snprintf(text, 37, "%08x-%04x-4%03x-%04x-%012llx", (unsigned)(high >> 32),
             (unsigned)(high >> 16 & 0xffff), (unsigned)(high & 0xfff),
             (unsigned)(0x8000 | (low >> 48 & 0x3fff)),
             (unsigned long long)(low & UINT64_C(0xffffffffffff)));
}

static const char *const suppliers[] = {"Alice", "Bob",   "Carol", "Alex",
                                        "Joe",   "James", "Jane",  "Jack"};
static const char *const adjectives[] = {"Handcrafted", "Ergonomic", "Refined", "Incredible",
                                         "Practical",   "Gorgeous",  "Rustic",  "Sleek"};
static const char *const materials[] = {"Cotton", "Wooden", "Granite", "Concrete",
                                        "Rubber", "Frozen", "Plastic", "Metal"};
static const char *const products[] = {"Keyboard", "Computer", "Chair", "Sausages",
                                       "Shoes",    "Chicken",  "Pants", "Table"};

/* supplier, item, price, bid_time, order_id as the scenario's connector writes them. */
static void put_order(struct generator *g, int64_t row, uint32_t schema_id)
{
    char item[64], price[16], id[37];
    unsigned cents = 100 + (unsigned)generator_below(g, 14901);

    put_frame(g, schema_id);
    put_string(g, suppliers[generator_below(g, 8)]);
    snprintf(item, sizeof item, "%s %s %s No. %02u", adjectives[generator_below(g, 8)],
             materials[generator_below(g, 8)], products[generator_below(g, 8)],
             (unsigned)generator_below(g, 100));
    put_string(g, item);
    snprintf(price, sizeof price, "%u.%02u", cents / 100, cents % 100);
    put_string(g, price);
    put_byte(g, 2);
    put_long(g, START_MILLIS + (row / 250 - (int64_t)generator_below(g, 5)) * 1000);
    uuid_text(g, id);
    put_string(g, id);
}

static const char *const kinds[] = {"view", "click", "search", "purchase", "login", "logout"};
static const char *const countries[] = {"DE", "US", "AU", "JP", "BR", "IN", "FR", "ZA"};
static const char *const agents[] = {
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 Version/17.5 Safari/605.1",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0 ",
};

static void put_event(struct generator *g, int64_t row)
{
    char id[37], session[37];
    int64_t millis = START_MILLIS + row * 4;
    unsigned user = (unsigned)generator_below(g, 1000000);
    unsigned seconds = (unsigned)(millis / 1000 % 86400);

    uuid_text(g, id);
    uuid_text(g, session);
    put_text(g, "{\"id\":\"%s\",\"at\":\"2026-03-%02uT%02u:%02u:%02u.%03uZ\",\"kind\":\"%s\",", id,
             31 - (unsigned)(row % 7), seconds / 3600, seconds / 60 % 60, seconds % 60,
             (unsigned)(millis % 1000), kinds[generator_below(g, 6)]);
    put_text(g, "\"user\":{\"id\":%u,\"name\":\"user-%07u\",\"country\":\"%s\",\"premium\":%s},",
             user, user, countries[generator_below(g, 8)],
             generator_below(g, 10) == 0 ? "true" : "false");
    put_text(g,
             "\"session\":\"%s\",\"page\":{\"url\":\"https://www.example.org/shop/%s/"
             "%u?ref=%08x&lang=en\",\"load_ms\":%u},",
             session, products[generator_below(g, 8)], (unsigned)generator_below(g, 100000),
             (unsigned)generator_next(g), (unsigned)generator_below(g, 3000));
    put_text(g, "\"agent\":\"%s\",\"amount\":%u.%02u,", agents[generator_below(g, 3)],
             (unsigned)generator_below(g, 1000), (unsigned)generator_below(g, 100));
    put_text(g, "\"score\":%.9f,\"items\":[%u,%u,%u],",
             (double)generator_below(g, 1000000000) / 1e9, (unsigned)generator_below(g, 100000),
             (unsigned)generator_below(g, 100000), (unsigned)generator_below(g, 100000));
    put_text(g,
             "\"attributes\":{\"campaign\":\"spring-%02u\",\"variant\":\"%c\",\"channel\":\"%s\"},",
             (unsigned)generator_below(g, 40), (char)('A' + generator_below(g, 4)),
             generator_below(g, 2) == 0 ? "newsletter" : "affiliate");
    put_text(g, "\"referrer\":null,\"sequence\":%lld}", (long long)row);
}

/* Columns in turn: int, long, double, string, boolean, timestamp, date, float, string, long; one
 * value in ten is null. bench.py derives the schema from the same order. */
static void put_wide_column(struct generator *g, int64_t row, int column)
{
    char text[32];
    double real = (double)generator_below(g, 1000000000) / 1e4;
    float single = (float)real;

    if (generator_below(g, 10) == 0) {
        put_byte(g, 0);
        return;
    }
    if (column % 10 == 3 || column % 10 == 8) {
        bool is_repeated = column % 10 == 3;

        snprintf(text, sizeof text, is_repeated ? "value-%012llx" : "item-%012llx",
                 (unsigned long long)generator_below(g, UINT64_C(1) << (is_repeated ? 8 : 44)));
        put_string(g, text);
        return;
    }
    put_byte(g, 2);
    switch (column % 10) {
    case 0:
        put_long(g, (int64_t)generator_below(g, 1000));
        break;
    case 1:
        put_long(g, (int64_t)generator_below(g, UINT64_C(1) << 40));
        break;
    case 2:
        put_bytes(g, &real, sizeof real);
        break;
    case 4:
        put_byte(g, (uint8_t)generator_below(g, 2));
        break;
    case 5:
        put_long(g, START_MILLIS * 1000 + row * 100 + (int64_t)generator_below(g, 100));
        break;
    case 6:
        put_long(g, 20000 + (int64_t)generator_below(g, 365));
        break;
    case 7:
        put_bytes(g, &single, sizeof single);
        break;
    default:
        put_long(g, row + column);
    }
}

static void generator_fill(struct generator *g, const char *set, int64_t row, uint32_t schema_id)
{
    g->state = (uint64_t)row * UINT64_C(0x2545f4914f6cdd1d) + 1;
    g->length = 0;
    if (strcmp(set, "orders") == 0) {
        put_order(g, row, schema_id);
    } else if (strcmp(set, "events") == 0) {
        put_event(g, row);
    } else if (strcmp(set, "wide") == 0) {
        put_frame(g, schema_id);
        for (int column = 0; column < WIDE_COLUMNS; column++)
            put_wide_column(g, row, column);
    } else {
        bench_die("--set: orders, events or wide, not \"%s\"", set);
    }
}

static void on_delivery(rd_kafka_t *client, const rd_kafka_message_t *message, void *opaque)
{
    (void)client;
    (void)opaque;
    if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR)
        bench_die("delivery: %s", rd_kafka_err2str(message->err));
}

static void produce(rd_kafka_t *client, const char *topic, int32_t partition,
                    const struct generator *g)
{
    rd_kafka_resp_err_t error;

    do {
        error = rd_kafka_producev(client, RD_KAFKA_V_TOPIC(topic), RD_KAFKA_V_PARTITION(partition),
                                  RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
                                  RD_KAFKA_V_VALUE((void *)(uintptr_t)g->bytes, g->length),
                                  RD_KAFKA_V_END);
        if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL)
            rd_kafka_poll(client, 50);
    } while (error == RD_KAFKA_RESP_ERR__QUEUE_FULL);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR)
        bench_die("produce: %s", rd_kafka_err2str(error));
}

int main(int argc, char **argv)
{
    const char *topic = bench_option(argc, argv, "topic", NULL);
    const char *set = bench_option(argc, argv, "set", NULL);
    int64_t rows = bench_number(argc, argv, "rows", NULL);
    int64_t partitions = bench_number(argc, argv, "partitions", PARTITIONS_DEFAULT);
    uint32_t schema_id = (uint32_t)bench_number(argc, argv, "schema-id", "1");
    rd_kafka_conf_t *conf = rd_kafka_conf_new();
    struct generator g;
    uint64_t bytes = 0;

    bench_set(conf, "bootstrap.servers", bench_option(argc, argv, "bootstrap", NULL));
    bench_set(conf, "compression.codec", bench_option(argc, argv, "codec", "lz4"));
    bench_set(conf, "linger.ms", "50");
    bench_set(conf, "batch.size", "1000000");
    bench_set(conf, "enable.idempotence", "true");
    rd_kafka_conf_set_dr_msg_cb(conf, on_delivery);
    rd_kafka_t *client = bench_client(RD_KAFKA_PRODUCER, conf);
    for (int64_t row = 0; row < rows; row++) {
        generator_fill(&g, set, row, schema_id);
        bytes += g.length;
        produce(client, topic, (int32_t)(row % partitions), &g);
        if (row % 1024 == 0)
            rd_kafka_poll(client, 0);
    }
    if (rd_kafka_flush(client, 120000) != RD_KAFKA_RESP_ERR_NO_ERROR)
        bench_die("flush: rows are left");
    rd_kafka_destroy(client);
    printf("%lld %llu\n", (long long)rows, (unsigned long long)bytes);
    return 0;
}
