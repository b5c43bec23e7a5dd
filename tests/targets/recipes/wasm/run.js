// node run.js PROGRAM: runs a WebAssembly module and writes the bytes that it emits to standard output.
"use strict";
const fs = require("fs");
const bytes = [];
const host = { emit: (byte) => bytes.push(byte) };
WebAssembly.instantiate(fs.readFileSync(process.argv[2]), { host }).then(({ instance }) => {
    instance.exports.run();
    fs.writeSync(1, Uint8Array.from(bytes));
});
