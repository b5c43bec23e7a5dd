// Sketches of rows (x, y), made by the exported C encoder: the WebAssembly in encoder.js. Every bit is that of Python.
"use strict";

const MEASUREMENTS = 2 * ENCODER.dither.length; // at each phase, and a quarter turn on

/** Return a memory of three sketches, numbered 0, 1 and 2, that rows are added to. */
async function makeSketcher() {
  const bytes = Uint8Array.from(atob(ENCODER.wasm), (letter) => letter.charCodeAt(0));
  const { instance } = await WebAssembly.instantiate(bytes);
  const core = instance.exports;
  if (core.self_test() !== 0) throw new Error("The encoder's self-test failed: this browser computes other bits.");
  const at = (place, kind, length) => new kind(core.memory.buffer, place, length);
  const counters = (number) => at(core.sketch_at(number), Uint32Array, 2 + MEASUREMENTS);

  return {
    /** Add rows, a flat array x, y, x, y, …; refuse what is no finite number, before anything is added. */
    add(number, rows) {
      if (rows.length % 2 || !rows.every(Number.isFinite)) throw new Error("Expected pairs of finite numbers.");
      const most = 2 * core.batch();
      for (let start = 0; start < rows.length; start += most) {
        const part = rows.slice(start, start + most);
        at(core.rows_at(), Float64Array, part.length).set(part);
        if (core.add(number, part.length / 2) < part.length / 2) throw new Error("The sketch is full: 2³² − 1 rows.");
      }
    },
    clear: (number) => core.clear(number),
    merge: (into, other) => core.merge(into, other),
    forget(from, other) {
      if (counters(other)[0] > counters(from)[0]) throw new Error("Rows that were never added cannot be forgotten.");
      core.forget(from, other);
    },
    rows: (number) => counters(number)[0],
    clipped: (number) => counters(number)[1],
    /** How many rows had a 1, of each measurement. */
    ones: (number) => counters(number).slice(2),
    /** The mean of each measurement, +1 standing for bit 0 and −1 for bit 1; zeros when there is no row. */
    values(number) {
      const count = counters(number)[0];
      return Float64Array.from(counters(number).subarray(2), (ones) => (count ? 1 - (2 * ones) / count : 0));
    },
    equal(one, other) {
      const these = counters(one);
      return counters(other).every((value, place) => value === these[place]);
    },
    /** The bits of the row that was added last. */
    lastBits() {
      const packed = at(core.bits_at(), Uint8Array, Math.ceil(MEASUREMENTS / 8));
      return Uint8Array.from({ length: MEASUREMENTS }, (_, i) => (packed[i >> 3] >> (i & 7)) & 1);
    },
    /** The sketch as a message that `qckm pool` reads. */
    message(number, device, sequence) {
      const size = core.send(number, device, sequence);
      return at(core.message_at(), Uint8Array, size).slice();
    },
    /** The same, signed with a key of 16 bytes, for a collector. */
    signedMessage(number, key, device, boot, sequence, time) {
      at(core.key_at(), Uint8Array, 16).set(key);
      const size = core.send_signed(number, device, boot, sequence, time);
      return at(core.message_at(), Uint8Array, size).slice();
    },
    messageBytes: 32 + 4 * MEASUREMENTS + 4,
  };
}
