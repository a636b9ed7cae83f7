"use strict";
(() => {
// Everything that is shown follows from the knots of the path: between two of them alpha is linear in epsilon.
const KINDS = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array };
const FIRST = 20, SHOWN = 15, COLOURED = 6, STEPS = 1000, LEVELS = 65535, RIGHT = 14, TOP = 10, LEFT = 56, BOTTOM = 38;
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);

function numbers(coded) {
  const bytes = Uint8Array.from(atob(coded.data), (c) => c.charCodeAt(0));
  return new KINDS[coded.kind](bytes.buffer);
}
function coarse(coded, width) {
  const levels = numbers(coded.levels);
  return coded.low.map((low, i) => ({ low, step: (coded.high[i] - low) / LEVELS, levels: levels.subarray(i * width, (i + 1) * width) }));
}
const value = (row, i) => row.low + row.step * row.levels[i];

const nRows = data.rows.length, nColumns = data.names.length;
const K = numbers(data.K), means = numbers(data.means), norms = numbers(data.norms);
const column = (j) => K.subarray(j * nRows, (j + 1) * nRows);
const extra = coarse(data.columns, nRows);
const machines = data.machines.map((m) => ({
  ...m, y: numbers(m.y), knots: numbers(m.knots), starts: numbers(m.starts), index: numbers(m.index), alpha: numbers(m.alpha),
  epsilons: numbers(m.epsilons), errors: numbers(m.errors), spread: numbers(m.standard_errors), held: coarse(m.held_out, nRows),
}));
const many = data.what === "feature" ? "features" : "support objects";
const state = { machine: machines[0], epsilon: machines[0].chosen, picked: null, row: 0, all: false, by: "held" };
let now = null;

// ---- the solution at an epsilon ----
function place(decreasing, epsilon) {
  let low = 0, high = decreasing.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (decreasing[middle] >= epsilon) low = middle; else high = middle - 1;
  }
  return low;
}
function alphaAt(m, epsilon) {
  const alpha = new Float64Array(nColumns), next = new Float64Array(nColumns), knots = m.knots;
  if (epsilon >= knots[0]) return alpha;
  const i = place(knots, epsilon);
  for (let k = m.starts[i]; k < m.starts[i + 1]; k++) alpha[m.index[k]] = m.alpha[k];
  if (knots[i] === epsilon || i + 1 === knots.length) return alpha;
  for (let k = m.starts[i + 1]; k < m.starts[i + 2]; k++) next[m.index[k]] = m.alpha[k];
  const share = (knots[i] - epsilon) / (knots[i] - knots[i + 1]);
  for (let j = 0; j < nColumns; j++) alpha[j] += share * (next[j] - alpha[j]);
  return alpha;
}
function decisions(m, alpha) {
  const f = new Float64Array(nRows).fill(m.b);
  for (let j = 0; j < nColumns; j++) {
    if (alpha[j] === 0) continue;
    const k = column(j), a = alpha[j];
    for (let i = 0; i < nRows; i++) f[i] += a * k[i];
  }
  return f;
}
function between(m, epsilon) {
  const i = place(m.epsilons, epsilon), j = Math.min(i + 1, m.epsilons.length - 1);
  const share = i === j || epsilon >= m.epsilons[0] ? 0 : (m.epsilons[i] - epsilon) / (m.epsilons[i] - m.epsilons[j]);
  return { i, j, share };
}
function heldOut(m, epsilon) {
  const { i, j, share } = between(m, epsilon);
  return Float64Array.from({ length: nRows }, (_, r) => {
    const first = value(m.held[i], r);
    return first + share * (value(m.held[j], r) - first);
  });
}
function errorAt(m, epsilon) {
  const { i, j, share } = between(m, epsilon);
  return { error: m.errors[i] + share * (m.errors[j] - m.errors[i]), spread: m.spread[i] + share * (m.spread[j] - m.spread[i]) };
}
function solve() {
  const m = state.machine, alpha = alphaAt(m, state.epsilon);
  const used = [];
  for (let j = 0; j < nColumns; j++) if (alpha[j] !== 0) used.push(j);
  used.sort((a, b) => Math.abs(alpha[b]) - Math.abs(alpha[a]));
  now = { alpha, used, f: decisions(m, alpha), held: heldOut(m, state.epsilon), ...errorAt(m, state.epsilon) };
}

