// The page: a token from the address or a form, events from the collector, and each part drawn when it has changed.
"use strict";

const $ = (id) => document.getElementById(id);
const drawn = new Map();
let token = sessionStorage.getItem("token");
let series = "hours";
let order = { column: "last_seen", down: true };
let latest = null;
let before = null; // an earlier overview, for rates
let patience = 15000; // milliseconds without an event: a computer that has slept does not notice that the line is dead

/** Draw a part of the page, if what it shows is not what it showed. */
function draw(id, shown, content) {
  const key = JSON.stringify(shown);
  if (drawn.get(id) === key) return;
  drawn.set(id, key);
  const focused = document.activeElement && $(id).contains(document.activeElement) ? document.activeElement.dataset.key : null;
  const scroll = $(id).scrollTop;
  $(id).replaceChildren(...[content()].flat());
  $(id).scrollTop = scroll;
  if (focused) $(id).querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus();
}

function table(columns, rows) {
  const kinds = ({ number, kind, narrow }, row) => [number ? "number" : "", narrow === false ? "wide-only" : "", row && kind ? kind(row) : ""].join(" ").trim() || null;
  const head = columns.map((column) => {
    const { name, sort } = column;
    const cell = make("th", { scope: "col", class: kinds(column), "aria-sort": sort && order.column === sort ? (order.down ? "descending" : "ascending") : null });
    if (!sort) return cell.append(name), cell;
    const button = make("button", { type: "button", "data-key": `sort-${sort}` }, name, order.column === sort ? (order.down ? " ↓" : " ↑") : "");
    button.addEventListener("click", () => {
      order = { column: sort, down: order.column === sort ? !order.down : true };
      showSenders(latest);
    });
    return cell.append(button), cell;
  });
  const body = rows.map((row) => make("tr", {}, columns.map((column) => make("td", { class: kinds(column, row) }, column.value(row)))));
  return make("table", {}, make("thead", {}, make("tr", {}, head)), make("tbody", {}, body));
}

function showNumbers(found) {
  const { rows, drifts, refused } = found, { groups, devices, active, missing } = found.totals;
  const lastDrift = drifts.filter((drift) => drift.drifted).at(-1);
  const rate = before && found.now > before.now ? Math.max(0, (rows - before.rows) / (found.now - before.now)) : null;
  const numbers = [
    ["rows", count.format(rows), rate === null ? "" : ` ${short.format(rate)}/s`],
    ["groups", count.format(groups), ""],
    ["devices active", count.format(active), ` of ${count.format(devices)}`],
    ["messages missing", count.format(missing), ""],
    ["refused", count.format(refused), ""],
    ["last drift", lastDrift ? when(lastDrift.start, lastDrift.span).slice(lastDrift.span < 86400 ? 0 : 5) : "none", lastDrift ? ` ${lastDrift.group || "all"}` : ""],
  ];
  draw("numbers", numbers, () => numbers.map(([name, value, note]) => make("div", {}, make("dt", {}, name), make("dd", {}, value, make("small", {}, note)))));
}

function showRows(found) {
  const [span, slots] = series === "hours" ? [3600, 48] : [86400, 30];
  const shown = [series, found[series], found.now - (found.now % span), $("rows").clientWidth];
  const empty = make("p", { class: "soft" }, "No rows in this time. Rows of a day that were sent as one are among the days.");
  draw("rows", shown, () => (found[series].length ? bars(found[series], span, slots, found.now, Math.max(300, $("rows").clientWidth), "Rows over time") : empty));
}

function showDrift(found) {
  const span = found.drifts.at(-1)?.span || 86400, slots = span === 3600 ? 30 : 14;
  const shown = found.drifts.filter((drift) => drift.span === span && drift.start >= found.now - (found.now % span) - slots * span);
  draw("drift", shown, () => {
    if (!shown.length) return make("p", { class: "soft" }, "No window has been compared yet: the first comparison needs two that have ended.");
    const news = shown.filter((drift) => drift.drifted).reverse().slice(0, 12);
    const items = news.map((drift) => make("li", {}, make("b", { class: "bad" }, drift.group || "all"), ` ${when(drift.start, drift.span)}: `, [verdict(drift), ...drift.words.slice(0, 3)].join("; ")));
    return [driftStrip(shown, span, slots, found.now), news.length ? make("ul", { class: "news", "data-key": "news", tabindex: 0 }, items) : make("p", { class: "soft" }, "No drift in these windows.")];
  });
}

