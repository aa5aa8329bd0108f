/* SPDX-License-Identifier: Apache-2.0
 *
 * The rows of a batch by table partition: one range when all fall into one, else lists of row
 * numbers made by a counting sort over arrays that are used again. */
#include "data/writer_int.h"

#include <stdlib.h>

struct cv_route *cv_route_borrow(struct cv_data_writer *writer)
{
    struct cv_route *route;

    (void)pthread_mutex_lock(&writer->route_lock);
    route = writer->free_routes;
    if (route)
        writer->free_routes = route->next;
    (void)pthread_mutex_unlock(&writer->route_lock);
    return route ? route : cv_alloc(sizeof *route);
}

void cv_route_return(struct cv_data_writer *writer, struct cv_route *route)
{
    (void)pthread_mutex_lock(&writer->route_lock);
    route->next = writer->free_routes;
    writer->free_routes = route;
    (void)pthread_mutex_unlock(&writer->route_lock);
}

void cv_route_free(struct cv_route *route)
{
    if (!route)
        return;
    free(route->row_groups);
    free(route->index);
    free(route->counts);
    free(route->groups);
    cv_arena_release(&route->arena);
    cv_buf_release(&route->fragment);
    free(route);
}

static void reserve_rows(struct cv_route *route, size_t rows)
{
    if (rows <= route->row_capacity)
        return;
    route->row_groups = cv_realloc_array(route->row_groups, rows, sizeof *route->row_groups);
    route->index = cv_realloc_array(route->index, rows, sizeof *route->index);
    route->row_capacity = rows;
}

static void reserve_groups(struct cv_route *route, size_t groups)
{
    size_t grown = CV_MAX(groups, route->group_capacity * 2);

    if (groups <= route->group_capacity)
        return;
    route->counts = cv_realloc_array(route->counts, grown, sizeof *route->counts);
    memset(route->counts + route->group_capacity, 0,
           (grown - route->group_capacity) * sizeof *route->counts);
    route->group_capacity = grown;
}

static void add_group(struct cv_route *route, uint32_t group, const struct cv_rows *rows)
{
    cv_array_reserve(&route->groups, &route->capacity, route->count + 1);
    route->groups[route->count++] = (struct cv_group_rows){group, *rows};
}

static bool all_in_one(const uint32_t *row_groups, size_t rows)
{
    for (size_t i = 1; i < rows; i++)
        if (row_groups[i] != row_groups[0])
            return false;
    return true;
}

/* Rows of one partition keep their order; partitions stand in the order of their first row. */
static void sort_rows(struct cv_route *route, size_t rows)
{
    uint32_t start = 0;

    for (size_t row = 0; row < rows; row++)
        if (route->counts[route->row_groups[row]]++ == 0)
            add_group(route, route->row_groups[row], &(struct cv_rows){0});
    for (size_t i = 0; i < route->count; i++) {
        struct cv_group_rows *group = &route->groups[i];

        group->rows.index = route->index + start;
        group->rows.count = route->counts[group->group];
        route->counts[group->group] = start;
        start += (uint32_t)group->rows.count;
    }
    for (size_t row = 0; row < rows; row++)
        route->index[route->counts[route->row_groups[row]]++] = (uint32_t)row;
    for (size_t i = 0; i < route->count; i++)
        route->counts[route->groups[i].group] = 0;
}

enum cv_code cv_route_batch(struct cv_data_writer *writer, const struct cv_batch *batch,
                            struct cv_route *route, struct cv_error *err)
{
    size_t rows = batch->row_count;
    size_t group_count;
    enum cv_code code;

    route->count = 0;
    if (rows > UINT32_MAX)
        return cv_fail(err, CV_LIMIT, "a batch of %zu rows", rows);
    reserve_rows(route, rows);
    (void)pthread_mutex_lock(&writer->route_lock);
    code = cv_partitioner_route(writer->partitioner, batch, route->row_groups, err);
    group_count = cv_partitioner_group_count(writer->partitioner);
    (void)pthread_mutex_unlock(&writer->route_lock);
    CV_DO(code);
    reserve_groups(route, group_count);
    if (all_in_one(route->row_groups, rows))
        add_group(route, route->row_groups[0], &(struct cv_rows){.count = rows});
    else
        sort_rows(route, rows);
    return CV_OK;
}
