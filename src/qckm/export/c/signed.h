/* ---- Signed messages, version 2 (qckm's docs/wire-format.md): a boot number, a time and a MAC for the CRC ---------- */

#define QCKM_TRAILER_BYTES (8u + QCKM_MAC_BYTES)
/* The sizes of signed messages: bits of so many rows, counters, and a report of so many bits. */
#define QCKM_SIGNED_BATCH_BYTES(rows) (QCKM_HEADER_BYTES + (rows) * QCKM_BYTES + QCKM_TRAILER_BYTES)
#define QCKM_SIGNED_COUNTERS_BYTES (QCKM_HEADER_BYTES + QCKM_MEASUREMENTS * sizeof(qckm_count) + QCKM_TRAILER_BYTES)
#define QCKM_SIGNED_LOCAL_BYTES(count) (QCKM_HEADER_BYTES + 8u + 4u * (count) + QCKM_TRAILER_BYTES)

/*
 * Who a device is. The boot number is greater than that of every earlier start: a counter in EEPROM or flash, or the time
 * of the start. Sequence numbers count from 0 in each boot.
 */
typedef struct {
    uint8_t key[QCKM_KEY_BYTES];
    uint32_t device;
    uint32_t boot;
} qckm_identity;

/* Put boot, time and MAC behind the first `end` bytes of a message; returns its size. */
QCKM_FUNCTION size_t qckm_sign(const qckm_identity *identity, uint32_t time, uint8_t *message, size_t end)
{
    qckm_mac mac;
    size_t i;
    qckm_put_word(message + end, identity->boot);
    qckm_put_word(message + end + 4, time);
    qckm_mac_start(&mac, identity->key);
    for (i = 0; i < end + 8; i++) {
        qckm_mac_add(&mac, message[i]);
    }
    qckm_mac_finish(&mac);
    for (i = 0; i < QCKM_MAC_BYTES; i++) {
        message[end + 8 + i] = qckm_mac_byte(&mac, (unsigned int)i);
    }
    return end + QCKM_TRAILER_BYTES;
}

/* As qckm_batch_finish, signed; time is when the rows were read, in seconds since 1970, or 0 without a clock. */
QCKM_FUNCTION size_t
qckm_batch_sign(qckm_batch *batch, const qckm_identity *identity, uint32_t sequence, uint32_t time)
{
    const uint32_t length = batch->rows * QCKM_BYTES;
    qckm_put_header(
        batch->message, 2, 1, identity->device, sequence, batch->rows, batch->saturated, length);
    batch->rows = 0;
    batch->saturated = 0;
    return qckm_sign(identity, time, batch->message, QCKM_HEADER_BYTES + (size_t)length);
}

/* As qckm_counters_send, signed. */
QCKM_FUNCTION void qckm_counters_send_signed(const qckm_counters *counters, const qckm_identity *identity,
                                             uint32_t sequence, uint32_t time, qckm_emit emit, void *context)
{
    uint8_t bytes[QCKM_HEADER_BYTES];
    qckm_mac mac;
    size_t i, j;
    qckm_mac_start(&mac, identity->key);
    qckm_put_header(bytes, 2, QCKM_COUNTERS_KIND, identity->device, sequence, counters->rows, counters->saturated,
                    (uint32_t)(QCKM_MEASUREMENTS * sizeof(qckm_count)));
    for (i = 0; i < QCKM_HEADER_BYTES; i++) {
        qckm_mac_add(&mac, bytes[i]);
        emit(bytes[i], context);
    }
    for (i = 0; i < QCKM_MEASUREMENTS; i++) {
        qckm_put_word(bytes, counters->ones[i]);
        for (j = 0; j < sizeof(qckm_count); j++) {
            qckm_mac_add(&mac, bytes[j]);
            emit(bytes[j], context);
        }
    }
    qckm_put_word(bytes, identity->boot);
    qckm_put_word(bytes + 4, time);
    for (i = 0; i < 8; i++) {
        qckm_mac_add(&mac, bytes[i]);
        emit(bytes[i], context);
    }
    qckm_mac_finish(&mac);
    for (i = 0; i < QCKM_MAC_BYTES; i++) {
        emit(qckm_mac_byte(&mac, (unsigned int)i), context);
    }
}

/* As qckm_local_report, signed. */
QCKM_FUNCTION size_t qckm_local_report_signed(const int16_t *row, uint32_t kept, uint32_t count, const uint32_t *words,
                                              const qckm_identity *identity, uint32_t sequence, uint8_t *message)
{
    const size_t end = qckm_local_put(2, row, kept, count, words, identity->device, sequence, message);
    return end == 0 ? 0 : qckm_sign(identity, 0, message, end);
}