// ---- text and numbers ----
const short = (v) => (v === 0 ? "0" : String(Number(v.toPrecision(4))));
const percent = (v) => `${(100 * v).toFixed(1)}\u00a0%`;
const shownError = (v) => (data.classifier ? percent(v) : short(v));
const plural = (n, one) => `${n} ${one}${n === 1 ? "" : "s"}`;
function clip(text, most) { return text.length > most ? `${text.slice(0, most - 1)}…` : text; }
function make(tag, attributes = {}, text = null) {
  const node = document.createElement(tag);
  for (const [name, v] of Object.entries(attributes)) node.setAttribute(name, v);
  if (text !== null) node.textContent = text;
  return node;
}
function draw(tag, attributes, parent, text = null) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, v] of Object.entries(attributes)) node.setAttribute(name, v);
  if (text !== null) node.textContent = text;
  parent.append(node);
  return node;
}

// ---- moving epsilon ----
const ends = () => { const k = state.machine.knots; return [k[0], k[k.length - 1]]; };
const position = (epsilon) => { const [a, b] = ends(); return STEPS * Math.log(epsilon / a) / Math.log(b / a); };
function epsilonOf(t) {
  const [a, b] = ends();
  return t <= 0 ? a : t >= STEPS ? b : a * (b / a) ** (t / STEPS);
}
function move(epsilon, from = null) {
  const [a, b] = ends();
  state.epsilon = Math.min(Math.max(epsilon, b), a);
  solve();
  if (from !== "slider") $("slider").value = Math.round(position(state.epsilon));
  show();
}
function knot(step) {
  const knots = state.machine.knots;
  let i = place(knots, state.epsilon);
  if (step > 0) i += 1; else if (knots[i] === state.epsilon) i -= 1;
  move(knots[Math.min(Math.max(i, 0), knots.length - 1)]);
}

// ---- what is shown at once ----
function show() {
  const m = state.machine, n = now.used.length;
  const what = data.what === "feature" ? plural(n, "feature") : plural(n, "support object");
  const status = `${what} · cross-validated ${data.classifier ? "error" : "RMSE"} ${shownError(now.error)} ± ${shownError(now.spread)}`;
  $("status").textContent = `epsilon ${short(state.epsilon)} · ${status}`;
  $("slider").setAttribute("aria-valuetext", `epsilon ${short(state.epsilon)}, ${what}`);
  $("epsilon").value = String(Number(state.epsilon.toPrecision(7)));
  $("epsilon").dataset.value = state.epsilon;
  $("python").textContent = m.python.replace("{epsilon}", state.epsilon);
  showBars();
  moveCursors();
  showPredictions();
  showRow();
}
function bar(v, largest) {
  const cell = make("td", { class: "bar-cell" }), track = make("div", { class: "track" });
  const piece = make("span", { class: v < 0 ? "minus" : "plus" });
  const width = largest > 0 ? 50 * Math.abs(v) / largest : 0;
  piece.style.left = `${v < 0 ? 50 - width : 50}%`;
  piece.style.width = `${width}%`;
  track.append(piece);
  cell.append(track);
  return cell;
}
function number(v) { return make("td", { class: "number", "data-value": v }, short(v)); }
function showBars() {
  const wanted = $("find").value.trim().toLowerCase();
  const fits = (name) => name.toLowerCase().includes(wanted);
  const found = wanted ? now.used.filter((j) => fits(data.names[j])) : now.used;
  const largest = now.used.length ? Math.abs(now.alpha[now.used[0]]) : 0;
  const few = state.all ? found : found.slice(0, FIRST);
  $("bars").tBodies[0].replaceChildren(...few.map((j) => {
    const row = make("tr"), cell = make("td", { class: "name" });
    const button = make("button", { type: "button", class: "link", "data-column": j, "aria-pressed": state.picked === j }, data.names[j]);
    cell.append(button);
    row.append(cell, number(now.alpha[j]), bar(now.alpha[j], largest));
    return row;
  }));
  $("bars").caption.textContent = wanted ? `${found.length} of the ${now.used.length} selected have “${wanted}” in their name`
    : `${now.used.length} of ${data.n_columns} ${many.replace("support ", "")}${towards()}`;
  $("all").hidden = found.length <= FIRST;
  $("all").textContent = state.all ? `Show the largest ${FIRST}` : `Show all ${found.length}`;
  $("not-found").textContent = wanted ? elsewhere(fits) : "";
}
const positive = () => (data.classes.length > 2 ? state.machine.name.replace(/ against the rest$/, "") : data.classes[1]);
const towards = () => (data.classifier ? `; positive alpha speaks for ${clip(positive(), 30)}` : "");
// Names that are not selected here: they enter later, or never.
function elsewhere(fits) {
  const later = state.machine.order.filter((j) => now.alpha[j] === 0 && fits(data.names[j]));
  const never = (data.others || []).filter(fits);
  const list = (names) => names.slice(0, 5).join(", ") + (names.length > 5 ? ` and ${names.length - 5} more` : "");
  const parts = [];
  if (later.length) parts.push(`Elsewhere on the path: ${list(later.map((j) => data.names[j]))}.`);
  if (never.length) parts.push(`Never on the path: ${list(never)}.`);
  if (data.others === null) parts.push("Names of columns that never enter are not kept.");
  return parts.join(" ");
}

