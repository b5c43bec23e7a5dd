// What happens when something is drawn, opened, chosen or pressed.
"use strict";

const [BLUE, ORANGE, SHOWN] = [0, 1, 2];
const NAMES = { blue: "the blue sketch", orange: "the orange sketch", merge: "blue + orange", forget: "(blue + orange) − blue" };
const MOST_DOTS = 6000; // drawn; all rows are sketched
const LARGEST_FILE = 50e6;
const ROWS_PER_DAB = 8;
const LIGHT = 0.02; // of the rows: clouds narrower than a cell of the decoder leave ripples of up to 1 %

const find = (id) => document.getElementById(id);
const chosen = (name) => document.querySelector(`input[name=${name}]:checked`).value;
const counted = (number, thing) => `${number.toLocaleString("en")} ${thing}${number === 1 ? "" : "s"}`;

const page = {
  sketcher: null,
  rows: [], // what is drawn as dots
  brush: { x: 0, y: 0, shown: false },
  centroids: [],
  table: null,
  scales: null, // how the columns of a file lie on the plane
  drawn: false, // whether rows were drawn by hand: they have no units
  example: false, // whether all rows are the example's: it makes room for the first rows of one's own
  waiting: false,
};

const gaussian = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());

/** Add rows to a sketch, and some of them to the picture. */
function addRows(colour, flat) {
  page.sketcher.add(colour, flat);
  const every = Math.max(1, Math.ceil(flat.length / 2 / MOST_DOTS));
  for (let i = 0; i < flat.length; i += 2 * every) page.rows.push({ x: flat[i], y: flat[i + 1], colour });
  if (page.rows.length > 2 * MOST_DOTS) page.rows = page.rows.filter((_, place) => place % 2);
  changed();
}

/** Add a few rows around a place; those beyond the plane are left out. */
function dab(x, y, colour = Number(chosen("colour")), count = ROWS_PER_DAB, width = Number(find("brush").value)) {
  const flat = [];
  while (count-- > 0) {
    const row = [x + width * gaussian(), y + width * gaussian()];
    if (row.every((value) => Math.abs(value) <= 1)) flat.push(...row);
  }
  page.drawn = true;
  if (flat.length) addRows(colour, flat);
}

/** Add rows where somebody draws; the example makes room for them. */
function draw(x, y, count) {
  makeRoom();
  dab(x, y, undefined, count);
}

/** Forget the example the page opened with, before rows of one's own come. */
function makeRoom() {
  if (page.example) startAgain();
}

/** Compute what is shown anew, from the counters of blue and orange. */
function combine() {
  const { sketcher } = page;
  const what = chosen("sum");
  sketcher.clear(SHOWN);
  if (what !== "orange") sketcher.merge(SHOWN, BLUE);
  if (what !== "blue") sketcher.merge(SHOWN, ORANGE);
  if (what === "forget") sketcher.forget(SHOWN, BLUE);
  find("shown-name").textContent = NAMES[what];
  if (what === "merge") {
    find("sum-words").textContent = `${counted(sketcher.rows(SHOWN), "row")} in 480 counters: as many as one sketch has.`;
  } else if (what === "forget") {
    const same = sketcher.equal(SHOWN, ORANGE);
    find("sum-words").textContent = same
      ? "The rest equals the orange sketch in all 480 counters: blue is forgotten exactly."
      : "The rest differs from the orange sketch: that is a bug, please report it.";
  } else find("sum-words").textContent = "";
}

/** Note that something changed: centroids are no longer those of the rows, and the page is drawn in the next frame. */
function changed() {
  if (page.centroids.length) find("decode-words").textContent = "What is shown has changed: find clusters again.";
  page.centroids = [];
  find("centroids").hidden = true;
  if (page.waiting) return;
  page.waiting = true;
  requestAnimationFrame(() => {
    page.waiting = false;
    combine();
    show();
  });
}

