// What the page draws on its canvases. Colours come from the style sheet, so that they fit light and dark.
"use strict";

const CELLS_PER_LINE = 40;

const theme = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();

/** A colour as [r, g, b]. The style sheet has them as #rrggbb. */
const channels = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));

/** A mixture of two colours: `share` of the second. */
const blend = (one, other, share) => one.map((value, i) => Math.round(value + share * (other[i] - value)));

/** From a place of the plane, −1 to 1, to one of a canvas. */
const across = (canvas, x) => ((x + 1) / 2) * canvas.width;
const down = (canvas, y) => ((1 - y) / 2) * canvas.height;

/** Draw cells of a canvas, forty a line; `colour` says what colour each value has. */
function drawCells(canvas, values, colour) {
  const context = canvas.getContext("2d");
  const side = canvas.width / CELLS_PER_LINE;
  context.clearRect(0, 0, canvas.width, canvas.height);
  values.forEach((value, place) => {
    const [x, y] = [(place % CELLS_PER_LINE) * side, Math.floor(place / CELLS_PER_LINE) * side];
    context.fillStyle = colour(value);
    context.fillRect(x + 0.5, y + 0.5, side - 1, side - 1);
  });
}

/** Draw bits: black for 1, white for 0, on paper as on a dark screen. */
const drawBits = (canvas, bits) => drawCells(canvas, bits, (bit) => (bit ? "#000000" : "#ffffff"));

/** Draw the means of measurements: blue above 0, orange below. */
function drawCounters(canvas, values) {
  const [none, more, less] = ["ground", "blue", "orange"].map((name) => channels(theme(name)));
  drawCells(canvas, values, (value) => `rgb(${blend(none, value > 0 ? more : less, Math.abs(value))})`);
}

/** Draw rows as dots, [{x, y, colour}], and where the keyboard's brush is, if it is shown. */
function drawRows(canvas, rows, brush) {
  const context = canvas.getContext("2d");
  context.clearRect(0, 0, canvas.width, canvas.height);
  const colours = [theme("blue"), theme("orange")];
  context.globalAlpha = rows.length > 3000 ? 0.35 : 0.7;
  for (const row of rows) {
    context.fillStyle = colours[row.colour];
    context.beginPath();
    context.arc(across(canvas, row.x), down(canvas, row.y), 3, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
  if (!brush) return;
  context.strokeStyle = theme("ink");
  context.lineWidth = 2;
  context.beginPath();
  context.arc(across(canvas, brush.x), down(canvas, brush.y), brush.width * canvas.width, 0, 2 * Math.PI);
  context.stroke();
}

/** Draw a density: the colour of the card where there is none, the more ink the more rows. */
function drawDensity(canvas, heights) {
  const [none, some, negative] = ["card", "green", "orange"].map((name) => channels(theme(name)));
  const most = Math.max(1e-9, ...heights.map(Math.abs));
  const small = new ImageData(FINE, FINE);
  heights.forEach((height, place) => {
    const row = FINE - 1 - Math.floor(place / FINE);
    const share = Math.abs(height) / most;
    const colour = blend(none, height > 0 ? some : negative, height > 0 ? share : share / 2);
    small.data.set([...colour, 255], 4 * (row * FINE + (place % FINE)));
  });
  const between = document.createElement("canvas");
  between.width = between.height = FINE;
  between.getContext("2d").putImageData(small, 0, 0);
  const context = canvas.getContext("2d");
  context.imageSmoothingEnabled = true;
  context.drawImage(between, 0, 0, canvas.width, canvas.height);
}

/** Draw centroids, numbered from the heaviest. */
function drawCentroids(canvas, centroids) {
  const context = canvas.getContext("2d");
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.font = "bold 22px system-ui, sans-serif";
  centroids.forEach(({ x, y, weight }, number) => {
    const radius = 16 + 22 * Math.sqrt(weight);
    context.beginPath();
    context.arc(across(canvas, x), down(canvas, y), radius, 0, 2 * Math.PI);
    context.fillStyle = theme("card");
    context.globalAlpha = 0.8;
    context.fill();
    context.globalAlpha = 1;
    context.strokeStyle = context.fillStyle = theme("ink");
    context.lineWidth = 3;
    context.stroke();
    context.fillText(String(number), across(canvas, x), down(canvas, y) + 1);
  });
}