function showClusters(found) {
  const { clusters, operator } = found;
  draw("clusters", [clusters, $("clusters").clientWidth], () => {
    if (!clusters) return make("p", { class: "soft" }, "Clusters are found when the first windows have been compared.");
    const names = clusters.weights.map((_, number) => `cluster ${number}`);
    const windows = clusters.over_time.map(({ start, span, weights }) => ({ start, span, rows: Object.fromEntries(weights.map((weight, number) => [names[number], weight || 0])) }));
    const shares = clusters.over_time.at(-1)?.weights || clusters.weights;
    const quality = clusters.excess !== null && clusters.excess !== undefined
      ? `Expected to be ${percent(clusters.excess)} above the best centroids${clusters.excess_high ? `, in nine of ten cases at most ${percent(clusters.excess_high)}` : ""}.`
      : clusters.converged === false ? "These centroids may be wrong: decode with more clusters or frequencies." : "";
    const columns = [
      { name: "cluster", value: (row) => { const i = make("i"); i.style.background = COLORS[row.number % COLORS.length]; return make("span", { class: "legend" }, make("span", {}, i, row.number)); } },
      { name: "share", number: true, value: (row) => (shares[row.number] === null ? "" : percent(shares[row.number])) },
      ...operator.columns.slice(0, 12).map((name, k) => ({ name, number: true, value: (row) => Number(row.center[k].toPrecision(3)).toString() })),
    ];
    const rows = clusters.centers.map((center, number) => ({ center, number }));
    const parts = [make("div", { class: "scroll", "data-key": "centroids", tabindex: 0, role: "group", "aria-label": "Centroids" }, table(columns, rows))];
    if (windows.length > 1) parts.push(shareChart(windows, names, Math.max(300, $("clusters").clientWidth)));
    if (quality) parts.push(make("p", { class: "soft" }, quality));
    return parts;
  });
}

/** Shares over windows, as bands; there is one for each cluster, in the order of the table. */
function shareChart(windows, names, width) {
  const height = 150, step = width / windows.length;
  const parts = windows.flatMap(({ start, span, rows }, at) => {
    let sum = 0;
    const total = Object.values(rows).reduce((a, b) => a + b, 0) || 1;
    return names.map((name, number) => {
      const share = rows[name] / total, y = sum * (height - 18);
      sum += share;
      return make("rect", { class: "mark", x: at * step + 1, y, width: step - 2, height: Math.max(0, share * (height - 18) - 0.5), fill: COLORS[number % COLORS.length] }, make("title", {}, `${when(start, span)}, ${name}: ${percent(share)}`));
    });
  });
  const labels = windows.map(({ start, span }, at) => (step > 60 || at % Math.ceil(60 / step) === 0 ? make("text", { x: (at + 0.5) * step, y: height - 3, "text-anchor": "middle" }, tick(start, span)) : null));
  return make("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": "Shares of the clusters over windows" }, parts, labels);
}

function showSenders(found) {
  const wanted = $("filter").value.toLowerCase();
  const rows = found.groups.filter((group) => group.name.toLowerCase().includes(wanted)).map((group) => ({ ...group, lag: ago(group.last_seen, found.now) }));
  // By minutes, not seconds: lines that change places all the time cannot be read.
  const value = (row) => Math.floor((row[order.column] || 0) / (order.column === "last_seen" ? 60 : 1));
  rows.sort((a, b) => (order.down ? -1 : 1) * (order.column === "name" ? a.name.localeCompare(b.name) : value(a) - value(b)) || a.name.localeCompare(b.name));
  const number = (name) => ({ number: true, sort: name, value: (row) => (row[name] ? count.format(row[name]) : make("span", { class: "soft" }, "–")) });
  const columns = [
    { name: "group", sort: "name", value: (row) => row.name, kind: () => "nowrap" },
    { name: "last seen", sort: "last_seen", value: (row) => row.lag, kind: (row) => (found.now - (row.last_seen || 0) > 129600 ? "nowrap bad" : "nowrap") },
    { name: "rows", ...number("rows") },
    { name: "parts", ...number("parts"), narrow: false },
    { name: "devices", number: true, sort: "devices", value: (row) => (row.devices ? `${row.active} of ${row.devices}` : "") },
    { name: "missing", ...number("missing"), kind: (row) => (row.missing ? "bad" : "") },
    { name: "repeated", ...number("repeated"), narrow: false },
    { name: "refused", ...number("refused"), kind: (row) => (row.refused ? "bad" : "") },
  ];
  draw("senders", [rows, order, found.quiet, found.totals.groups, wanted], () => {
    const quiet = found.quiet.filter((device) => device.name.toLowerCase().includes(wanted));
    const more = quiet.length ? make("p", { class: "soft" }, `Devices not heard of for more than an hour: ${quiet.slice(0, 10).map((device) => `${device.name} (${ago(device.last_seen, found.now)})`).join(", ")}${quiet.length > 10 ? ", …" : ""}`) : null;
    const nobody = found.groups.length ? "No sender has this in its name." : "Nobody has sent anything yet.";
    const left = found.totals.groups - found.groups.length;
    const others = left ? make("p", { class: "soft" }, `${count.format(left)} more groups are not shown: those with the least trouble, and heard of last.`) : null;
    return [rows.length ? table(columns, rows) : make("p", { class: "soft" }, nobody), more, others].filter(Boolean);
  });
}

