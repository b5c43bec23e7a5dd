/*
 * What the page adds to the exported encoder: rows of float64 in, bits, counters and messages out.
 *
 * build.py compiles this to WebAssembly, after `encoder.h`, which `op.export_c` writes. Bits, counters and messages are
 * made by that header and by nothing else; here is only where they lie.
 */
#include "encoder.h"

#define EXPORT(name) __attribute__((export_name(#name))) name

#define SKETCHES 3u
#define BATCH 1024u
#define MESSAGE_BYTES QCKM_SIGNED_COUNTERS_BYTES

static double rows[BATCH * QCKM_FEATURES];
static uint8_t bits[QCKM_BYTES];
static qckm_counters sketches[SKETCHES];
static uint8_t message[MESSAGE_BYTES];
static uint32_t message_size;
static qckm_identity identity;

/* Where JavaScript finds things: the rows it hands over, the bits of the last one, a sketch, and a message. */
double *EXPORT(rows_at)(void) { return rows; }
uint8_t *EXPORT(bits_at)(void) { return bits; }
qckm_counters *EXPORT(sketch_at)(uint32_t number) { return &sketches[number]; }
uint8_t *EXPORT(message_at)(void) { return message; }
uint8_t *EXPORT(key_at)(void) { return identity.key; }

uint32_t EXPORT(batch)(void) { return BATCH; }

int EXPORT(self_test)(void) { return qckm_self_test(); }

void EXPORT(clear)(uint32_t number) { qckm_counters_clear(&sketches[number]); }

/*
 * A reading in steps: rounded half to even, as numpy.rint does. The operator's origin is 0 (build.py sees to that), so a
 * reading that is clipped to +-32767 here has the code that Python's clipping gives it.
 */
static int16_t reading(double value, int *clipped)
{
    const double steps = __builtin_rint(value / STEP);
    if (steps > 32767.0 || steps < -32767.0) {
        *clipped = 1;
        return steps > 0 ? 32767 : -32767;
    }
    return (int16_t)steps;
}

/* Encode the first `count` of the rows and add them to a sketch. Returns how many were added: fewer when it is full. */
uint32_t EXPORT(add)(uint32_t number, uint32_t count)
{
    uint32_t i;
    for (i = 0; i < count; i++) {
        int16_t row[QCKM_FEATURES];
        int clipped = 0;
        uint32_t k;
        for (k = 0; k < QCKM_FEATURES; k++) {
            row[k] = reading(rows[i * QCKM_FEATURES + k], &clipped);
        }
        qckm_encode(row, bits);
        if (!qckm_counters_add_bits(&sketches[number], bits, clipped)) {
            break;
        }
    }
    return i;
}

/* Sums of integers: a + b and (a + b) - b are exact. JavaScript asks only for what was added before. */
void EXPORT(merge)(uint32_t into, uint32_t other)
{
    uint32_t i;
    sketches[into].rows += sketches[other].rows;
    sketches[into].saturated += sketches[other].saturated;
    for (i = 0; i < QCKM_MEASUREMENTS; i++) {
        sketches[into].ones[i] += sketches[other].ones[i];
    }
}

void EXPORT(forget)(uint32_t from, uint32_t other)
{
    uint32_t i;
    sketches[from].rows -= sketches[other].rows;
    sketches[from].saturated -= sketches[other].saturated;
    for (i = 0; i < QCKM_MEASUREMENTS; i++) {
        sketches[from].ones[i] -= sketches[other].ones[i];
    }
}

static void put(uint8_t byte, void *context)
{
    (void)context;
    message[message_size++] = byte;
}

/* Make the message of a sketch, which `qckm pool` reads. Returns its size. */
uint32_t EXPORT(send)(uint32_t number, uint32_t device, uint32_t sequence)
{
    message_size = 0;
    qckm_counters_send(&sketches[number], device, sequence, put, 0);
    return message_size;
}

/* The same, signed with the key that JavaScript has put at key_at, which a collector counts once. */
uint32_t EXPORT(send_signed)(uint32_t number, uint32_t device, uint32_t boot, uint32_t sequence, uint32_t time)
{
    identity.device = device;
    identity.boot = boot;
    message_size = 0;
    qckm_counters_send_signed(&sketches[number], &identity, sequence, time, put, 0);
    return message_size;
}