// ---- figures ----
// Asking for a width makes the browser lay out the page, so it is asked for once.
const widths = new Map();
function figure(id, height, label) {
  const holder = $(id);
  if (!widths.has(id)) widths.set(id, Math.max(holder.clientWidth, 220));
  const width = widths.get(id);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("height", height);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", label);
  holder.replaceChildren(svg);
  return { svg, width, height };
}
function ticks(low, high, n = 5) {
  const raw = (high - low) / n, power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((s) => s * power).find((s) => s >= raw);
  const found = [];
  for (let k = Math.ceil(low / step); k * step <= high * (1 + 1e-12) + 1e-300; k++) found.push(k * step);
  return found;
}
function logTicks(low, high) {
  const found = [];
  for (let e = Math.floor(Math.log10(low)); e <= Math.ceil(Math.log10(high)); e++) {
    for (const s of high / low > 300 ? [1] : [1, 2, 5]) {
      const v = s * 10 ** e;
      if (v >= low && v <= high) found.push(v);
    }
  }
  return found;
}
function scale(low, high, from, to) {
  const wide = high > low ? high - low : 1;
  return (v) => from + (to - from) * (v - low) / wide;
}
function frame(f, x, y, xs, ys, names) {
  for (const v of ys) {
    draw("path", { class: "grid", d: `M${LEFT} ${y(v)}H${f.width - RIGHT}` }, f.svg);
    draw("text", { x: LEFT - 6, y: y(v) + 4, "text-anchor": "end" }, f.svg, short(v));
  }
  for (const v of xs) {
    draw("path", { class: "axis", d: `M${x(v)} ${f.height - BOTTOM}v4` }, f.svg);
    draw("text", { x: x(v), y: f.height - BOTTOM + 16, "text-anchor": "middle" }, f.svg, short(v));
  }
  draw("path", { class: "axis", d: `M${LEFT} ${TOP}V${f.height - BOTTOM}H${f.width - RIGHT}` }, f.svg);
  draw("text", { x: (LEFT + f.width - RIGHT) / 2, y: f.height - 5, "text-anchor": "middle" }, f.svg, names[0]);
  draw("text", { x: 12, y: (TOP + f.height - BOTTOM) / 2, "text-anchor": "middle",
    transform: `rotate(-90 12 ${(TOP + f.height - BOTTOM) / 2})` }, f.svg, names[1]);
}
function alongEpsilon(width) {
  const [a, b] = ends();
  return (e) => LEFT + (width - RIGHT - LEFT) * Math.log(e / a) / Math.log(b / a);
}
const cursors = [];
function pathFigure() {
  const m = state.machine, [a, b] = ends(), f = figure("path-figure", 280, "Path of the variables along epsilon");
  let low = 0, high = 0;
  for (const v of m.alpha) { if (v < low) low = v; if (v > high) high = v; }
  const x = alongEpsilon(f.width), y = scale(low, high, f.height - BOTTOM, TOP);
  frame(f, x, y, logTicks(b, a), ticks(low, high), ["epsilon (log)", "alpha"]);
  const points = new Map(m.order.map((j) => [j, []]));
  for (let i = 0; i < m.knots.length; i++) {
    const at = new Map();
    for (let k = m.starts[i]; k < m.starts[i + 1]; k++) at.set(m.index[k], m.alpha[k]);
    for (const [j, line] of points) line.push([m.knots[i], at.get(j) || 0]);
  }
  const d = (j) => "M" + steps(points.get(j), a, b).map(([e, v]) => `${x(e).toFixed(1)} ${y(v).toFixed(1)}`).join("L");
  m.order.slice().reverse().forEach((j) => {
    const rank = m.order.indexOf(j);
    const line = draw("path", { class: rank < COLOURED ? "line" : "other", d: d(j) }, f.svg);
    if (rank < COLOURED) line.style.stroke = `var(--c${rank})`;
    draw("title", {}, line, data.names[j]);
  });
  if (state.picked !== null && points.has(state.picked)) draw("path", { class: "picked", d: d(state.picked) }, f.svg);
  marks(f, x);
}
// On a logarithmic axis a line between two knots is bent.
function steps(points, a, b) {
  const found = [points[0]];
  for (let i = 1; i < points.length; i++) {
    const [e0, v0] = points[i - 1], [e1, v1] = points[i];
    const n = v0 === v1 ? 1 : Math.ceil(40 * Math.log(e0 / e1) / Math.log(a / b));
    for (let k = 1; k <= n; k++) {
      const e = k === n ? e1 : e0 * (e1 / e0) ** (k / n);
      found.push([e, e0 === e1 ? v1 : v0 + (v1 - v0) * (e0 - e) / (e0 - e1)]);
    }
  }
  return found;
}
function marks(f, x) {
  const m = state.machine;
  draw("path", { class: "mark", d: `M${x(m.chosen)} ${TOP}V${f.height - BOTTOM}` }, f.svg);
  cursors.push({ line: draw("path", { class: "cursor" }, f.svg), x, f });
}
function errorFigure() {
  const m = state.machine, [a, b] = ends(), f = figure("error-figure", 240, "Cross-validated error along epsilon");
  const unit = data.classifier ? 100 : 1;
  let high = m.baseline, low = m.baseline;
  for (let i = 0; i < m.errors.length; i++) {
    high = Math.max(high, m.errors[i] + m.spread[i]);
    low = Math.min(low, m.errors[i] - m.spread[i]);
  }
  high = Math.min(high, 2 * m.baseline || 1);
  low = Math.max(low, 0);
  const x = alongEpsilon(f.width), y0 = scale(low * unit, high * unit, f.height - BOTTOM, TOP), y = (v) => Math.max(y0(v * unit), TOP);
  frame(f, x, y0, logTicks(b, a), ticks(low * unit, high * unit), ["epsilon (log)", data.classifier ? "error in %" : "RMSE"]);
  const at = (i, v) => `${x(m.epsilons[i]).toFixed(1)} ${y(v).toFixed(1)}`;
  const upper = [], lower = [], middle = [];
  for (let i = 0; i < m.errors.length; i++) {
    upper.push(at(i, m.errors[i] + m.spread[i]));
    lower.unshift(at(i, Math.max(m.errors[i] - m.spread[i], low)));
    middle.push(at(i, m.errors[i]));
  }
  draw("path", { class: "band", d: `M${upper.join("L")}L${lower.join("L")}Z` }, f.svg);
  draw("path", { class: "line", d: `M${middle.join("L")}` }, f.svg);
  draw("path", { class: "base", d: `M${LEFT} ${y(m.baseline)}H${f.width - RIGHT}` }, f.svg);
  marks(f, x);
  const i = place(m.epsilons, m.chosen);
  draw("circle", { class: "mark", cx: x(m.chosen), cy: y(m.errors[i]), r: 5 }, f.svg);
  $("error-note").textContent = `Band: one standard error. Green: the largest epsilon whose error is within one standard error of the `
    + `smallest (${short(m.chosen)}). Dotted: always guessing ${data.classifier ? "the larger class" : "the mean"} (${shownError(m.baseline)}).`;
}
function moveCursors() {
  for (const { line, x, f } of cursors) line.setAttribute("d", `M${x(state.epsilon).toFixed(1)} ${TOP}V${f.height - BOTTOM}`);
}
// Classes differ by colour and by shape: dot, square, plus, cross.
const SHAPES = [["round", 6.5, "h0"], ["square", 5, "h0"], ["butt", 2, "m-4 0h8m-4 -4v8"], ["butt", 2, "m-3 -3l6 6m0 -6l-6 6"]];
function shaped(path, k) {
  const [cap, width] = SHAPES[k % 4];
  path.style.setProperty("stroke-linecap", cap);
  path.style.setProperty("stroke-width", width);
  path.style.stroke = `var(--c${k % 7})`;
}
function dots(f, groups, x, y) {
  groups.forEach((rows, k) => {
    const d = rows.map((i) => `M${x(i).toFixed(1)} ${y(i).toFixed(1)}${SHAPES[k % 4][2]}`).join("");
    shaped(draw("path", { class: "dots", d: d || "M0 0" }, f.svg), k);
  });
}
const order = (v) => Array.from({ length: v.length }, (_, i) => i).sort((a, b) => v[b] - v[a]);
function roc(y, f) {
  const ranked = order(f), points = [[0, 0]];
  let right = 0, wrong = 0, area = 0, before = [0, 0];
  ranked.forEach((i, k) => {
    if (y[i] > 0) right++; else wrong++;
    if (k + 1 < ranked.length && f[ranked[k + 1]] === f[i]) return;
    area += (wrong - before[1]) * (right + before[0]) / 2;
    before = [right, wrong];
    points.push([wrong, right]);
  });
  return { points: points.map(([w, r]) => [w / (wrong || 1), r / (right || 1)]), area: area / (right * wrong || 1) };
}
function rocFigure(values) {
  const m = state.machine, { points, area } = roc(m.y, values);
  const f = figure("prediction-figure", 250, `ROC curve with an area of ${area.toFixed(3)}`);
  const x = scale(0, 1, LEFT, f.width - RIGHT), y = scale(0, 1, f.height - BOTTOM, TOP);
  frame(f, x, y, [0, 0.5, 1], [0, 0.5, 1], ["false positive rate", "true positive rate"]);
  draw("path", { class: "base", d: `M${x(0)} ${y(0)}L${x(1)} ${y(1)}` }, f.svg);
  draw("path", { class: "line", d: "M" + points.map(([a, b]) => `${x(a).toFixed(1)} ${y(b).toFixed(1)}`).join("L") }, f.svg);
  $("prediction-note").textContent = `Area below the ROC curve: ${area.toFixed(3)}.`;
  $("prediction-note").dataset.area = area;
}
function confusion(values) {
  const m = state.machine, names = data.classes.length > 2 ? ["the rest", positive()] : data.classes;
  const counts = [[0, 0], [0, 0]];
  for (let i = 0; i < nRows; i++) counts[m.y[i] > 0 ? 1 : 0][values[i] > 0 ? 1 : 0]++;
  const table = make("table", { class: "confusion" }), head = make("tr"), body = make("tbody"), thead = make("thead");
  table.append(make("caption", {}, "true ↓ predicted →"));
  head.append(make("td"), ...names.map((n) => make("th", { scope: "col", class: "number" }, clip(n, 24))));
  thead.append(head);
  names.forEach((n, i) => {
    const row = make("tr");
    row.append(make("th", { scope: "row" }, clip(n, 24)), ...counts[i].map((c, j) => make("td", i === j ? { class: "right" } : {}, String(c))));
    body.append(row);
  });
  table.append(thead, body);
  $("confusion").replaceChildren(table);
}
function truthFigure(values) {
  const m = state.machine;
  const f = figure("prediction-figure", 280, "Predicted against true values");
  let low = Infinity, high = -Infinity;
  for (let i = 0; i < nRows; i++) { low = Math.min(low, m.y[i], values[i]); high = Math.max(high, m.y[i], values[i]); }
  const x = scale(low, high, LEFT + 5, f.width - RIGHT - 5), y = scale(low, high, f.height - BOTTOM - 5, TOP + 5);
  frame(f, x, y, ticks(low, high, 4), ticks(low, high, 4), [`true ${clip(data.target, 30)}`, "predicted"]);
  draw("path", { class: "base", d: `M${x(low)} ${y(low)}L${x(high)} ${y(high)}` }, f.svg);
  dots(f, [[...Array(nRows).keys()]], (i) => x(m.y[i]), (i) => y(values[i]));
  draw("circle", { class: "here", cx: x(m.y[state.row]), cy: y(values[state.row]), r: 7 }, f.svg);
  pressable("prediction-figure", (i) => [x(m.y[i]), y(values[i])]);
  const squares = values.reduce((sum, v, i) => sum + (v - m.y[i]) ** 2, 0);
  $("prediction-note").textContent = `RMSE of the rows shown: ${short(Math.sqrt(squares / nRows))}.`;
}
function showPredictions() {
  const values = state.by === "held" ? now.held : now.f;
  if (data.classifier) { confusion(values); rocFigure(values); } else truthFigure(values);
}

