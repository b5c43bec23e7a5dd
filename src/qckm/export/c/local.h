/* ---- One private report: randomised response on measurements chosen at random (qckm's docs/guide/privacy.md) ---- */

#define QCKM_MOST_LOCAL_BITS 64u
/* The size of a report of so many bits. */
#define QCKM_LOCAL_BYTES(count) (QCKM_HEADER_BYTES + 8u + 4u * (count) + QCKM_CRC_BYTES)

/* Put the header and the payload of a report; return where they end, or 0 if count or kept are none of a report. */
QCKM_FUNCTION size_t qckm_local_put(uint8_t version, const int16_t *row, uint32_t kept, uint32_t count,
                                    const uint32_t *words, uint32_t device, uint32_t sequence, uint8_t *message)
{
    uint8_t bits[QCKM_BYTES];
    size_t i;
    if (count == 0 || count > QCKM_MOST_LOCAL_BITS || kept <= UINT32_C(0x80000000)) {
        return 0;
    }
    (void)qckm_encode(row, bits);
    qckm_put_header(message, version, 4, device, sequence, 1, 0, 8u + 4u * count);
    qckm_put_word(message + QCKM_HEADER_BYTES, kept);
    qckm_put_word(message + QCKM_HEADER_BYTES + 4, count);
    for (i = 0; i < count; i++) {
        const uint32_t index = (uint32_t)((uint64_t)words[2 * i] * QCKM_MEASUREMENTS >> 32);
        const uint32_t bit = (uint32_t)bits[index >> 3] >> (index & 7u) & 1u;
        const uint32_t turned = words[2 * i + 1] >= kept ? 1u : 0u;
        qckm_put_word(message + QCKM_HEADER_BYTES + 8 + 4 * i, index << 1 | (bit ^ turned));
    }
    return QCKM_HEADER_BYTES + 8u + 4u * (size_t)count;
}

/*
 * Report `count` bits of one row, each kept with the chance kept / 2^32, as a message; returns its size, or 0 if count
 * or kept are none of a report. What to pass as kept for an epsilon, qckm.privacy.LocalReporter(op, epsilon).kept says.
 *
 * words: 2 * count fresh numbers of a cryptographic generator, used for nothing else and forgotten: whoever knows them
 * knows the bits. Nothing of the row may leave the device but the report, not even whether a reading was clipped. A
 * device that reports twice spends epsilon twice.
 */
QCKM_FUNCTION size_t qckm_local_report(const int16_t *row, uint32_t kept, uint32_t count, const uint32_t *words,
                                       uint32_t device, uint32_t sequence, uint8_t *message)
{
    const size_t end = qckm_local_put(1, row, kept, count, words, device, sequence, message);
    uint32_t crc = 0;
    size_t i;
    if (end == 0) {
        return 0;
    }
    for (i = 0; i < end; i++) {
        crc = qckm_crc(crc, message[i]);
    }
    qckm_put_word(message + end, crc);
    return end + QCKM_CRC_BYTES;
}
