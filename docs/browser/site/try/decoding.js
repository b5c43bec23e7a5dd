// A small decoder for this page. The library's is stronger: it chooses its scale, models the widths of clusters, gives a
// verdict and the error of its estimates. Both start from the same fact: a cell with a share w of the rows adds w times
// its own measurements to the sketch.
"use strict";

const FINE = 96; // places along a side of the density's picture
const COARSE = 32; // cells along a side that the decoder weighs: rows within one are taken for equally spread
const ITERATIONS = 150;
const RESTARTS = 20;
const TURN = 2 ** 24;

/** The frequencies in radians per unit of the plane, and the dither in radians. */
const WAVES = ENCODER.dither.map((dither, j) => ({
  x: (ENCODER.frequencies[j][0] * 2 * Math.PI) / TURN / ENCODER.step,
  y: (ENCODER.frequencies[j][1] * 2 * Math.PI) / TURN / ENCODER.step,
  phase: (dither * 2 * Math.PI) / TURN,
}));

/** The middle of cell i of `count` from −1 to 1. */
const middle = (i, count) => -1 + (2 * i + 1) / count;

const sinc = (x) => (Math.abs(x) < 1e-6 ? 1 : Math.sin(x) / x);

/**
 * Return the density as the sketch sees it, (FINE, FINE), the lowest y first: its correlation with the first harmonic of
 * every place, as `qckm.plots.density` draws it. It is 1 where all rows are at one place.
 */
function density(values) {
  const m = WAVES.length;
  const out = new Float64Array(FINE * FINE);
  // cos(ax + by + c) is the real part of exp(iax)·exp(i(by + c)): two small tables instead of FINE² cosines a wave.
  const cosX = new Float64Array(FINE);
  const sinX = new Float64Array(FINE);
  for (let j = 0; j < m; j++) {
    const { x, y, phase } = WAVES[j];
    for (let i = 0; i < FINE; i++) {
      cosX[i] = Math.cos(x * middle(i, FINE));
      sinX[i] = Math.sin(x * middle(i, FINE));
    }
    for (let row = 0; row < FINE; row++) {
      const angle = y * middle(row, FINE) + phase;
      // z·cos(θ) + z'·cos(θ + π/2), with θ = ax + angle
      const alongCos = values[j] * Math.cos(angle) - values[m + j] * Math.sin(angle);
      const alongSin = -values[j] * Math.sin(angle) - values[m + j] * Math.cos(angle);
      for (let i = 0; i < FINE; i++) out[row * FINE + i] += alongCos * cosX[i] + alongSin * sinX[i];
    }
  }
  const amplitude = 4 / Math.PI; // of the first harmonic of a square wave
  return out.map((value) => value / (amplitude * m));
}

/** Return the measurements of every cell, (COARSE², M): three harmonics of the square wave, averaged over the cell. */
function makeCells() {
  const m = WAVES.length;
  const cells = new Float32Array(COARSE * COARSE * 2 * m);
  const half = 1 / COARSE;
  for (const [harmonic, sign] of [[1, 1], [3, -1], [5, 1]]) {
    for (let j = 0; j < m; j++) {
      const { x, y, phase } = WAVES[j];
      const height = ((sign * 4) / Math.PI / harmonic) * sinc(harmonic * x * half) * sinc(harmonic * y * half);
      for (let cell = 0; cell < COARSE * COARSE; cell++) {
        const angle = x * middle(cell % COARSE, COARSE) + y * middle(Math.floor(cell / COARSE), COARSE) + phase;
        cells[cell * 2 * m + j] += height * Math.cos(harmonic * angle);
        cells[cell * 2 * m + m + j] += height * Math.cos(harmonic * (angle + Math.PI / 2));
      }
    }
  }
  return cells;
}

/**
 * Return weights of the cells, none negative, whose sum of measurements comes near the sketch: least squares, FISTA.
 *
 * A mean of N bits has a variance of up to 1/N, so its correlation with a cell, whose measurements have squares of about
 * 8/π² each, strays by sqrt(M·8/π²/N). What correlates by less than twice that is not told from chance, and gets nothing.
 */
