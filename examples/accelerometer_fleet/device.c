/*
 * One device: an accelerometer of three axes that sends no sample. Its readings come on standard input, as int16 counts of
 * the converter; its messages go to standard output, each behind its length, as a radio would frame them.
 *
 *   device NUMBER bits|counters ROWS
 *
 * It keeps counters, or the bits of a batch, of ROWS rows; of readings, never more than one row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "encoder.h" /* generated: op.export_c(..., prefix="fleet") */

static void put_length(size_t size)
{
    putchar((int)(size & 0xFFu));
    putchar((int)(size >> 8 & 0xFFu));
}

static void radio(uint8_t byte, void *context)
{
    (void)context;
    putchar(byte);
}

int main(int argc, char **argv)
{
    static fleet_counters counters;
    static uint8_t message[65536];
    fleet_batch batch;
    int16_t row[FLEET_FEATURES];
    uint32_t number, rows, sequence = 0, pending = 0;
    int send_bits, more;
    if (argc != 4 || fleet_self_test() != 0) {
        return 2;
    }
    number = (uint32_t)strtoul(argv[1], NULL, 10);
    send_bits = strcmp(argv[2], "bits") == 0;
    rows = (uint32_t)strtoul(argv[3], NULL, 10);
    if (rows == 0 || (send_bits && FLEET_BATCH_BYTES(rows) > sizeof message)) {
        return 2;
    }
    fleet_batch_start(&batch, message, rows);
    do {
        more = fread(row, sizeof row, 1, stdin) == 1;
        if (more) {
            size_t k;
            for (k = 0; k < FLEET_FEATURES; k++) {
                row[k] = (int16_t)(row[k] * STEPS_A_COUNT);
            }
            pending += (uint32_t)(send_bits ? fleet_batch_add(&batch, row) : fleet_counters_add(&counters, row));
        }
        if (pending == rows || (!more && pending > 0)) {
            if (send_bits) {
                const size_t size = fleet_batch_finish(&batch, number, sequence);
                put_length(size);
                fwrite(message, 1, size, stdout);
            } else {
                put_length(FLEET_COUNTERS_BYTES);
                fleet_counters_send(&counters, number, sequence, radio, NULL);
                fleet_counters_clear(&counters);
            }
            sequence++;
            pending = 0;
        }
    } while (more);
    /* A last message of no rows, so that it is noticed if the ones before it are lost. */
    put_length(fleet_batch_finish(&batch, number, sequence));
    fwrite(message, 1, FLEET_BATCH_BYTES(0), stdout);
    return 0;
}