/** Draw everything. */
function show() {
  const { sketcher } = page;
  const brush = page.brush.shown && { ...page.brush, width: Number(find("brush").value) };
  drawRows(find("plane"), find("hide").checked ? [] : page.rows, brush);
  drawDensity(find("density"), density(sketcher.values(SHOWN)));
  for (const canvas of [find("plane"), find("density")]) drawCentroids(canvas, page.centroids);
  for (const number of [BLUE, ORANGE, SHOWN]) {
    drawCounters(find(`counters-${number}`), sketcher.values(number));
    find(`rows-${number}`).textContent = counted(sketcher.rows(number), "row");
  }
  drawBits(find("bits"), sketcher.lastBits());
  const rows = sketcher.rows(SHOWN);
  find("rows").textContent = rows.toLocaleString("en");
  find("data-bytes").textContent = (16 * rows).toLocaleString("en");
  find("sketch-bytes").textContent = sketcher.messageBytes.toLocaleString("en");
  find("bytes-words").textContent =
    "A row is two numbers of 8 bytes. The sketch is 480 counters of 4 bytes and 36 bytes around them, for ten rows as for a billion.";
}

/** Find clusters of the sketch that is shown, and write them down. */
function findClusters() {
  const rows = page.sketcher.rows(SHOWN);
  if (!rows) {
    find("decode-words").textContent = "There is no row in this sketch yet: draw some.";
    return;
  }
  page.centroids = decode(page.sketcher.values(SHOWN), rows, Number(find("clusters").value));
  const light = page.centroids.some((c) => c.weight < LIGHT) ? " One of less than 2 % may be a ripple, not rows." : "";
  find("decode-words").textContent = `${counted(page.centroids.length, "cluster")} of ${NAMES[chosen("sum")]}, ${counted(rows, "row")}.${light}`;
  const units = page.scales && !page.drawn;
  const [x, y] = units ? page.scales : [];
  find("head-x").textContent = units ? x.name : "left to right";
  find("head-y").textContent = units ? y.name : "bottom to top";
  const line = (c, number) => {
    const place = units ? [x.toData(c.x), y.toData(c.y)].map((value) => value.toPrecision(4)) : [c.x, c.y].map((value) => value.toFixed(2));
    const row = document.createElement("tr");
    for (const text of [number, `${(100 * c.weight).toFixed(1)} %`, ...place]) row.appendChild(document.createElement("td")).textContent = text;
    return row;
  };
  find("centroids").tBodies[0].replaceChildren(...page.centroids.map(line));
  find("centroids").hidden = false;
  show();
}

/** Show what a file holds, and let columns be chosen. */
async function openFile(file) {
  const words = find("table-words");
  find("table").hidden = false;
  find("table-add").disabled = true;
  try {
    if (file.size > LARGEST_FILE) throw new Error("The file is larger than 50 MB: use `qckm fit`, which reads it in one pass.");
    page.table = readTable(await file.text());
    const { names, columns } = page.table;
    for (const [id, place] of [["column-x", 0], ["column-y", 1]]) {
      find(id).replaceChildren(...names.map((name, k) => new Option(name, k, k === place, k === place)));
    }
    words.textContent = `${file.name}: ${counted(columns[0].length, "row")}, ${counted(names.length, "column")} of numbers. Choose two.`;
    find("table-add").disabled = false;
  } catch (error) {
    words.textContent = `${file.name}: ${error.message}`;
  }
}

/** Sketch two columns of the open file, in place of what was drawn in this colour. */
function addTable() {
  const [x, y] = ["column-x", "column-y"].map((id) => Number(find(id).value));
  const { names, columns } = page.table;
  makeRoom();
  find("table").hidden = false;
  const colour = Number(chosen("colour"));
  const whole = Array.from(columns[x].keys()).filter((row) => [x, y].every((k) => Number.isFinite(columns[k][row])));
  const scales = [x, y].map((k) => makeScale(names[k], whole.map((row) => columns[k][row])));
  const flat = whole.flatMap((row) => [scales[0].toPlane(columns[x][row]), scales[1].toPlane(columns[y][row])]);
  if (!whole.length) {
    find("table-words").textContent = "No row has a number in both columns: choose others.";
    return;
  }
  page.sketcher.clear(colour);
  page.rows = page.rows.filter((row) => row.colour !== colour);
  page.drawn = page.rows.length > 0; // rows of the other colour may be drawn, or of another file: then there are no units
  page.scales = scales;
  addRows(colour, flat);
  const bad = columns[x].length - flat.length / 2;
  const mapped = scales.map((s, k) => `${s.name}: ${s.low.toPrecision(4)} to ${s.high.toPrecision(4)}, ${k ? "bottom to top" : "left to right"}`);
  find("table-words").textContent =
    `${counted(flat.length / 2, "row")} sketched${bad ? `, ${counted(bad, "row")} without both numbers left out` : ""}. ` +
    `Least and greatest values are stretched to the plane's edges (${mapped.join("; ")}); a real operator is drawn before the rows are seen.`;
}