function showLists(found) {
  const parts = found.parts.map((part) => ({ ...part, ago: part.state === "withdrawn" ? "withdrawn" : ago(part.received, found.now) }));
  const columns = [
    { name: "part", value: (row) => row.name, kind: () => "nowrap" },
    { name: "rows", number: true, value: (row) => count.format(row.rows) },
    { name: "from", value: (row) => row.sender, kind: () => "nowrap", narrow: false },
    { name: "received", value: (row) => row.ago, kind: (row) => (row.state === "withdrawn" ? "nowrap soft" : "nowrap") },
  ];
  draw("parts", parts, () => (parts.length ? table(columns, parts) : make("p", { class: "soft" }, "No part yet.")));
  const refusals = found.refusals.map((refusal) => ({ ...refusal, ago: ago(refusal.last, found.now) }));
  const item = ({ sender, reason, times, ago, words }) => make("li", {}, make("b", { class: "bad" }, reason), ` ${count.format(times)} × from ${sender}, the last ${ago}`, make("div", { class: "soft" }, words));
  draw("refusals", refusals, () => (refusals.length ? make("ul", { class: "news" }, refusals.map(item)) : make("p", { class: "soft" }, "Nothing was refused.")));
}

function show(found) {
  latest = found;
  $("main").hidden = false;
  showNumbers(found);
  showRows(found);
  showDrift(found);
  showClusters(found);
  showSenders(found);
  showLists(found);
  if (!before || found.now - before.now > 20) before = found;
  $("footer").textContent = `qckm ${found.version}; ${found.operator.columns.length} columns, ${found.operator.measurements} measurements; operator ${found.operator.fingerprint.slice(0, 16)}`;
}

function state(kind, words) {
  document.body.className = kind;
  $("state-words").textContent = words;
}

function askForToken(words) {
  $("login").hidden = false;
  $("main").hidden = true;
  state("lost", words);
  $("token").focus();
}

/** Read events until the connection ends, or nothing comes any more; EventSource cannot show a token. */
async function listen() {
  const stop = new AbortController();
  let timer;
  const heard = () => {
    clearTimeout(timer);
    timer = setTimeout(() => stop.abort(), patience);
  };
  heard();
  try {
    return await follow(stop.signal, heard);
  } finally {
    clearTimeout(timer);
  }
}

async function follow(signal, heard) {
  const answer = await fetch("v1/events", { headers: { Authorization: `Bearer ${token}` }, signal });
  if (answer.status === 401 || answer.status === 403) return askForToken((await answer.json()).error), false;
  if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
  sessionStorage.setItem("token", token);
  $("login").hidden = true;
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return true;
    heard();
    text += value;
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
      const line = text.slice(0, end);
      if (line.startsWith("data: ")) state("live", "live"), show(JSON.parse(line.slice(6)));
      else state("lost", "the collector cannot read its store");
    }
  }
}

async function run() {
  for (let wait = 1; ; wait = Math.min(30, 2 * wait)) {
    try {
      if (!(await listen())) return;
      wait = 1;
    } catch (error) {
      console.warn(error);
    }
    state("lost", "connection lost, trying again");
    await new Promise((resolve) => setTimeout(resolve, 1000 * wait));
  }
}

if (location.hash.startsWith("#qckm_")) {
  token = location.hash.slice(1);
  history.replaceState(null, "", location.pathname); // it stays out of the history and of screenshots
}
$("login").addEventListener("submit", (event) => {
  event.preventDefault();
  token = $("token").value.trim();
  $("token").value = "";
  if (token) run();
});
for (const button of document.querySelectorAll("[data-series]")) {
  button.addEventListener("click", () => {
    series = button.dataset.series;
    for (const each of document.querySelectorAll("[data-series]")) each.setAttribute("aria-pressed", each === button);
    if (latest) showRows(latest);
  });
}
addEventListener("resize", () => latest && show(latest));
$("filter").addEventListener("input", () => latest && showSenders(latest));
if (token) run();
else askForToken("not connected");