// ---- one row ----
function showRow() {
  const m = state.machine, i = state.row, total = now.f[i];
  if (document.activeElement !== $("row-name")) $("row-name").value = data.rows[i];
  const parts = now.used.map((j) => ({ name: data.names[j], c: now.alpha[j] * column(j)[i] }));
  parts.sort((a, b) => Math.abs(b.c) - Math.abs(a.c));
  const few = parts.slice(0, SHOWN), rest = parts.slice(SHOWN);
  const lines = [{ name: data.classifier ? "constant" : `constant (mean of ${clip(data.target, 30)})`, c: m.b }, ...few];
  if (rest.length) lines.push({ name: `${rest.length} others`, c: rest.reduce((s, p) => s + p.c, 0) });
  const largest = Math.max(...lines.map((p) => Math.abs(p.c)), Math.abs(total));
  const line = ({ name, c }) => {
    const row = make("tr");
    row.append(make("td", { class: "name" }, name), number(c), bar(c, largest));
    return row;
  };
  $("contributions").tBodies[0].replaceChildren(...lines.map(line));
  $("contributions").tFoot.replaceChildren(line({ name: data.classifier ? "decision value" : "predicted value", c: total }));
  $("row-text").textContent = sentence(m, i, total);
}
function sentence(m, i, total) {
  if (!data.classifier) return `${data.rows[i]}: predicted ${short(total)}, true ${short(m.y[i])}; held out ${short(now.held[i])}.`;
  const named = (v) => (v > 0 ? positive() : data.classes.length > 2 ? `not ${positive()}` : data.classes[0]);
  return `${data.rows[i]}: decision value ${short(total)}, so it is taken for ${named(total)}; it is ${data.classes[data.labels[i]]}. `
    + `Held out: ${short(now.held[i])}, ${named(now.held[i])}.`;
}
function chooseRow(i) {
  state.row = (i + nRows) % nRows;
  $("row-name").value = data.rows[state.row];
  showRow();
  if (!data.classifier) showPredictions();
  pairFigure();
}

