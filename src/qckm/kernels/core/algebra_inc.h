/*
 * Products of matrices in one order of sums: over the inner side from the first to the last, 256 at a time, whose sums are added
 * up. Where there is one column, a row is multiplied with it by `dot`.
 */
enum { INNER = 256, STRIPE = 16, TALL = 4 }; /* the inner side at a time, columns of a packed stripe, rows that share it */

/* Columns from `first` on, up to STRIPE of them, side by side, filled up with 0. */
static void pack_stripe(const qckm_matrices *product, int64_t inner, int64_t depth, int64_t first, double *stripe)
{
    const int64_t count = least(STRIPE, product->columns - first);
    for (int64_t k = 0; k < depth; k++) {
        const double *from = product->right + (inner + k) * product->columns + first;
        for (int64_t j = 0; j < STRIPE; j++) {
            stripe[k * STRIPE + j] = j < count ? from[j] : 0;
        }
    }
}

/* The products of a few rows with a stripe, (rows, STRIPE). */
QCKM_INLINE void multiply_stripe(
    const double *left, int64_t apart, const double *stripe, int64_t depth, int rows, double found[TALL][STRIPE])
{
    for (int at = 0; at < STRIPE; at += 2 * LANES) {
        lanes sums[TALL][2];
        memset(sums, 0, sizeof sums);
        for (int64_t k = 0; k < depth; k++) {
            const lanes first = lanes_at(stripe + k * STRIPE + at), second = lanes_at(stripe + k * STRIPE + at + LANES);
            QCKM_UNROLL
            for (int row = 0; row < rows; row++) {
                const lanes number = all(left[row * apart + k]);
                sums[row][0] += number * first;
                sums[row][1] += number * second;
            }
        }
        QCKM_UNROLL
        for (int row = 0; row < rows; row++) {
            put_lanes(&found[row][at], sums[row][0]);
            put_lanes(&found[row][at + LANES], sums[row][1]);
        }
    }
}

static void multiply_columns_of(const qckm_matrices *product, int64_t inner, int64_t depth, int64_t first, double *stripe)
{
    const int64_t count = least(STRIPE, product->columns - first);
    double found[TALL][STRIPE];
    pack_stripe(product, inner, depth, first, stripe);
    for (int64_t row = 0, taken; row < product->rows; row += taken) {
        const double *left = product->left + row * product->inner + inner;
        taken = product->rows - row < TALL ? 1 : TALL;
        if (taken == TALL) {
            multiply_stripe(left, product->inner, stripe, depth, TALL, found);
        } else {
            multiply_stripe(left, product->inner, stripe, depth, 1, found);
        }
        for (int64_t i = 0; i < taken; i++) {
            for (int64_t j = 0; j < count; j++) {
                product->out[(row + i) * product->columns + first + j] += found[i][j];
            }
        }
    }
}

/* One row: columns are multiplied where they are. */
static void multiply_row(const qckm_matrices *product, int64_t inner, int64_t depth, double *sums)
{
    memset(sums, 0, (size_t)product->columns * sizeof(double));
    for (int64_t k = inner; k < inner + depth; k++) {
        add(sums, product->left[k], product->right + k * product->columns, product->columns);
    }
    for (int64_t j = 0; j < product->columns; j++) {
        product->out[j] += sums[j];
    }
}

static int multiply(const qckm_matrices *product)
{
    if (product->columns == 1) {
        for (int64_t row = 0; row < product->rows; row++) {
            product->out[row] = dot(product->left + row * product->inner, product->right, product->inner);
        }
        return 0;
    }
    double *memory = allocate(product->rows == 1 ? product->columns : INNER * STRIPE);
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    memset(product->out, 0, (size_t)(product->rows * product->columns) * sizeof(double));
    for (int64_t inner = 0; inner < product->inner; inner += INNER) {
        const int64_t depth = least(INNER, product->inner - inner);
        if (product->rows == 1) {
            multiply_row(product, inner, depth, memory);
            continue;
        }
        for (int64_t first = 0; first < product->columns; first += STRIPE) {
            multiply_columns_of(product, inner, depth, first, memory);
        }
    }
    free(memory);
    return 0;
}

