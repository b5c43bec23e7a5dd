/*
 * Sine, cosine, exponential and logarithm, by sums and products alone: the C library's differ from one version to the next, and
 * from one CPU to the next.
 */

QCKM_INLINE int64_t bits_of(double number)
{
    int64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

QCKM_INLINE double from_bits(int64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/*
 * 1.5 2^52: a number within 2^51 either way that is added to it is rounded to an integer, ties to even, which is in its last bits.
 * Compilers make vectors of that on every CPU, of conversions on few.
 */
static const double ROUNDER = 6755399441055744.0;
static const int64_t BITS_OF_ROUNDER = INT64_C(0x4338000000000000);

QCKM_INLINE int64_t rounded(double number)
{
    return bits_of(number + ROUNDER) - BITS_OF_ROUNDER;
}

/*
 * Sine and cosine to 2e-13 and what an angle, up to 1e15, was rounded by: polynomials within an eighth of a turn of the nearest quarter, which says whose
 * is whose and of what sign. Their coefficients, next to those of the series, are those whose largest error there is least
 * (2e-15 and 1e-13).
 */
QCKM_INLINE void sine_cosine(double x, double *sine, double *cosine)
{
    const double shifted = x * 0.6366197723675814 + ROUNDER;
    const int64_t quarter = bits_of(shifted);
    x -= (shifted - ROUNDER) * 1.5707963267948966;
    const double q = x * x;
    double s = 1.984126246233372e-4 - q * (2.755511491653373e-6 - q * 2.4746411395524464e-8);
    double c = 1.3888883853303714e-3 - q * (2.479954226786506e-5 - q * 2.721183247319373e-7);
    s = x * (1 - q * (0.16666666666608165 - q * (8.333333322166544e-3 - q * s)));
    c = 1 - q * (0.5 - q * (0.04166666662425408 - q * c));
    const int64_t swapped = (bits_of(s) ^ bits_of(c)) & -(quarter & 1);
    *sine = from_bits(bits_of(s) ^ swapped ^ (int64_t)((uint64_t)(quarter & 2) << 62));
    *cosine = from_bits(bits_of(c) ^ swapped ^ (int64_t)((uint64_t)((quarter + 1) & 2) << 62));
}

/* exp(-x) for x >= 0 to about 1e-12; nothing is left beyond 60. */
QCKM_INLINE double decay(double x)
{
    x = (x < 60 ? x : 60) * 0.00390625;
    double p = 1 - x * (1 - x * (0.5 - x * (1.0 / 6 - x * (1.0 / 24 - x * (1.0 / 120 - x * (1.0 / 720))))));
    p = p * p; /* 256 times the exponent */
    p = p * p;
    p = p * p;
    p = p * p;
    p = p * p;
    p = p * p;
    p = p * p;
    return p * p;
}

/* The logarithm of two in two parts, of which the first times any power of a double is exact. */
static const double LOG_TWO = 0.693147180369123816490, REST_OF_LOG_TWO = 1.90821492927058770002e-10;

/* The exponential to about 1e-15: of what is within half the logarithm of two by its series, times a power of two. */
QCKM_INLINE double exponential(double x)
{
    x = x < -750 ? -750 : x; /* 0, and NaN stays what it is */
    x = x > 710 ? 710 : x; /* infinity */
    const double shifted = x * 1.4426950408889634 + ROUNDER, times = shifted - ROUNDER;
    const int64_t power = bits_of(shifted) - BITS_OF_ROUNDER;
    const double r = (x - times * LOG_TWO) - times * REST_OF_LOG_TWO;
    double p = 1.0 / 479001600 + r * (1.0 / 6227020800);
    p = 1.0 / 362880 + r * (1.0 / 3628800 + r * (1.0 / 39916800 + r * p));
    p = 1.0 / 120 + r * (1.0 / 720 + r * (1.0 / 5040 + r * (1.0 / 40320 + r * p)));
    p = 1 + r * (1 + r * (0.5 + r * (1.0 / 6 + r * (1.0 / 24 + r * p))));
    const int64_t half = power >> 1; /* in two steps: either is within what a double can be */
    return p * from_bits((int64_t)((uint64_t)(half + 1023) << 52)) * from_bits((int64_t)((uint64_t)(power - half + 1023) << 52));
}

/*
 * The logarithm to about 1e-15: that of a power of two, and 2 artanh f of what is between 1/sqrt 2 and sqrt 2. Of 0 it is -inf, of
 * what is below NaN.
 */
QCKM_INLINE double logarithm(double x)
{
    const int tiny = x < 2.2250738585072014e-308;
    const uint64_t bits = (uint64_t)bits_of(tiny ? x * 18014398509481984.0 : x); /* unsigned: of what is below 0 they wrap around */
    const int64_t power = (int64_t)(bits - UINT64_C(0x3FE6A09E667F3BCD)) >> 52; /* of two, so that what remains is from 1/sqrt 2 on */
    const double part = from_bits((int64_t)(bits - ((uint64_t)power << 52)));
    const double times = from_bits(power + BITS_OF_ROUNDER) - ROUNDER - (tiny ? 54 : 0);
    const double f = (part - 1) / (part + 1), q = f * f;
    double series = q * (1.0 / 17 + q * (1.0 / 19 + q * (1.0 / 21)));
    series = q * (1.0 / 9 + q * (1.0 / 11 + q * (1.0 / 13 + q * (1.0 / 15 + series))));
    series = q * (1.0 / 3 + q * (1.0 / 5 + q * (1.0 / 7 + series)));
    const double found = times * LOG_TWO + (2 * f + (2 * f * series + times * REST_OF_LOG_TWO));
    const double beyond = x == 0 ? -(double)INFINITY : x < 0 ? (double)NAN : x; /* infinity, and NaN */
    return x > 0 && x < (double)INFINITY ? found : beyond;
}