// ---- two columns ----
const variables = [...data.names.map((name, j) => ({ name, at: (i) => means[j] + norms[j] * column(j)[i] })),
  ...data.extra.map((name, k) => ({ name, at: (i) => value(extra[k], i) }))];
function pairFigure() {
  const a = variables[$("x").value], b = variables[$("y").value];
  const f = figure("pair-figure", 300, `${a.name} against ${b.name}`);
  const xs = Float64Array.from({ length: nRows }, (_, i) => a.at(i)), ys = Float64Array.from({ length: nRows }, (_, i) => b.at(i));
  const range = (v) => v.reduce(([l, h], w) => [Math.min(l, w), Math.max(h, w)], [Infinity, -Infinity]);
  const [xl, xh] = range(xs), [yl, yh] = range(ys);
  const x = scale(xl, xh, LEFT + 8, f.width - RIGHT - 8), y = scale(yl, yh, f.height - BOTTOM - 8, TOP + 8);
  frame(f, x, y, ticks(xl, xh, 4), ticks(yl, yh, 4), [clip(a.name, 40), clip(b.name, 34)]);
  const rows = [...Array(nRows).keys()];
  const groups = data.classifier ? data.classes.map((_, k) => rows.filter((i) => data.labels[i] === k)) : thirds(rows);
  dots(f, groups, (i) => x(xs[i]), (i) => y(ys[i]));
  draw("circle", { class: "here", cx: x(xs[state.row]), cy: y(ys[state.row]), r: 7 }, f.svg);
  pressable("pair-figure", (i) => [x(xs[i]), y(ys[i])]);
}
// Rows with a low, middle and high target.
function thirds(rows) {
  const ranked = rows.slice().sort((a, b) => machines[0].y[a] - machines[0].y[b]), n = Math.ceil(nRows / 3);
  return [ranked.slice(0, n), ranked.slice(n, 2 * n), ranked.slice(2 * n)];
}
function pressable(id, at) {
  const holder = $(id);
  holder.classList.add("press");
  holder.onclick = (event) => {
    const svg = holder.firstElementChild, box = svg.getBoundingClientRect(), ratio = svg.viewBox.baseVal.width / box.width;
    const px = (event.clientX - box.left) * ratio, py = (event.clientY - box.top) * ratio;
    let best = 0, least = Infinity;
    for (let i = 0; i < nRows; i++) {
      const [x, y] = at(i), d = (x - px) ** 2 + (y - py) ** 2;
      if (d < least) { least = d; best = i; }
    }
    if (least < 400) chooseRow(best);
  };
}
function legend() {
  const names = data.classifier ? data.classes : ["low", "middle", "high"].map((w) => `${w} third of ${data.target}`);
  $("legend").replaceChildren(...names.map((name, k) => {
    const item = make("span"), svg = draw("svg", { width: 14, height: 14, viewBox: "0 0 14 14", "aria-hidden": "true" }, item);
    shaped(draw("path", { class: "dots", d: `M7 7${SHAPES[k % 4][2]}` }, svg), k);
    svg.style.cssText = "display:inline-block;width:14px;vertical-align:middle";
    item.append(` ${name}`);
    return item;
  }));
}

