/* SPDX-License-Identifier: Apache-2.0
 *
 * Printing of examinations. */
#include "cli/doctor_print.h"

#include "codec/json.h"
#include "codec/utf8.h"
#include "stream/progress.h"

#include <sys/ioctl.h>

#define WIDTH_DEFAULT 100
#define WIDTH_MIN     50
#define INDENT        2
#define BYTES_PER_GB  1e9

static const char *const severity_names[] = {"note", "warning", "critical"};
static const char *const severity_colours[] = {"\033[36m", "\033[33m", "\033[1;31m"};

#define BOLD  "\033[1m"
#define DIM   "\033[2m"
#define GREEN "\033[32m"
#define PLAIN "\033[0m"

static const char *paint(const struct cv_report *report, const char *colour)
{
    return report->colour ? colour : "";
}

static int width_of(FILE *out)
{
    struct winsize size;

    if (ioctl(fileno(out), TIOCGWINSZ, &size) != 0 || size.ws_col < WIDTH_MIN)
        return WIDTH_DEFAULT;
    return CV_MIN(size.ws_col, WIDTH_DEFAULT);
}

/* The text broken between words, its first line behind `mark`; what follows a line's end is there
 * to be copied and stays as it is. */
static void print_wrapped(const struct cv_report *report, const char *mark, const char *text)
{
    int indent = INDENT + (int)cv_utf8_count(cv_str_from(mark));
    int width = width_of(report->out);
    int column = indent;

    (void)fprintf(report->out, "%*s%s", INDENT, "", mark);
    for (const char *word = text; *word && *word != '\n';) {
        size_t length = strcspn(word, " \n");
        int columns = (int)cv_utf8_count((struct cv_str){word, length});

        if (column > indent && column + 1 + columns > width) {
            (void)fprintf(report->out, "\n%*s", indent, "");
            column = indent;
        } else if (column > indent) {
            (void)fputc(' ', report->out);
            column++;
        }
        (void)fprintf(report->out, "%.*s", (int)length, word);
        column += columns;
        word += length;
        word += strspn(word, " ");
    }
    (void)fputc('\n', report->out);
    while ((text = strchr(text, '\n'))) {
        text++;
        (void)fprintf(report->out, "%*s%.*s\n", indent, "", (int)strcspn(text, "\n"), text);
    }
}

static void print_finding(const struct cv_report *report, const struct cv_finding *finding)
{
    const char *colour = paint(report, severity_colours[finding->severity]);
    const char *plain = paint(report, PLAIN);

    (void)fprintf(report->out, "\n%s%-8s%s  %s%s%s\n", colour, severity_names[finding->severity],
                  plain, paint(report, BOLD), finding->name, plain);
    print_wrapped(report, "", finding->what);
    (void)fputs(paint(report, DIM), report->out);
    print_wrapped(report, "", finding->why);
    (void)fputs(plain, report->out);
    if (finding->command) /* never broken: it is there to be copied */
        (void)fprintf(report->out, "%*s%s$ %s%s\n", INDENT, "", paint(report, BOLD),
                      finding->command, plain);
    if (finding->expected[0])
        print_wrapped(report, "→ ", finding->expected);
}

/* --- storage --------------------------------------------------------------------------------- */

static void print_bucket(const struct cv_report *report, const char *name, int64_t bytes,
                         int64_t files, const char *about)
{
    char text[32], price[32] = "";

    cv_format_bytes(bytes, text, sizeof text);
    if (report->price > 0)
        (void)snprintf(price, sizeof price, "%12.2f", (double)bytes / BYTES_PER_GB * report->price);
    (void)fprintf(report->out, "  %-9s %11s %9lld%s   %s%s%s\n", name, text, (long long)files,
                  price, paint(report, DIM), about, paint(report, PLAIN));
}

