/* SPDX-License-Identifier: Apache-2.0
 *
 * Compression of pages, and the choice of zstd's parameters by column where the table names no
 * level. Measured on pages of 20,000 values (bytes and ns a value):
 *
 *                     short           words           level 3
 *   uuid text         18.98   88      21.33  187      19.77  233
 *   double            5.57    21      4.49    25      4.45    46
 *   long below 2^40   5.40     8      5.17    26      5.19    53
 *   text + hex        5.77    33      6.86    57      6.17    85 */
#include "parquet/writer_int.h"

#define SHORT_MATCH    5
#define SHORT_HASH_LOG 12
#define WORDS_MATCH    4
/* Bodies from this size say something about the column. */
#define TRIAL_BYTES  4096
#define SAMPLE_BYTES 32768
/* A slower way must save this part of the bytes: one in 16 or 32. */
#define WORTH_SHIFT_WORDS 4
#define WORTH_SHIFT_LONG  5

static bool chooses(const struct cv_parquet_workspace *workspace)
{
    return workspace->codec == CV_CODEC_ZSTD && workspace->level == CV_CODEC_LEVEL_DEFAULT;
}

void cv_packing_release(struct cv_parquet_workspace *workspace)
{
    for (size_t i = 0; i < CV_PACKING_COUNT; i++) {
        cv_compressor_free(workspace->compressors[i]);
        workspace->compressors[i] = NULL;
    }
}

static enum cv_code make(struct cv_parquet_workspace *workspace, enum cv_packing packing,
                         struct cv_error *err)
{
    struct cv_compressor **ret = &workspace->compressors[packing];

    if (*ret)
        return CV_OK;
    if (packing == CV_PACKING_SHORT)
        return cv_compressor_new_zstd(1, SHORT_MATCH, SHORT_HASH_LOG, ret, err);
    if (packing == CV_PACKING_WORDS)
        return cv_compressor_new_zstd(1, WORDS_MATCH, 0, ret, err);
    return cv_compressor_new(workspace->codec, workspace->level, ret, err);
}

enum cv_code cv_packing_prepare(struct cv_parquet_workspace *workspace,
                                const struct cv_parquet_options *options, struct cv_error *err)
{
    bool made = workspace->compressors[CV_PACKING_LONG] || workspace->compressors[0];

    CV_DO(cv_codec_check_level(options->codec, options->level, err));
    if (made && workspace->codec == options->codec && workspace->level == options->level)
        return CV_OK;
    cv_packing_release(workspace);
    workspace->codec = options->codec;
    workspace->level = options->level;
    return make(workspace, chooses(workspace) ? CV_PACKING_SHORT : CV_PACKING_LONG, err);
}

static enum cv_code compress(struct cv_parquet_workspace *workspace, enum cv_packing packing,
                             const uint8_t *body, size_t length, struct cv_buf *out,
                             struct cv_error *err)
{
    cv_buf_clear(out);
    CV_DO(make(workspace, packing, err));
    CV_DO(cv_compress(workspace->compressors[packing], body, length, out, err));
    return cv_buf_check(out, "a compressed page", err);
}

static bool is_words(const struct cv_leaf *leaf)
{
    return leaf->width == 8 && leaf->physical != CV_PARQUET_FIXED_LEN_BYTE_ARRAY;
}

/* Chooses by a sample of the body; workspace->packed is what the choice made of the sample. */
static enum cv_code try_all(struct cv_parquet_workspace *workspace, struct cv_leaf *leaf,
                            const uint8_t *body, size_t length, struct cv_error *err)
{
    leaf->packing = CV_PACKING_SHORT;
    CV_DO(compress(workspace, CV_PACKING_SHORT, body, length, &workspace->packed, err));
    for (int i = CV_PACKING_SHORT + 1; i < CV_PACKING_COUNT; i++) {
        struct cv_buf kept = workspace->packed;
        int shift = i == CV_PACKING_WORDS ? WORTH_SHIFT_WORDS : WORTH_SHIFT_LONG;

        CV_DO(compress(workspace, (enum cv_packing)i, body, length, &workspace->trial, err));
        if (workspace->trial.length + (kept.length >> shift) >= kept.length)
            continue;
        workspace->packed = workspace->trial;
        workspace->trial = kept;
        leaf->packing = (enum cv_packing)i;
    }
    leaf->packing_chunks = CV_PARQUET_PACKING_CHUNKS;
    return CV_OK;
}

enum cv_code cv_packing_compress(struct cv_parquet_workspace *workspace, struct cv_leaf *leaf,
                                 const uint8_t *body, size_t length, struct cv_error *err)
{
    bool undecided = leaf->packing == CV_PACKING_UNDECIDED;
    enum cv_packing packing = leaf->packing;

    if (!chooses(workspace))
        return compress(workspace, CV_PACKING_LONG, body, length, &workspace->packed, err);
    if (undecided && length < TRIAL_BYTES) {
        packing = is_words(leaf) ? CV_PACKING_WORDS : CV_PACKING_SHORT;
    } else if (undecided) {
        CV_DO(try_all(workspace, leaf, body, CV_MIN(length, (size_t)SAMPLE_BYTES), err));
        if (length <= SAMPLE_BYTES)
            return CV_OK;
        packing = leaf->packing;
    }
    return compress(workspace, packing, body, length, &workspace->packed, err);
}
