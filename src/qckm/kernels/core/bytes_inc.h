/* Counting by bytes: those of the four rows of a tile in each lane of a counter, 255 tiles at most. */
QCKM_INLINE words count_negative(words counter, bytes tops)
{
    return (words)((bytes)counter - (bytes)((signed_bytes)tops < 0));
}

/* The rows counted in each lane. */
QCKM_INLINE words counted(words counter)
{
    return (counter & 0xFF) + (counter >> 8 & 0xFF) + (counter >> 16 & 0xFF) + (counter >> 24);
}
