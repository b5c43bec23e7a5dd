/* Encodes rows in every way the header knows and writes the messages out: the same on every target. */
#include "cases.h" /* generated: the encoders, CASES(X), BATCH */
#include "platform.h"

static void emit(uint8_t byte, void *context)
{
    (void)context;
    platform_emit(byte);
}

/* Bits are sent for every row, every other message signed; counters see the even rows whole and the odd ones feature by feature, backwards. */
#define RUN(name, NAME)                                                              \
    static void run_##name(uint32_t device, uint32_t rows)                           \
    {                                                                                \
        static name##_counters counters;                                             \
        static name##_sample sample;                                                 \
        static uint8_t message[NAME##_SIGNED_BATCH_BYTES(BATCH)];                    \
        int16_t row[NAME##_FEATURES];                                                \
        name##_batch batch;                                                          \
        name##_identity identity;                                                    \
        uint32_t sequence = 0, number;                                               \
        size_t k, size, i;                                                           \
        for (k = 0; k < NAME##_KEY_BYTES; k++) {                                     \
            identity.key[k] = (uint8_t)(17u * k + device);                           \
        }                                                                            \
        identity.device = device;                                                    \
        identity.boot = 3;                                                           \
        name##_counters_clear(&counters);                                            \
        name##_batch_start(&batch, message, BATCH);                                  \
        for (number = 0; number < rows; number++) {                                  \
            int added;                                                               \
            platform_row(row, NAME##_FEATURES);                                      \
            if (number & 1u) {                                                       \
                name##_sample_start(&sample);                                        \
                for (k = NAME##_FEATURES; k-- > 0;) {                                \
                    name##_sample_feature(&sample, k, row[k]);                       \
                }                                                                    \
                added = name##_counters_add_sample(&counters, &sample);              \
            } else {                                                                 \
                added = name##_counters_add(&counters, row);                         \
            }                                                                        \
            if ((number & 1u) && number % 3u) {                                     \
                added &= name##_batch_add_sample(&batch, &sample);                   \
            } else {                                                                 \
                added &= name##_batch_add(&batch, row);                              \
            }                                                                        \
            if (batch.rows == BATCH || number + 1u == rows) {                        \
                size = sequence & 1u ? name##_batch_sign(&batch, &identity, sequence, number) \
                                     : name##_batch_finish(&batch, device, sequence);  \
                sequence++;                                                          \
                for (i = 0; i < size; i++) {                                         \
                    platform_emit(message[i]);                                       \
                }                                                                    \
            }                                                                        \
            if (!added) {                                                            \
                platform_emit(0xEE);                                                 \
            }                                                                        \
        }                                                                            \
        name##_counters_send(&counters, device, sequence, emit, (void *)0);          \
        name##_counters_send_signed(&counters, &identity, sequence + 1u, 9, emit, (void *)0); \
        platform_emit((uint8_t)name##_self_test());                                  \
    }

CASES(RUN)

int main(void)
{
    uint32_t device = 0;
    platform_start();
#define CALL(name, NAME) run_##name(device, rows_of_##name), device++;
    CASES(CALL)
    platform_finish();
    return 0;
}