static void print_storage(const struct cv_report *report, const struct cv_storage_split *s)
{
    (void)fprintf(report->out, "\n%sstorage%s         bytes     files%s\n", paint(report, BOLD),
                  paint(report, PLAIN), report->price > 0 ? "   per month" : "");
    print_bucket(report, "live", s->live_bytes, s->live_files, "answers queries of today");
    if (!s->known) {
        (void)fprintf(report->out,
                      "  the rest is not known: the table's folder cannot be listed\n");
        return;
    }
    print_bucket(report, "old", s->old_bytes, s->old_files, "only older snapshots need it");
    print_bucket(report, "orphan", s->orphan_bytes, s->orphan_files, "nothing names it");
    print_bucket(report, "metadata", s->metadata_bytes, s->metadata_files,
                 "metadata.json, lists, manifests");
}

/* --- the whole ------------------------------------------------------------------------------- */

static void print_headline(const struct cv_report *report, const struct cv_examination *exam)
{
    const struct cv_table_measures *m = &exam->measures;
    char bytes[32];

    cv_format_bytes(m->data_bytes, bytes, sizeof bytes);
    (void)fprintf(report->out, "%s%s%s", paint(report, BOLD), report->subject,
                  paint(report, PLAIN));
    if (m->snapshots)
        (void)fprintf(
            report->out, ": %lld rows in %lld files of %s, %lld partition%s, %lld snapshot%s",
            (long long)m->records, (long long)m->data_files, bytes, (long long)m->partitions,
            m->partitions == 1 ? "" : "s", (long long)m->snapshots, m->snapshots == 1 ? "" : "s");
    (void)fputc('\n', report->out);
}

/* The split has its own table below; as a note it would say the same twice. */
static bool is_shown(const struct cv_finding *finding)
{
    return finding->severity > CV_SEVERITY_NOTE || strcmp(finding->name, "storage-split") != 0;
}

static void print_count(const struct cv_report *report, const struct cv_examination *exam)
{
    size_t counts[3] = {0};

    for (size_t i = 0; i < exam->count; i++)
        counts[exam->findings[i].severity] += is_shown(&exam->findings[i]);
    if (!cv_examination_count(exam)) {
        (void)fprintf(report->out, "\n%sfine%s", paint(report, GREEN), paint(report, PLAIN));
    } else {
        (void)fputc('\n', report->out);
        if (counts[CV_SEVERITY_CRITICAL])
            (void)fprintf(report->out, "%zu critical%s", counts[CV_SEVERITY_CRITICAL],
                          counts[CV_SEVERITY_WARNING] ? ", " : "");
        if (counts[CV_SEVERITY_WARNING])
            (void)fprintf(report->out, "%zu warning%s", counts[CV_SEVERITY_WARNING],
                          counts[CV_SEVERITY_WARNING] == 1 ? "" : "s");
    }
    if (counts[CV_SEVERITY_NOTE])
        (void)fprintf(report->out, ", %zu note%s", counts[CV_SEVERITY_NOTE],
                      counts[CV_SEVERITY_NOTE] == 1 ? "" : "s");
    (void)fputc('\n', report->out);
}

void cv_report_print(const struct cv_report *report, const struct cv_examination *exam)
{
    print_headline(report, exam);
    for (size_t i = 0; i < exam->count; i++)
        if (is_shown(&exam->findings[i]))
            print_finding(report, &exam->findings[i]);
    if (exam->measures.snapshots)
        print_storage(report, &exam->storage);
    print_count(report, exam);
}

static void print_change(const struct cv_report *report, const char *name, int64_t before,
                         int64_t after, bool bytes)
{
    char left[32], right[32];

    if (bytes) {
        cv_format_bytes(before, left, sizeof left);
        cv_format_bytes(after, right, sizeof right);
    } else {
        (void)snprintf(left, sizeof left, "%lld", (long long)before);
        (void)snprintf(right, sizeof right, "%lld", (long long)after);
    }
    (void)fprintf(report->out, "  %-16s %11s  →  %s%s%s\n", name, left,
                  after < before ? paint(report, GREEN) : "", right, paint(report, PLAIN));
}

