"use strict";
(() => {
const $ = (id) => document.getElementById(id);
const data = JSON.parse($("data").textContent);
const token = new URLSearchParams(location.search).get("token");
const ask = (path) => `${path}?token=${encodeURIComponent(token)}`;
const SLIDERS = ["gamma", "epsilon", "C", "C_svm"], INFINITE = 4, NEAR = 0.05, UNITS = 1000;
const state = { points: [], regression: false, brush: 0, answer: null, cross: null, dragged: null, moved: false };
let busy = false, again = false;

// ---- points ----
function put(x, y) {
  if (state.points.length >= data.points) return say(`There are ${data.points} points: that is enough.`);
  state.points.push({ x: within(x), y: within(y), label: state.regression ? 0 : state.brush });
  changed();
}
const within = (v) => Math.round(Math.min(Math.max(v, -1), 1) * UNITS) / UNITS;
function nearest(x, y) {
  let best = -1, least = NEAR ** 2;
  state.points.forEach((p, i) => {
    const d = (p.x - x) ** 2 + (p.y - y) ** 2;
    if (d < least) { least = d; best = i; }
  });
  return best;
}
function erase(i) { if (i >= 0) { state.points.splice(i, 1); changed(); } }
function random(seed) {
  let s = seed;
  const next = () => { s = (s * 1664525 + 1013904223) >>> 0; return (s + 0.5) / 2 ** 32; };
  return { next, normal: () => Math.sqrt(-2 * Math.log(next())) * Math.cos(2 * Math.PI * next()) };
}
const EXAMPLES = {
  moons: (r) => Array.from({ length: 80 }, (_, i) => {
    const t = Math.PI * r.next(), up = i % 2;
    return [(up ? 1 - Math.cos(t) - 0.5 : Math.cos(t) - 0.5) * 0.55 + 0.05 * r.normal(), (up ? 0.35 - Math.sin(t) : Math.sin(t) - 0.35) * 0.7 + 0.05 * r.normal(), up];
  }),
  circles: (r) => Array.from({ length: 80 }, (_, i) => {
    const t = 2 * Math.PI * r.next(), radius = (i % 2 ? 0.3 : 0.75) + 0.06 * r.normal();
    return [radius * Math.cos(t), radius * Math.sin(t), i % 2];
  }),
  xor: (r) => Array.from({ length: 80 }, (_, i) => {
    const a = i % 2 ? 1 : -1, b = i % 4 < 2 ? 1 : -1;
    return [0.45 * a + 0.16 * r.normal(), 0.45 * b + 0.16 * r.normal(), a * b > 0 ? 0 : 1];
  }),
  imbalanced: (r) => Array.from({ length: 90 }, (_, i) => (i < 8 ? [0.45 + 0.12 * r.normal(), 0.4 + 0.12 * r.normal(), 1]
    : [-0.15 + 0.35 * r.normal(), -0.1 + 0.35 * r.normal(), 0])),
  three: (r) => Array.from({ length: 75 }, (_, i) => {
    const t = 2 * Math.PI * (i % 3) / 3 + 0.5;
    return [0.5 * Math.cos(t) + 0.2 * r.normal(), 0.5 * Math.sin(t) + 0.2 * r.normal(), i % 3];
  }),
  curve: (r) => Array.from({ length: 50 }, () => {
    const x = 2 * r.next() - 1;
    return [0.95 * x, 0.6 * Math.sin(4 * x) + 0.08 * r.normal(), 0];
  }),
};
function example(name) {
  state.regression = name === "curve";
  state.points = EXAMPLES[name](random(7)).map(([x, y, label]) => ({ x: within(x), y: within(y), label }));
  brushes();
  changed();
}

// ---- parameters ----
const exponent = (id) => Number($(id).value);
function parameter(id) {
  return id === "C" && exponent(id) >= INFINITE ? null : Number((10 ** exponent(id)).toPrecision(6));
}
function showParameters() {
  for (const id of SLIDERS) {
    const v = parameter(id), text = v === null ? "∞" : String(Number(v.toPrecision(3)));
    document.querySelector(`output[for=${id}]`).textContent = text;
    $(id).setAttribute("aria-valuetext", text);
  }
}

// ---- asking ----
// One question at a time: while it is solved, only the last change is remembered.
async function changed() {
  showParameters();
  paint();
  if (busy) { again = true; return; }
  busy = true;
  do {
    again = false;
    await solve();
  } while (again);
  busy = false;
}
async function solve() {
  const classes = new Set(state.points.map((p) => p.label));
  if (state.points.length < 2 || (!state.regression && classes.size < 2)) {
    state.answer = null;
    say(state.regression ? "Put some points." : "Put points of at least two classes, or take an example.");
    return paint();
  }
  const question = { points: state.points.map((p) => [p.x, p.y]), labels: state.points.map((p) => p.label), regression: state.regression,
    kernel: $("kernel").value };
  for (const id of SLIDERS) question[id] = parameter(id);
  try {
    const response = await fetch(ask("solve"), { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(question) });
    const found = response.ok || response.status === 422 ? await response.json() : { error: await response.text() };
    state.answer = found.error ? null : { ...found, n: question.points.length };
    say(found.error || [...found.psvm.warnings, ...found.svm.warnings][0] || "");
  } catch {
    state.answer = null;
    say("The server has ended. Start psvm play again.");
  }
  paint();
}
function say(text) { $("said").textContent = text; }

// ---- drawing ----
const colours = () => {
  const style = getComputedStyle(document.documentElement);
  return { classes: [0, 1, 2, 3].map((k) => style.getPropertyValue(`--c${k}`).trim()), ink: style.getPropertyValue("--ink").trim(),
    paper: style.getPropertyValue("--paper").trim(), soft: style.getPropertyValue("--soft").trim() };
};
function channels(hex) { return [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)); }
function decode(text, Kind) { return new Kind(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer); }
function shape(context, label, x, y, r) {
  context.beginPath();
  if (label === 0) context.arc(x, y, r, 0, 2 * Math.PI);
  else if (label === 1) context.rect(x - 0.85 * r, y - 0.85 * r, 1.7 * r, 1.7 * r);
  else if (label === 2) { context.moveTo(x, y - 1.15 * r); context.lineTo(x + r, y + 0.8 * r); context.lineTo(x - r, y + 0.8 * r); context.closePath(); }
  else { context.moveTo(x, y - 1.2 * r); context.lineTo(x + r, y); context.lineTo(x, y + 1.2 * r); context.lineTo(x - r, y); context.closePath(); }
}
function paint() {
  const palette = colours();
  for (const id of ["psvm", "svm"]) {
    const canvas = $(id), side = Math.max(canvas.clientWidth, 100), density = devicePixelRatio || 1;
    if (canvas.width !== Math.round(side * density)) canvas.width = canvas.height = Math.round(side * density);
    const context = canvas.getContext("2d");
    context.setTransform(density, 0, 0, density, 0, 0);
    context.fillStyle = palette.paper.startsWith("#") ? full(palette.paper) : palette.paper;
    context.fillRect(0, 0, side, side);
    const found = state.answer && state.answer[id];
    if (found && found.curve) curve(context, side, found, palette);
    else if (found) regions(context, side, found, palette);
    points(context, side, found, palette);
    figures(id, found);
  }
}
const full = (hex) => (hex.length === 4 ? `#${[...hex.slice(1)].map((c) => c + c).join("")}` : hex);
function regions(context, side, found, palette) {
  const n = state.answer.size, classes = decode(found.classes, Uint8Array), image = new ImageData(n, n);
  const paper = channels(full(palette.paper)), inks = palette.classes.map((c) => channels(full(c)));
  classes.forEach((k, i) => {
    for (let c = 0; c < 3; c++) image.data[4 * i + c] = Math.round(0.7 * paper[c] + 0.3 * inks[k][c]);
    image.data[4 * i + 3] = 255;
  });
  const small = new OffscreenCanvas(n, n);
  small.getContext("2d").putImageData(image, 0, 0);
  context.imageSmoothingEnabled = false;
  context.drawImage(small, 0, 0, side, side);
  if (!found.values) return;
  const values = decode(found.values, Float32Array);
  context.strokeStyle = palette.ink;
  for (const level of [-1, 0, 1]) {
    context.setLineDash(level ? [5, 4] : []);
    context.lineWidth = level ? 1 : 2;
    contour(context, values, n, level, side);
  }
  context.setLineDash([]);
}
// Marching squares between the centres of the cells.
function contour(context, values, n, level, side) {
  const cell = side / n, at = (i, j) => values[i * n + j] - level;
  context.beginPath();
  for (let i = 0; i + 1 < n; i++) for (let j = 0; j + 1 < n; j++) {
    const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]], cuts = [];
    for (let k = 0; k < 4; k++) {
      const [a, b] = [corners[k], corners[(k + 1) % 4]], va = at(...a), vb = at(...b);
      if (va > 0 === vb > 0) continue;
      const t = va / (va - vb);
      cuts.push([(a[1] + t * (b[1] - a[1]) + 0.5) * cell, (a[0] + t * (b[0] - a[0]) + 0.5) * cell]);
    }
    for (let k = 0; k + 1 < cuts.length; k += 2) { context.moveTo(...cuts[k]); context.lineTo(...cuts[k + 1]); }
  }
  context.stroke();
}
function curve(context, side, found, palette) {
  const n = found.curve.length, line = (shift) => {
    context.beginPath();
    found.curve.forEach((v, i) => context.lineTo(side * i / (n - 1), side * (1 - v - shift) / 2));
    context.stroke();
  };
  context.strokeStyle = palette.ink;
  context.lineWidth = 2;
  line(0);
  if (!found.tube) return;
  context.setLineDash([5, 4]);
  context.lineWidth = 1;
  line(found.tube);
  line(-found.tube);
  context.setLineDash([]);
}
function points(context, side, found, palette) {
  const support = new Set(found && state.answer.n === state.points.length ? found.support : []);
  state.points.forEach((p, i) => {
    const x = side * (1 + p.x) / 2, y = side * (1 - p.y) / 2;
    shape(context, p.label, x, y, 5);
    context.fillStyle = palette.classes[p.label];
    context.fill();
    context.strokeStyle = palette.paper;
    context.lineWidth = 1;
    context.stroke();
    if (!support.has(i)) return;
    context.beginPath();
    context.arc(x, y, 8.5, 0, 2 * Math.PI);
    context.strokeStyle = palette.ink;
    context.lineWidth = 1.6;
    context.stroke();
  });
  if (!state.cross) return;
  const x = side * (1 + state.cross.x) / 2, y = side * (1 - state.cross.y) / 2;
  context.beginPath();
  for (const [a, b, c, d] of [[-9, 0, 9, 0], [0, -9, 0, 9]]) { context.moveTo(x + a, y + b); context.lineTo(x + c, y + d); }
  context.strokeStyle = palette.ink;
  context.lineWidth = 2;
  context.stroke();
}
const short = (v) => (v === 0 ? "0" : String(Number(v.toPrecision(3))));
function figures(id, found) {
  const list = [];
  if (found) {
    list.push(["support objects", `${found.support.length} of ${state.answer.n}`]);
    list.push(found.curve ? ["RMSE", short(found.rmse)] : ["wrong", `${found.wrong} of ${state.answer.n}`]);
    if (id === "psvm") list.push(["objective", short(found.objective)], ["gap", short(found.gap)], ["epsilon", short(found.epsilon)]);
    list.push(["time", `${found.ms.toFixed(1)} ms`]);
  }
  $(`${id}-figures`).replaceChildren(...list.map(([name, v]) => {
    const item = document.createElement("div"), term = document.createElement("dt"), figure = document.createElement("dd");
    term.textContent = name;
    figure.textContent = v;
    item.append(term, figure);
    return item;
  }));
}

