/*
 * Runs the C core over cases from a file and compares what it finds: for CPUs that this machine only emulates. A case is
 * numbers of 64 bits, then arrays, as tests/targets/test_core.py writes them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core.h"

static FILE *file;

static void *read_bytes(size_t size)
{
    void *bytes = malloc(size + 64);
    if (!bytes || fread(bytes, 1, size, file) != size) {
        exit(3);
    }
    return bytes;
}

static int64_t read_number(void)
{
    int64_t number;
    if (fread(&number, sizeof number, 1, file) != 1) {
        exit(3);
    }
    return number;
}

static int differ(const void *found, const void *expected, size_t size, const char *what, int64_t number)
{
    if (memcmp(found, expected, size)) {
        printf("case %lld: %s differ\n", (long long)number, what);
        return 1;
    }
    return 0;
}

int main(int count, char **words)
{
    int64_t cases, wrong = 0;
    if (count < 2 || !(file = fopen(words[1], "rb")) || (count > 2 && !qckm_use(words[2]))) {
        return 2;
    }
    cases = read_number();
    for (int64_t number = 0; number < cases; number++) {
        qckm_spec spec = {0};
        spec.n = read_number();
        spec.m = read_number();
        spec.paired = read_number();
        spec.kind = read_number();
        spec.octaves = read_number();
        spec.single = read_number();
        spec.size = read_number();
        const size_t n = (size_t)spec.n, m = (size_t)spec.m, size = (size_t)spec.size, measurements = m << spec.paired;
        if (size) {
            spec.signs = read_bytes((m + size - 1) / size * 3 * size);
            spec.factors = read_bytes(4 * n);
            spec.radii = read_bytes(4 * m);
        } else {
            spec.frequencies = read_bytes(2 * n * m);
        }
        spec.dither = read_bytes(4 * m);
        spec.table = read_bytes(2 * 4096);
        spec.inverse_steps = read_bytes(8 * n);
        spec.origin_codes = read_bytes(8 * n);
        qckm_rows rows;
        rows.rows = read_number();
        rows.number = read_number();
        rows.feature_bytes = read_number();
        rows.row_bytes = spec.n * rows.feature_bytes;
        rows.data = read_bytes((size_t)(rows.rows * rows.row_bytes));
        const int64_t *total = read_bytes(8 * measurements);
        const size_t pairs = n * (n - 1) / 2;
        const int64_t *codes = read_bytes(16 * n), *squares = read_bytes(16 * n), *products = read_bytes(16 * pairs);
        const int64_t saturated = read_number();
        const size_t width = (size_t)read_number(); /* of a row's bits; 0 where the signature is not one bit */
        qckm_summary found = {calloc(measurements, 8), malloc(8 * n), malloc(8 * n), 0, 0, calloc(n, 16), calloc(n, 16),
            calloc(pairs + 1, 16)};
        qckm_kernel *kernel;
        if (qckm_prepare(&spec, &kernel)) {
            return 3;
        }
        for (size_t k = 0; k < n; k++) {
            found.lower[k] = 1e300;
            found.upper[k] = -1e300;
        }
        if (qckm_sum(kernel, &rows, NULL, &found) != -1 || found.count != rows.rows || found.saturated != saturated) {
            printf("case %lld: counts differ\n", (long long)number);
            wrong++;
        }
        wrong += differ(found.total, total, 8 * measurements, "sums", number);
        wrong += differ(found.codes, codes, 16 * n, "sums of columns", number);
        wrong += differ(found.squares, squares, 16 * n, "sums of squares", number);
        wrong += differ(found.products, products, 16 * pairs, "sums of products", number);
        if (width) {
            const uint8_t *bits = read_bytes((size_t)rows.rows * width);
            uint8_t *encoded = malloc((size_t)rows.rows * width + 1);
            int64_t *ones = calloc(8 * width, 8), *expected = calloc(8 * width, 8);
            for (int64_t r = 0; r < rows.rows; r++) {
                for (size_t i = 0; i < 8 * width; i++) {
                    expected[i] += bits[(size_t)r * width + i / 8] >> (i % 8) & 1;
                }
            }
            spec.octaves = 1;
            qckm_kernel *flat;
            if (qckm_prepare(&spec, &flat)) {
                return 3;
            }
            qckm_encode(flat, &rows, encoded, (int64_t)width);
            wrong += differ(encoded, bits, (size_t)rows.rows * width, "bits", number);
            qckm_count_bits(bits, (int64_t)width, rows.rows, (int64_t)width, ones);
            wrong += differ(ones, expected, 8 * 8 * width, "counts of bits", number);
            qckm_release(flat);
        }
        qckm_release(kernel);
    }
    printf("%s: %lld cases, %lld wrong\n", qckm_instructions(), (long long)cases, (long long)wrong);
    return wrong != 0;
}
