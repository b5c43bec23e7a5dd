// A CSV file: which columns hold numbers, and where its rows lie on the page's plane.
"use strict";

/** Return the cells of a line; quotes may hold the delimiter, and "" stands for a quote. */
function splitLine(line, delimiter) {
  if (!line.includes('"')) return line.split(delimiter);
  const cells = [];
  let cell = "";
  let quoted = false;
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '"' && quoted && line[i + 1] === '"') cell += line[++i];
    else if (line[i] === '"') quoted = !quoted;
    else if (line[i] === delimiter && !quoted) cell = (cells.push(cell), "");
    else cell += line[i];
  }
  return [...cells, cell];
}

/** Return a number, or NaN for anything that is not clearly one: "", "n/a", "1,5", "0x10". */
const asNumber = (cell) => (/^\s*[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?\s*$/.test(cell) ? Number(cell) : NaN);

/**
 * Read a table: {names, columns}, of the columns in which most cells are numbers; other cells of theirs are NaN. The
 * first line is a header when it holds no number.
 */
function readTable(text) {
  const lines = text.replace(/^\uFEFF/, "").split(/\r\n|\n|\r/).filter((line) => line.trim() && !line.startsWith("#"));
  if (!lines.length) throw new Error("The file is empty.");
  const delimiter = ["\t", ";", ","].find((mark) => splitLine(lines[0], mark).length > 1);
  if (!delimiter) throw new Error("Expected two or more columns, separated by commas, semicolons or tabs.");
  const first = splitLine(lines[0], delimiter);
  const headed = first.every((cell) => Number.isNaN(asNumber(cell)));
  const cells = lines.slice(headed ? 1 : 0).map((line) => splitLine(line, delimiter));
  const names = first.map((cell, k) => (headed && cell.trim() ? cell.trim() : `column ${k + 1}`));
  const columns = names.map((_, k) => Float64Array.from(cells, (row) => asNumber(row[k] ?? "")));
  const numeric = names.map((_, k) => k).filter((k) => columns[k].filter(Number.isFinite).length > cells.length / 2);
  if (numeric.length < 2) throw new Error(`Expected two columns of numbers, found ${numeric.length}. Decimal commas are not read.`);
  return { names: numeric.map((k) => names[k]), columns: numeric.map((k) => columns[k]) };
}

/** Return how a column is laid on the plane, its least value at −0.95 and its greatest at 0.95. */
function makeScale(name, column) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of column) [low, high] = [Math.min(low, value), Math.max(high, value)];
  const half = high / 2 - low / 2 || 1; // halves: the whole range may be no float64
  const centre = high / 2 + low / 2;
  return { name, low, high, toPlane: (value) => (0.95 * (value - centre)) / half, toData: (place) => centre + (place / 0.95) * half };
}
