/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders for the demo. */
#include "cli/demo_orders.h"

#include "codec/avro_binary.h"

#include <stdio.h>

const char cv_demo_orders_schema[] =
    "{\"type\":\"record\",\"name\":\"Order\",\"namespace\":\"calve.demo\",\"fields\":[\n"
    "  {\"name\":\"supplier\",\"type\":[\"null\",\"string\"],\"default\":null},\n"
    "  {\"name\":\"item\",\"type\":[\"null\",\"string\"],\"default\":null},\n"
    "  {\"name\":\"price\",\"type\":[\"null\",\"string\"],\"default\":null},\n"
    "  {\"name\":\"bid_time\",\"type\":[\"null\",{\"type\":\"long\",\"logicalType\":"
    "\"timestamp-millis\"}],\"default\":null},\n"
    "  {\"name\":\"order_id\",\"type\":[\"null\",\"string\"],\"default\":null}]}\n";

const char cv_demo_orders_columns[] =
    "order_id string, item string, price decimal(10,2), supplier string, bid_time timestamp";

static const char *const suppliers[] = {"Alice", "Bob",   "Carol", "Alex",
                                        "Joe",   "James", "Jane",  "Jack"};
static const char *const looks[] = {"Rustic", "Sleek", "Ergonomic", "Small", "Heavy Duty"};
static const char *const materials[] = {"Wooden", "Steel", "Cotton", "Granite", "Rubber"};
static const char *const things[] = {"Chair", "Lamp", "Table", "Gloves", "Clock"};

/* splitmix64: a small generator with a known sequence for each seed. */
static uint64_t next_random(struct cv_demo_orders *orders)
{
    uint64_t z = orders->state += 0x9e3779b97f4a7c15u;

    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

#define PICK(orders, list) list[next_random(orders) % CV_ARRAY_LENGTH(list)]

static void put_text(struct cv_buf *out, const char *text)
{
    cv_avro_put_long(out, 1); /* the union's second branch */
    cv_avro_put_string(out, text);
}

void cv_demo_orders_next(struct cv_demo_orders *orders, int64_t now_ms)
{
    uint64_t high = next_random(orders);
    uint64_t low = next_random(orders);
    uint64_t cents = 100 + next_random(orders) % 14900;
    char text[96];

    cv_buf_clear(&orders->value);
    (void)snprintf(orders->order_id, sizeof orders->order_id,
                   "%08llx-%04llx-4%03llx-a%03llx-%012llx", (unsigned long long)(high >> 32),
                   (unsigned long long)(high >> 16 & 0xffff), (unsigned long long)(high & 0xfff),
                   (unsigned long long)(low >> 52), (unsigned long long)(low & 0xffffffffffff));
    put_text(&orders->value, PICK(orders, suppliers));
    (void)snprintf(text, sizeof text, "%s %s %s", PICK(orders, looks), PICK(orders, materials),
                   PICK(orders, things));
    put_text(&orders->value, text);
    (void)snprintf(text, sizeof text, "%llu.%02llu", (unsigned long long)(cents / 100),
                   (unsigned long long)(cents % 100));
    put_text(&orders->value, text);
    cv_avro_put_long(&orders->value, 1);
    cv_avro_put_long(&orders->value, (now_ms / 1000 - (int64_t)(next_random(orders) % 5)) * 1000);
    put_text(&orders->value, orders->order_id);
}