// ---- stand-ins ----
function pick(j) {
  state.picked = state.picked === j ? null : j;
  cursors.length = 0;
  pathFigure();
  errorFigure();
  moveCursors();
  showBars();
  standIns();
}
function standIns() {
  const j = state.picked, list = $("stand-in-list");
  if (data.what !== "feature") {
    $("stand-ins").hidden = true;
    return;
  }
  if (j === null) {
    $("stand-in-text").textContent = "Press the name of a selected feature: here are the features that say almost the same.";
    list.replaceChildren();
    return;
  }
  $("stand-in-text").textContent = `Most correlated with ${data.names[j]}:`;
  list.replaceChildren(...data.stand_ins[j].map(([name, r]) => {
    const item = make("li"), k = variables.findIndex((v) => v.name === name), here = data.names.indexOf(name);
    const text = `${name} (${r > 0 ? "+" : "−"}${Math.abs(r).toFixed(2)})`;
    if (k < 0) item.append(text); else {
      const button = make("button", { type: "button", class: "link" }, text);
      button.addEventListener("click", () => pair(j, k));
      item.append(button);
    }
    if (here >= 0 && now.alpha[here] !== 0) item.append(" selected as well");
    return item;
  }));
}
function pair(j, k) {
  $("x").value = j;
  $("y").value = k;
  pairFigure();
  $("pair").scrollIntoView({ block: "nearest" });
}

