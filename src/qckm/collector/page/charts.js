// Charts as SVG, drawn anew when numbers change. Every text goes in as text: names of senders are not ours.
"use strict";

// Each stands out, three to one or more, from the cards of the light page and of the dark one.
const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8a6d00", "#3d96cf", "#9153b8", "#a6761d", "#7f8c9a", "#e41a5b"];
const SVG = "http://www.w3.org/2000/svg";

/** Make an element: attributes, then children, which are elements or texts. */
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "g", "rect", "line", "text", "path", "title", "circle"].includes(tag);
  const element = svg ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined && value !== null) element.setAttribute(name, value);
  element.append(...children.flat().filter((child) => child !== null && child !== undefined).map((child) => (child instanceof Node ? child : String(child))));
  return element;
}

const count = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const percent = (share) => (share > 0 && share < 0.001 ? "less than 0.1 %" : `${(100 * share).toFixed(1)} %`);

/** How sure a drift is, and, where that is known, how large. */
const verdict = ({ pvalue, effect }) => (pvalue < 1e-300 ? "p < 1e-300" : `p = ${pvalue.toPrecision(2)}`) + (effect === undefined || effect === null ? "" : `, effect ${effect.toPrecision(2)}`);

/** A window's time, in UTC, as windows are. */
function when(start, span) {
  const text = new Date(start * 1000).toISOString();
  return span < 86400 ? `${text.slice(5, 10)} ${text.slice(11, 16)}` : text.slice(0, 10);
}

/** How long ago something was. */
function ago(time, now) {
  if (!time) return "never";
  const seconds = Math.max(0, now - time);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86400)} days ago`;
}

/** A round number that is not below. */
function ceiling(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10].map((step) => step * power).find((step) => step >= value);
}

/** The names in some windows, the largest first; "… others" come last. */
function palette(windows) {
  const sums = {};
  for (const { rows } of windows) for (const [name, value] of Object.entries(rows)) sums[name] = (sums[name] || 0) + value;
  const rank = (name) => (name.endsWith(" others") ? -1 : sums[name]);
  return Object.keys(sums).sort((a, b) => rank(b) - rank(a));
}

/** A label under a chart: the day, and under its first hour the date. */
function tick(start, span) {
  const text = new Date(start * 1000).toISOString();
  return span < 86400 ? (text.slice(11, 13) === "00" ? text.slice(5, 10) : `${text.slice(11, 13)}h`) : text.slice(5, 10);
}

/**
 * Stacked bars over windows: a list of {start, rows: {name: value}}, each `span` seconds; windows that are missing are
 * shown empty. The last one goes on, and is lighter.
 */
function bars(windows, span, slots, now, width, label) {
  const height = innerWidth < 1600 ? 220 : 400, left = 44, bottom = 22, form = (value) => short.format(value);
  const last = now - (now % span), first = last - (slots - 1) * span;
  const names = palette(windows);
  const known = new Map(windows.map((window) => [window.start, window.rows]));
  const totals = [...known.values()].map((rows) => Object.values(rows).reduce((a, b) => a + b, 0));
  const top = ceiling(Math.max(...totals, 0));
  const step = (width - left) / slots, y = (value) => height - bottom - (value / top) * (height - bottom - 8);
  const parts = [];
  for (const share of [0, 0.5, 1]) {
    const at = y(share * top);
    parts.push(make("line", { x1: left, x2: width, y1: at, y2: at, class: "axis" }));
    parts.push(make("text", { x: left - 6, y: at + 4, "text-anchor": "end" }, form(share * top)));
  }
  for (let slot = 0; slot < slots; slot++) {
    const start = first + slot * span, rows = known.get(start) || {};
    const x = left + slot * step;
    const group = make("g", { class: "mark", "data-key": start, tabindex: known.has(start) ? 0 : undefined, opacity: start === last ? 0.6 : undefined });
    let sum = 0;
    const words = [];
    names.forEach((name, number) => {
      const value = rows[name] || 0;
      if (!value) return;
      const high = y(sum + value), low = y(sum);
      group.append(make("rect", { x: x + step * 0.12, y: high, width: step * 0.76, height: Math.max(0.5, low - high), fill: COLORS[number % COLORS.length] }));
      words.push(`${name}: ${count.format(value)}`);
      sum += value;
    });
    group.append(make("title", {}, `${when(start, span)}${start === last ? ", so far" : ""}: ${count.format(sum)} rows\n${words.join("\n")}`));
    parts.push(group);
    const every = (span < 86400 ? 6 : 5) * (width < 600 ? 2 : 1);
    if ((start / span) % every === 0 && x < width - 30 && x > left + 10) parts.push(make("text", { x: x + step / 2, y: height - 6, "text-anchor": "middle" }, tick(start, span)));
  }
  const svg = make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, parts);
  return [svg, legend(names)];
}

/** What the colours stand for. */
function legend(names) {
  return make("ul", { class: "legend" }, names.map((name, number) => {
    const swatch = make("i");
    swatch.style.background = COLORS[number % COLORS.length];
    return make("li", {}, swatch, name);
  }));
}

/** One cell a window and group: whether it has drifted. */
function driftStrip(drifts, span, slots, now) {
  const last = now - (now % span) - span, first = Math.max(last - (slots - 1) * span, Math.min(...drifts.map((drift) => drift.start)));
  slots = (last - first) / span + 1;
  const groups = [...new Set(drifts.map((drift) => drift.group))];
  // Those with drift first, the latest first; all together on top.
  const latest = (group) => Math.max(0, ...drifts.filter((drift) => drift.group === group && drift.drifted).map((drift) => drift.start));
  groups.sort((a, b) => (a === "" ? -1 : b === "" ? 1 : latest(b) - latest(a) || a.localeCompare(b)));
  const rows = groups.flatMap((group) => {
    const cells = drifts.filter((drift) => drift.group === group).map((drift) => {
      const slot = (drift.start - first) / span;
      const compared = drift.pvalue !== null;
      const words = `${group || "all"}, ${when(drift.start, span)}: ${!compared ? "not compared" : drift.drifted ? "drift" : "no drift"}${compared ? `, ${verdict(drift)}` : ""}`;
      const kind = !compared ? "none" : drift.drifted ? "drifted" : "alike";
      // Not only by colour: drift is tall.
      return make("rect", { class: `mark ${kind}`, x: slot * 20 + 1, y: drift.drifted ? 0 : 4, width: 17, height: drift.drifted ? 14 : 6, rx: 2, "data-key": `${group} ${drift.start}`, tabindex: drift.drifted ? 0 : undefined }, make("title", {}, words));
    });
    return [make("span", { title: group || "all" }, group || "all"), make("svg", { viewBox: `0 0 ${slots * 20} 14`, preserveAspectRatio: "none", height: 14, role: "img", "aria-label": `Drift of ${group || "all"}` }, cells)];
  });
  const ends = make("span", { class: "ends soft" }, make("span", {}, tick(first, span)), make("span", {}, slots > 1 ? tick(last, span) : ""));
  return make("div", { class: "strip", "data-key": "strip", tabindex: 0, role: "group", "aria-label": "Drift by group and window" }, make("span"), ends, rows);
}