function startAgain() {
  for (const number of [BLUE, ORANGE, SHOWN]) page.sketcher.clear(number);
  Object.assign(page, { rows: [], centroids: [], scales: null, drawn: false, example: false });
  find("table").hidden = true;
  find("decode-words").textContent = "";
  changed();
}

function drawExample() {
  startAgain();
  for (const [x, y, count] of [[-0.55, 0.45, 500], [0.45, 0.55, 300]]) dab(x, y, BLUE, count, 0.1);
  for (const [x, y, count] of [[-0.1, -0.5, 400], [0.62, -0.35, 200]]) dab(x, y, ORANGE, count, 0.08);
  document.querySelector("input[name=sum][value=merge]").checked = true;
  find("clusters").value = "4";
  combine();
  findClusters();
  page.example = true;
}

function saveSketch() {
  const link = document.createElement("a");
  // The time stands for a device, so that two files of this page are two senders to `qckm pool`.
  link.href = URL.createObjectURL(new Blob([page.sketcher.message(SHOWN, Math.floor(Date.now() / 1000) >>> 0, 0)]));
  link.download = "sketch.bin";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000); // some browsers start the download later
}

function listen() {
  const plane = find("plane");
  const place = (event) => {
    const box = plane.getBoundingClientRect();
    return [(2 * (event.clientX - box.left)) / box.width - 1, 1 - (2 * (event.clientY - box.top)) / box.height];
  };
  plane.addEventListener("pointerdown", (event) => {
    plane.setPointerCapture(event.pointerId);
    draw(...place(event));
  });
  plane.addEventListener("pointermove", (event) => event.buttons && draw(...place(event)));
  plane.addEventListener("keydown", (event) => {
    const ways = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const { brush } = page;
    if (event.key in ways) {
      [brush.x, brush.y] = [brush.x, brush.y].map((value, k) => Math.max(-1, Math.min(1, value + 0.05 * ways[event.key][k])));
      brush.shown = true;
      show();
    } else if (event.key === " " || event.key === "Enter") {
      brush.shown = true;
      draw(brush.x, brush.y, 5 * ROWS_PER_DAB);
    } else return;
    event.preventDefault();
  });
  plane.addEventListener("blur", () => ((page.brush.shown = false), show()));
  for (const kind of ["dragover", "drop"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      plane.classList.toggle("over", kind === "dragover");
      if (kind === "drop" && event.dataTransfer.files[0]) openFile(event.dataTransfer.files[0]);
    });
  }
  document.addEventListener("dragleave", () => plane.classList.remove("over"));
  find("file").addEventListener("change", (event) => event.target.files[0] && openFile(event.target.files[0]));
  find("file").addEventListener("click", (event) => (event.target.value = "")); // the same file may be opened again
  find("table-add").addEventListener("click", addTable);
  find("example").addEventListener("click", drawExample);
  find("clear").addEventListener("click", startAgain);
  find("decode").addEventListener("click", findClusters);
  find("save").addEventListener("click", saveSketch);
  find("hide").addEventListener("change", show);
  for (const input of document.querySelectorAll("input[name=sum]")) input.addEventListener("change", changed);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
}

async function start() {
  for (let K = 1; K <= 10; K++) find("clusters").add(new Option(K, K, K === 3, K === 3));
  try {
    page.sketcher = await makeSketcher();
  } catch (error) {
    find("sum-words").textContent = `This page cannot run here: ${error.message}`;
    return;
  }
  listen();
  drawExample();
  document.body.dataset.ready = "yes";
}

const started = start();