static int64_t storage_of(const struct cv_examination *exam)
{
    const struct cv_storage_split *s = &exam->storage;

    return s->live_bytes + s->old_bytes + s->orphan_bytes + s->metadata_bytes;
}

void cv_report_print_change(const struct cv_report *report, const struct cv_examination *before,
                            const struct cv_examination *after)
{
    (void)fprintf(report->out, "\n%sbefore and after%s\n", paint(report, BOLD),
                  paint(report, PLAIN));
    print_change(report, "rows", before->measures.records, after->measures.records, false);
    print_change(report, "data files", before->measures.data_files, after->measures.data_files,
                 false);
    print_change(report, "avoidable files", before->measures.avoidable_files,
                 after->measures.avoidable_files, false);
    print_change(report, "manifests", before->measures.manifests, after->measures.manifests, false);
    print_change(report, "snapshots", before->measures.snapshots, after->measures.snapshots, false);
    print_change(report, "live", before->storage.live_bytes, after->storage.live_bytes, true);
    if (before->storage.known && after->storage.known)
        print_change(report, "storage", storage_of(before), storage_of(after), true);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void put_text(struct cv_json_writer *w, const char *key, const char *text)
{
    cv_json_key(w, key);
    if (text)
        cv_json_put_string(w, text);
    else
        cv_json_put_null(w);
}

static void put_number(struct cv_json_writer *w, const char *key, int64_t value)
{
    cv_json_key(w, key);
    cv_json_put_i64(w, value);
}

static void put_price(const struct cv_report *report, struct cv_json_writer *w, const char *key,
                      int64_t bytes)
{
    if (report->price <= 0)
        return;
    cv_json_key(w, key);
    cv_json_put_double(w, (double)bytes / BYTES_PER_GB * report->price);
}

static void put_split(const struct cv_report *report, struct cv_json_writer *w,
                      const struct cv_storage_split *s)
{
    cv_json_begin_object(w);
    put_number(w, "live_bytes", s->live_bytes);
    put_number(w, "live_files", s->live_files);
    put_number(w, "old_bytes", s->old_bytes);
    put_number(w, "old_files", s->old_files);
    put_number(w, "orphan_bytes", s->orphan_bytes);
    put_number(w, "orphan_files", s->orphan_files);
    put_number(w, "metadata_bytes", s->metadata_bytes);
    put_number(w, "metadata_files", s->metadata_files);
    put_price(report, w, "live_per_month", s->live_bytes);
    put_price(report, w, "old_per_month", s->old_bytes);
    put_price(report, w, "orphan_per_month", s->orphan_bytes);
    put_price(report, w, "metadata_per_month", s->metadata_bytes);
    cv_json_end_object(w);
}

void cv_report_write_json(const struct cv_report *report, const struct cv_examination *exam,
                          struct cv_buf *out)
{
    struct cv_json_writer w = CV_JSON_WRITER(out);

    cv_json_begin_array(&w);
    for (size_t i = 0; i < exam->count; i++) {
        const struct cv_finding *finding = &exam->findings[i];

        cv_json_begin_object(&w);
        put_text(&w, "name", finding->name);
        put_text(&w, "severity", severity_names[finding->severity]);
        put_text(&w, "what", finding->what);
        put_number(&w, "number", finding->number);
        put_text(&w, "why", finding->why);
        put_text(&w, "command", finding->command);
        put_text(&w, "expected", finding->expected);
        cv_json_key(&w, "fixable");
        cv_json_put_bool(
            &w, finding->severity > CV_SEVERITY_NOTE &&
                    (finding->procedure || finding->properties.count || finding->aborts_uploads));
        cv_json_key(&w, "details");
        if (strcmp(finding->name, "storage-split") == 0)
            put_split(report, &w, &exam->storage);
        else
            cv_json_put_null(&w);
        cv_json_end_object(&w);
    }
    cv_json_end_array(&w);
}
