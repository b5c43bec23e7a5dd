/* ---- Messages (qckm's docs/wire-format.md) ---------------------------------------------------------------------- */

#define QCKM_HEADER_BYTES 32u
#define QCKM_CRC_BYTES 4u
#define QCKM_LONGEST_PAYLOAD UINT32_C(0x100000)
/* The size of a message of bits of so many rows, and of a message of counters. */
#define QCKM_BATCH_BYTES(rows) (QCKM_HEADER_BYTES + (rows) * QCKM_BYTES + QCKM_CRC_BYTES)
#define QCKM_COUNTERS_BYTES (QCKM_HEADER_BYTES + QCKM_MEASUREMENTS * sizeof(qckm_count) + QCKM_CRC_BYTES)

#define QCKM_COUNTERS_KIND (sizeof(qckm_count) == 2u ? 2 : 3)

/* CRC-32 of IEEE 802.3, bit by bit: no table. Starts from 0; the CRC of a part is where the next part starts. */
QCKM_FUNCTION uint32_t qckm_crc(uint32_t crc, uint8_t byte)
{
    int bit;
    crc = ~crc ^ byte;
    for (bit = 0; bit < 8; bit++) {
        crc = (crc & 1u) ? (crc >> 1) ^ UINT32_C(0xEDB88320) : crc >> 1;
    }
    return ~crc;
}

QCKM_FUNCTION void qckm_put_word(uint8_t *at, uint32_t word)
{
    at[0] = (uint8_t)(word & 0xFFu);
    at[1] = (uint8_t)(word >> 8 & 0xFFu);
    at[2] = (uint8_t)(word >> 16 & 0xFFu);
    at[3] = (uint8_t)(word >> 24 & 0xFFu);
}

/* The version of the format is 1, or 2 where the message is signed. */
QCKM_FUNCTION void qckm_put_header(uint8_t *at, uint8_t version, uint8_t kind, uint32_t device, uint32_t sequence,
                                   uint32_t rows, uint32_t saturated, uint32_t length)
{
    at[0] = 0x51; /* "Qk" */
    at[1] = 0x6B;
    at[2] = version;
    at[3] = kind;
    qckm_put_word(at + 4, QCKM_FINGERPRINT_LOW);
    qckm_put_word(at + 8, QCKM_FINGERPRINT_HIGH);
    qckm_put_word(at + 12, device);
    qckm_put_word(at + 16, sequence);
    qckm_put_word(at + 20, rows);
    qckm_put_word(at + 24, saturated);
    qckm_put_word(at + 28, length);
}

/* A batch of rows, each sent as bits, gathered where the message will be: QCKM_BATCH_BYTES(capacity) bytes. */
typedef struct {
    uint8_t *message;
    uint32_t capacity;
    uint32_t rows;
    uint32_t saturated;
} qckm_batch;

QCKM_FUNCTION void qckm_batch_start(qckm_batch *batch, uint8_t *message, uint32_t capacity)
{
    const uint32_t most = QCKM_LONGEST_PAYLOAD / QCKM_BYTES;
    batch->message = message;
    batch->capacity = capacity < most ? capacity : most;
    batch->rows = 0;
    batch->saturated = 0;
}

/* Where the bits of the next row go. */
QCKM_FUNCTION uint8_t *qckm_batch_place(const qckm_batch *batch)
{
    return batch->message + QCKM_HEADER_BYTES + (size_t)batch->rows * QCKM_BYTES;
}

/* Add one row. Returns 1, or 0 if the batch is full: finish it first. */
QCKM_FUNCTION int qckm_batch_add(qckm_batch *batch, const int16_t *row)
{
    if (batch->rows == batch->capacity) {
        return 0;
    }
    batch->saturated += qckm_encode(row, qckm_batch_place(batch)) ? 1u : 0u;
    batch->rows++;
    return 1;
}

/* The same for a row that came feature by feature. */
QCKM_FUNCTION int qckm_batch_add_sample(qckm_batch *batch, const qckm_sample *sample)
{
    if (batch->rows == batch->capacity) {
        return 0;
    }
    batch->saturated += qckm_sample_bits(sample, qckm_batch_place(batch)) ? 1u : 0u;
    batch->rows++;
    return 1;
}

/*
 * Make the message and start the batch anew; returns the message's size. The bytes stay where they are until the next
 * row is added: send them, and send them again if need be. Each message of a device has a sequence number of its own,
 * counted from 0, and what is sent again keeps its number: that is how nothing is counted twice.
 */
QCKM_FUNCTION size_t qckm_batch_finish(qckm_batch *batch, uint32_t device, uint32_t sequence)
{
    const uint32_t length = batch->rows * QCKM_BYTES;
    const size_t end = QCKM_HEADER_BYTES + (size_t)length;
    uint32_t crc = 0;
    size_t i;
    qckm_put_header(batch->message, 1, 1, device, sequence, batch->rows, batch->saturated, length);
    for (i = 0; i < end; i++) {
        crc = qckm_crc(crc, batch->message[i]);
    }
    qckm_put_word(batch->message + end, crc);
    batch->rows = 0;
    batch->saturated = 0;
    return end + QCKM_CRC_BYTES;
}

/* Takes one byte of a message: to a radio, a serial line or a buffer. */
typedef void (*qckm_emit)(uint8_t byte, void *context);

/* Read the counters out as a message, a partial sketch, byte by byte, so that no buffer is needed. Clear them after. */
QCKM_FUNCTION void qckm_counters_send(
    const qckm_counters *counters, uint32_t device, uint32_t sequence, qckm_emit emit, void *context)
{
    uint8_t bytes[QCKM_HEADER_BYTES];
    uint32_t crc = 0;
    size_t i, j;
    qckm_put_header(bytes, 1, QCKM_COUNTERS_KIND, device, sequence, counters->rows, counters->saturated,
                    (uint32_t)(QCKM_MEASUREMENTS * sizeof(qckm_count)));
    for (i = 0; i < QCKM_HEADER_BYTES; i++) {
        crc = qckm_crc(crc, bytes[i]);
        emit(bytes[i], context);
    }
    for (i = 0; i < QCKM_MEASUREMENTS; i++) {
        qckm_put_word(bytes, counters->ones[i]);
        for (j = 0; j < sizeof(qckm_count); j++) {
            crc = qckm_crc(crc, bytes[j]);
            emit(bytes[j], context);
        }
    }
    qckm_put_word(bytes, crc);
    for (i = 0; i < QCKM_CRC_BYTES; i++) {
        emit(bytes[i], context);
    }
}