function weigh(values, rows, cells) {
  const M = values.length;
  const chance = 2 * Math.sqrt((M * 8) / Math.PI ** 2 / rows);
  const count = cells.length / M;
  const predict = (weights) => {
    const out = new Float64Array(M);
    for (let cell = 0; cell < count; cell++) {
      if (weights[cell] === 0) continue;
      for (let j = 0, at = cell * M; j < M; j++, at++) out[j] += weights[cell] * cells[at];
    }
    return out;
  };
  const correlate = (residual) => {
    const out = new Float64Array(count);
    for (let cell = 0; cell < count; cell++) {
      let sum = 0;
      for (let j = 0, at = cell * M; j < M; j++, at++) sum += residual[j] * cells[at];
      out[cell] = sum;
    }
    return out;
  };
  // The largest eigenvalue, by the power method from positive weights; 5 % on top, as it comes from below.
  let vector = new Float64Array(count).fill(1 / Math.sqrt(count));
  let eigenvalue = 1;
  for (let i = 0; i < 20; i++) {
    const next = correlate(predict(vector));
    eigenvalue = Math.hypot(...next);
    vector = next.map((value) => value / eigenvalue);
  }
  const step = 1 / (1.05 * eigenvalue);
  let weights = new Float64Array(count).fill(1 / count);
  let ahead = weights;
  let momentum = 1;
  for (let i = 0; i < ITERATIONS; i++) {
    const predicted = predict(ahead);
    const gradient = correlate(predicted.map((value, j) => value - values[j]));
    const next = ahead.map((value, cell) => Math.max(0, value - step * (gradient[cell] + chance)));
    const later = (1 + Math.sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = next.map((value, cell) => value + ((momentum - 1) / later) * (value - weights[cell]));
    [weights, momentum] = [next, later];
  }
  return weights;
}

/** Return the best of some runs of k-means on weighted places: [{x, y, weight}], the heaviest first. */
function cluster(places, K) {
  let seed = 1; // the same centroids for the same sketch
  const random = () => (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) / 2 ** 32;
  const distance = (a, b) => (a.x - b.x) ** 2 + (a.y - b.y) ** 2;
  let best = { error: Infinity, centers: [] };
  for (let run = 0; run < RESTARTS; run++) {
    let centers = [];
    while (centers.length < K) {
      const far = places.map((p) => p.weight * Math.min(1e9, ...centers.map((c) => distance(p, c))));
      let rest = random() * far.reduce((a, b) => a + b, 0);
      centers.push(places[Math.max(0, far.findIndex((value) => (rest -= value) <= 0))]);
    }
    let error = Infinity;
    for (let i = 0; i < 100; i++) {
      const sums = centers.map(() => ({ x: 0, y: 0, weight: 0 }));
      let now = 0;
      for (const p of places) {
        let nearest = 0;
        for (let k = 1; k < K; k++) if (distance(p, centers[k]) < distance(p, centers[nearest])) nearest = k;
        now += p.weight * distance(p, centers[nearest]);
        sums[nearest].x += p.weight * p.x;
        sums[nearest].y += p.weight * p.y;
        sums[nearest].weight += p.weight;
      }
      centers = sums.map((s, k) => (s.weight ? { x: s.x / s.weight, y: s.y / s.weight, weight: s.weight } : { ...centers[k], weight: 0 }));
      if (now >= error * (1 - 1e-9)) break;
      error = now;
    }
    if (error < best.error) best = { error, centers };
  }
  const total = best.centers.reduce((sum, c) => sum + c.weight, 0);
  return best.centers.map((c) => ({ ...c, weight: c.weight / total })).sort((a, b) => b.weight - a.weight);
}

let cellsOnce = null;

/** Return K centroids of a sketch of some rows, of its values: [{x, y, weight}], fewer when so few cells have rows. */
function decode(values, rows, K) {
  cellsOnce ??= makeCells();
  const weights = weigh(values, rows, cellsOnce);
  const places = [];
  weights.forEach((weight, cell) => {
    const at = { x: middle(cell % COARSE, COARSE), y: middle(Math.floor(cell / COARSE), COARSE) };
    if (weight > 0) places.push({ ...at, weight });
  });
  return places.length ? cluster(places, Math.min(K, places.length)) : [];
}