// ---- mouse, touch and keys ----
function at(canvas, event) {
  const box = canvas.getBoundingClientRect();
  return [2 * (event.clientX - box.left) / box.width - 1, 1 - 2 * (event.clientY - box.top) / box.height];
}
function hands(canvas) {
  canvas.addEventListener("pointerdown", (event) => {
    const [x, y] = at(canvas, event), i = nearest(x, y);
    canvas.setPointerCapture(event.pointerId);
    state.cross = null;
    if (state.brush < 0 || event.button === 2) return erase(i);
    if (i < 0) { put(x, y); state.dragged = state.points.length - 1; } else state.dragged = i;
  });
  canvas.addEventListener("pointermove", (event) => {
    if (state.dragged === null || !state.points[state.dragged]) return;
    const [x, y] = at(canvas, event);
    Object.assign(state.points[state.dragged], { x: within(x), y: within(y) });
    changed();
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { state.dragged = null; });
  canvas.addEventListener("contextmenu", (event) => event.preventDefault());
  canvas.addEventListener("keydown", (event) => {
    const step = event.shiftKey ? 0.1 : 0.02, moves = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
    const cross = state.cross || (state.cross = { x: 0, y: 0 });
    if (moves[event.key]) {
      state.cross = { x: within(cross.x + step * moves[event.key][0]), y: within(cross.y + step * moves[event.key][1]) };
      say(`Cross at ${short(state.cross.x)}, ${short(state.cross.y)}.`);
      paint();
    } else if (event.key === "Enter" || event.key === " ") state.brush < 0 ? erase(nearest(cross.x, cross.y)) : put(cross.x, cross.y);
    else if (event.key === "Delete" || event.key === "Backspace") erase(nearest(cross.x, cross.y));
    else return;
    event.preventDefault();
  });
  canvas.addEventListener("blur", () => { state.cross = null; paint(); });
}
function brushes() {
  const kinds = state.regression ? [[0, "point"], [-1, "erase"]]
    : [...Array.from({ length: data.classes }, (_, k) => [k, `class ${k + 1}`]), [-1, "erase"]];
  if (!kinds.some(([k]) => k === state.brush)) state.brush = 0;
  const legend = $("brushes").firstElementChild, palette = colours();
  $("brushes").replaceChildren(legend, ...kinds.map(([k, name]) => {
    const label = document.createElement("label"), radio = document.createElement("input");
    Object.assign(radio, { type: "radio", name: "brush", value: k, checked: k === state.brush });
    radio.addEventListener("change", () => { state.brush = k; });
    label.append(radio);
    if (k >= 0) {
      const icon = document.createElement("canvas");
      icon.width = icon.height = 32;
      const context = icon.getContext("2d");
      shape(context, k, 16, 16, 10);
      context.fillStyle = palette.classes[k];
      context.fill();
      label.append(icon);
    }
    label.append(name);
    return label;
  }));
}

// ---- a link that holds the points ----
function share() {
  const settings = [["points", state.points.map((p) => `${Math.round(p.x * UNITS)}.${Math.round(p.y * UNITS)}.${p.label}`).join(",")],
    ["kernel", $("kernel").value], ["regression", Number(state.regression)], ...SLIDERS.map((id) => [id, $(id).value])];
  $("address").value = `${location.origin}/#${settings.map((pair) => pair.join("=")).join("&")}`;
  $("link").hidden = false;
  $("address").select();
}
function follow() {
  const asked = new URLSearchParams(location.hash.slice(1)), read = asked.get("points");
  if (read === null) return false;
  state.regression = asked.get("regression") === "1";
  state.points = read.split(",").map((text) => text.split(".").map(Number)).filter((p) => p.length === 3 && p.every(Number.isFinite))
    .slice(0, data.points).map(([x, y, label]) => ({ x: within(x / UNITS), y: within(y / UNITS), label: Math.min(Math.max(Math.trunc(label), 0), data.classes - 1) }));
  if (data.kernels.includes(asked.get("kernel"))) $("kernel").value = asked.get("kernel");
  for (const id of SLIDERS) if (asked.has(id) && asked.get(id) !== "" && Number.isFinite(Number(asked.get(id)))) $(id).value = asked.get(id);
  brushes();
  changed();
  return true;
}

// ---- putting it together ----
data.kernels.forEach((name) => $("kernel").append(new Option(name, name)));
for (const id of SLIDERS) $(id).addEventListener("input", changed);
$("kernel").addEventListener("change", changed);
$("example").addEventListener("change", (event) => { if (event.target.value) example(event.target.value); });
$("clear").addEventListener("click", () => { state.points = []; state.regression = false; $("example").value = ""; brushes(); changed(); });
$("share").addEventListener("click", share);
$("controls").addEventListener("submit", (event) => event.preventDefault());
for (const id of ["psvm", "svm"]) hands($(id));
addEventListener("hashchange", follow);
let width = 0;
new ResizeObserver(() => {
  if (width === document.body.clientWidth) return;
  width = document.body.clientWidth;
  paint();
}).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { brushes(); paint(); });
brushes();
showParameters();
if (!follow()) { $("example").value = "moons"; example("moons"); }
// While this stream is open the server stays; it ends when the page has gone.
const life = new EventSource(ask("open"));
life.addEventListener("error", () => {
  if (life.readyState === EventSource.CLOSED) say("The server has ended. Start psvm play again.");
});
})();