/* A row of a matrix of small numbers, some columns of it, as doubles. */
static void widen(const qckm_values *values, int64_t row, int64_t first, int64_t count, double *restrict to)
{
    const int64_t at = row * values->columns + first;
    if (values->number == QCKM_FLOAT32) {
        const float *restrict from = (const float *)values->numbers + at;
        for (int64_t j = 0; j < count; j++) {
            to[j] = (double)from[j];
        }
    } else {
        const int16_t *restrict from = (const int16_t *)values->numbers + at;
        for (int64_t j = 0; j < count; j++) {
            to[j] = (double)from[j];
        }
    }
}

/* The products of some rows with vectors, by `dot`. */
static int multiply_values(const qckm_values *values, const qckm_products *products)
{
    double *row = allocate(values->columns);
    if (!row) {
        return QCKM_NO_MEMORY;
    }
    for (int64_t i = products->first; i < products->last; i++) {
        widen(values, i, 0, values->columns, row);
        for (int64_t v = 0; v < products->count; v++) {
            const double sum = dot(row, products->vectors + v * values->columns, values->columns);
            products->out[v * values->rows + i] = values->unit * sum;
        }
    }
    free(row);
    return 0;
}

/* The products of some columns with vectors: over rows from the first to the last, INNER at a time, whose sums are added up. */
static int multiply_columns_of_values(const qckm_values *values, const qckm_products *products)
{
    const int64_t width = products->last - products->first;
    double *memory = allocate((TALL + products->count) * width), *sums = memory + TALL * width;
    if (!memory) {
        return QCKM_NO_MEMORY;
    }
    for (int64_t v = 0; v < products->count; v++) {
        memset(products->out + v * values->columns + products->first, 0, (size_t)width * sizeof(double));
    }
    for (int64_t inner = 0; inner < values->rows; inner += INNER) {
        const int64_t end = least(inner + INNER, values->rows);
        memset(sums, 0, (size_t)(products->count * width) * sizeof(double));
        for (int64_t row = inner, taken; row < end; row += taken) {
            taken = end - row < TALL ? 1 : TALL;
            for (int64_t i = 0; i < taken; i++) {
                widen(values, row + i, products->first, width, memory + i * width);
            }
            for (int64_t v = 0; v < products->count; v++) {
                const double *weights = products->vectors + v * values->rows + row;
                double *restrict to = sums + v * width;
                if (taken == 1) {
                    add(to, weights[0], memory, width);
                    continue;
                }
                const double *restrict a = memory, *restrict b = a + width, *restrict c = b + width, *restrict d = c + width;
                for (int64_t j = 0; j < width; j++) {
                    to[j] = (((to[j] + weights[0] * a[j]) + weights[1] * b[j]) + weights[2] * c[j]) + weights[3] * d[j];
                }
            }
        }
        for (int64_t v = 0; v < products->count; v++) {
            add(products->out + v * values->columns + products->first, values->unit, sums + v * width, width);
        }
    }
    free(memory);
    return 0;
}

/* A function of each of some numbers. */
static int map(const qckm_mapping *mapping)
{
    const int64_t count = mapping->count;
    const double *restrict from = mapping->numbers;
    double *restrict to = mapping->out, other;
    switch (mapping->function) {
    case QCKM_EXP:
        for (int64_t i = 0; i < count; i++) {
            to[i] = exponential(from[i]);
        }
        break;
    case QCKM_LOG:
        for (int64_t i = 0; i < count; i++) {
            to[i] = logarithm(from[i]);
        }
        break;
    case QCKM_SINE:
        for (int64_t i = 0; i < count; i++) {
            sine_cosine(from[i], &to[i], &other);
        }
        break;
    default:
        for (int64_t i = 0; i < count; i++) {
            sine_cosine(from[i], &other, &to[i]);
        }
    }
    return 0;
}