// ---- downloads ----
const quoted = (text) => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
function csv() {
  let constant = state.machine.b;
  const lines = now.used.map((j) => {
    const coefficient = now.alpha[j] / norms[j];
    constant -= coefficient * means[j];
    return [quoted(data.names[j]), now.alpha[j], coefficient].join(",");
  });
  return [`${data.what},alpha,coefficient`, ...lines, `(constant),,${constant}`].join("\r\n") + "\r\n";
}
const PAINT = ["fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "opacity", "font-size", "font-family"];
function painted(svg) {
  const copy = svg.cloneNode(true), from = [svg, ...svg.querySelectorAll("*")], to = [copy, ...copy.querySelectorAll("*")];
  from.forEach((node, i) => {
    const style = getComputedStyle(node);
    to[i].removeAttribute("class");
    to[i].setAttribute("style", PAINT.map((name) => `${name}:${style.getPropertyValue(name).replaceAll('"', "'")}`).join(";"));
  });
  return copy;
}
function barsPicture(width) {
  const few = now.used.slice(0, FIRST), height = 18 * few.length + 12, largest = few.length ? Math.abs(now.alpha[few[0]]) : 1;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  const ink = getComputedStyle(document.body).color, middle = width * 0.7, wide = width * 0.28;
  few.forEach((j, k) => {
    const v = now.alpha[j], w = wide * Math.abs(v) / largest, style = getComputedStyle(document.documentElement);
    const font = "12px sans-serif";
    draw("text", { x: width * 0.4 - 70, y: 18 * k + 14, "text-anchor": "end", style: `font:${font};fill:${ink}` }, svg, clip(data.names[j], 36));
    draw("text", { x: width * 0.4 - 8, y: 18 * k + 14, "text-anchor": "end", style: `font:${font};fill:${ink}` }, svg, short(v));
    draw("rect", { x: v < 0 ? middle - w : middle, y: 18 * k + 3, width: w, height: 13,
      style: `fill:${style.getPropertyValue(v < 0 ? "--c1" : "--c0")}` }, svg);
  });
  return svg;
}
function picture() {
  const width = 760, style = getComputedStyle(document.body);
  const view = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const pieces = [...document.querySelectorAll("figure > svg")].map(painted);
  pieces.unshift(barsPicture(width));
  let y = 54;
  const text = (size, at, words) => draw("text", { x: 12, y: at, style: `font:${size}px sans-serif;fill:${style.color}` }, view, words);
  text(17, 24, data.title);
  text(12, 44, $("status").textContent);
  for (const piece of pieces) {
    const box = piece.getAttribute("viewBox").split(" ").map(Number), height = Math.round(box[3] * Math.min(width / box[2], 1.2));
    for (const [name, v] of Object.entries({ x: 0, y, width, height })) piece.setAttribute(name, v);
    view.append(piece);
    y += height + 14;
  }
  for (const [name, v] of Object.entries({ viewBox: `0 0 ${width} ${y}`, width, height: y })) view.setAttribute(name, v);
  const paper = draw("rect", { width, height: y, fill: style.backgroundColor }, view);
  view.prepend(paper);
  return new XMLSerializer().serializeToString(view);
}
function download(name, kind, text) {
  const link = make("a", { download: name, href: URL.createObjectURL(new Blob([text], { type: `${kind};charset=utf-8` })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// ---- putting it together ----
function redraw() {
  cursors.length = 0;
  widths.clear();
  pathFigure();
  errorFigure();
  pairFigure();
  move(state.epsilon);
}
function start() {
  document.title = data.title;
  $("title").textContent = data.title;
  const path = machines[0];
  $("about").textContent = `${data.n_rows} rows, ${data.n_columns} ${many.replace("support ", "")}. ${nColumns} enter the path, `
    + `which is exact: at each epsilon the solution is that of psvm.solve.`;
  $("h-selected").textContent = `Selected ${many}`;
  const kept = [];
  if (nRows < data.n_rows) kept.push(`To stay small, the page shows ${nRows} of ${data.n_rows} rows, spread over the target; errors are those of all rows.`);
  if (nColumns < data.n_columns) kept.push(`It keeps the numbers of the ${nColumns} of ${data.n_columns} ${many.replace("support ", "")} that entered the path.`);
  kept.push(`The path ends at epsilon ${short(path.knots[path.knots.length - 1])}; coefficients belong to centred columns of length 1.`);
  $("kept").textContent = kept.join(" ");
  machines.forEach((m, k) => $("machine").append(make("option", { value: k }, m.name)));
  $("machines").hidden = machines.length < 2;
  $("row-names").append(...data.rows.map((name) => make("option", { value: name })));
  for (const id of ["x", "y"]) $(id).append(...variables.map((v, k) => make("option", { value: k }, clip(v.name, 60))));
  const behind = data.extra.length > 1 && data.what !== "feature" ? nColumns : 0;
  const first = behind ? [behind, behind + 1] : [machines[0].order[0], machines[0].order[1] ?? machines[0].order[0]];
  [$("x").value, $("y").value] = first;
  legend();
  $("given").hidden = data.epsilon === null;
  state.epsilon = data.epsilon || state.machine.chosen;
  $("slider").addEventListener("input", (event) => move(epsilonOf(Number(event.target.value)), "slider"));
  $("slider").addEventListener("keydown", (event) => {
    if (event.key !== "PageUp" && event.key !== "PageDown") return;
    event.preventDefault();
    knot(event.key === "PageUp" ? 1 : -1);
  });
  $("epsilon").addEventListener("change", (event) => {
    const typed = Number(event.target.value.replace(",", "."));
    move(typed > 0 ? typed : state.epsilon);
  });
  $("controls").addEventListener("submit", (event) => event.preventDefault());
  $("fewer").addEventListener("click", () => knot(-1));
  $("more").addEventListener("click", () => knot(1));
  $("chosen").addEventListener("click", () => move(state.machine.chosen));
  $("given").addEventListener("click", () => move(data.epsilon));
  $("machine").addEventListener("change", (event) => {
    state.machine = machines[event.target.value];
    state.picked = null;
    state.epsilon = state.machine.chosen;
    redraw();
    standIns();
  });
  $("find").addEventListener("input", showBars);
  $("all").addEventListener("click", () => { state.all = !state.all; showBars(); });
  $("bars").addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (button) pick(Number(button.dataset.column));
  });
  for (const radio of document.getElementsByName("by")) {
    radio.addEventListener("change", () => { state.by = radio.value; showPredictions(); });
  }
  $("row-name").addEventListener("input", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    if (!wanted) return;
    let i = data.rows.findIndex((name) => name.toLowerCase() === wanted);
    if (i < 0) i = data.rows.findIndex((name) => name.toLowerCase().includes(wanted));
    if (i >= 0) { state.row = i; showRow(); pairFigure(); }
  });
  $("row-before").addEventListener("click", () => chooseRow(state.row - 1));
  $("row-after").addEventListener("click", () => chooseRow(state.row + 1));
  for (const id of ["x", "y"]) $(id).addEventListener("change", pairFigure);
  for (const id of ["path-figure", "error-figure"]) dragging($(id));
  $("copy").addEventListener("click", copy);
  $("csv").addEventListener("click", () => download("selection.csv", "text/csv", csv()));
  $("svg").addEventListener("click", () => download("view.svg", "image/svg+xml", picture()));
  let width = document.body.clientWidth;
  new ResizeObserver(() => {
    if (width === document.body.clientWidth) return;
    width = document.body.clientWidth;
    redraw();
  }).observe(document.body);
  standIns();
  redraw();
  follow();
  addEventListener("hashchange", follow);
}
// The address may say which epsilon and which part is wanted: #epsilon=0.5&at=path
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1)), part = $(asked.get("at"));
  if (Number(asked.get("epsilon")) > 0) move(Number(asked.get("epsilon")));
  if (part) part.scrollIntoView();
}
function dragging(holder) {
  holder.classList.add("press");
  const to = (event) => {
    const svg = holder.firstElementChild, box = svg.getBoundingClientRect(), ratio = svg.viewBox.baseVal.width / box.width;
    const wide = svg.viewBox.baseVal.width, x = (event.clientX - box.left) * ratio;
    move(epsilonOf(STEPS * (x - LEFT) / (wide - RIGHT - LEFT)));
  };
  let down = false;
  holder.addEventListener("pointerdown", (event) => { down = true; holder.setPointerCapture(event.pointerId); to(event); });
  holder.addEventListener("pointermove", (event) => { if (down) to(event); });
  for (const end of ["pointerup", "pointercancel"]) holder.addEventListener(end, () => { down = false; });
}
async function copy() {
  try {
    await navigator.clipboard.writeText($("python").textContent);
    $("copy").textContent = "Copied";
  } catch {
    getSelection().selectAllChildren($("python"));
    $("copy").textContent = "Press Ctrl-C";
  }
}
start();
})();
