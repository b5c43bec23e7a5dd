/* The loops over floats, compiled for one instruction set. */
#ifndef QCKM_LOOPS_H
#define QCKM_LOOPS_H

#include "decoder.h"

typedef struct qckm_loops {
    int (*atoms)(const qckm_waves *, const qckm_clusters *, double *);
    int (*misfit)(const qckm_waves *, const qckm_clusters *, const qckm_slopes *, double *);
    int (*ascend)(const qckm_waves *, const qckm_ascent *);
    int (*correlation)(const qckm_waves *, const double *, double *, double *);
    int (*fit)(const qckm_waves *, const qckm_fitting *, const qckm_rules *, qckm_descent *);
    int (*match)(const qckm_waves *, const qckm_rules *, qckm_descent *);
    int (*nearest)(const qckm_rows *, int64_t, const double *, int64_t, int32_t *, double *);
    int (*screen)(const qckm_rows *, qckm_screening *);
    int (*plus_plus)(const qckm_points *, const qckm_choice *);
    int (*lloyd)(const qckm_points *, qckm_lloyd *);
    int (*pack_signs)(const qckm_packing *);
    int (*multiply_signs)(const qckm_signs *, const qckm_products *);
    int (*multiply_values)(const qckm_values *, const qckm_products *);
    int (*multiply_columns_of_values)(const qckm_values *, const qckm_products *);
    int (*multiply)(const qckm_matrices *);
    int (*map)(const qckm_mapping *);
    int (*solve)(const qckm_system *);
} qckm_loops;

extern const qckm_loops qckm_plain_loops;
#if defined(__x86_64__)
extern const qckm_loops qckm_avx2_loops, qckm_avx512_loops;
#endif

#endif
