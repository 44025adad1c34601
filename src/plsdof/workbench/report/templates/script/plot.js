// Lines and points over two axes, in SVG; lines with very many points on a canvas below it.
/**
 * What is drawn one above the other. Values are numbers of the axes; null is a gap.
 * @typedef {Object} Trace
 * @property {(number|null)[]} x
 * @property {(number|null)[]} y
 * @property {string} [mode] "lines", "markers" or "text", joined by "+"
 * @property {string} [name] in the legend
 * @property {boolean} [showlegend]
 * @property {{color?: string, width?: number, dash?: string}} [line]
 * @property {{color?: string, size?: number|number[], symbol?: string, width?: number, opacity?: number}} [marker]
 * @property {string} [fill] "zero", or "before": the area between this and the trace before it
 * @property {string} [fillcolor]
 * @property {number} [opacity]
 * @property {string[]} [hovertext] a text per point, which a pointer or the keyboard shows
 * @property {string[]} [text] a text that stands beside each point
 * @property {number[]} [textside] where from the point: across and down; otherwise where there is room
 * @property {number[]} [rows] the row that each point is
 * @property {number[]} [marked] places of points that are marked; others are faint
 * @property {{above: number[], below: number[]}} [bars]
 *
 * @typedef {Object} Axis
 * @property {string} [title]
 * @property {(number|null)[]} [range]
 * @property {boolean} [log]
 * @property {boolean} [reversed]
 * @property {boolean} [tozero]
 * @property {boolean} [zeroline]
 * @property {boolean} [plain] numbers are names, such as wavelengths
 * @property {number} [dtick]
 * @property {number[]} [tickvals]
 * @property {string[]} [ticktext]
 *
 * @typedef {Object} Plan
 * @property {Axis} x
 * @property {Axis} y
 * @property {number} height
 * @property {number} [width] of paper; otherwise that of the holder
 * @property {boolean} [showlegend]
 * @property {{x?: number, y?: number, style: string}[]} [limits] lines across the picture
 * @property {{text: string[], middle?: boolean}} [note]
 * @property {string|false} [drag] "lasso", "select" (a range) or "zoom"
 * @property {{click?: (row: number) => void, select?: (rows: number[]) => void, mark?: (row: number) => void, brush?: (ends: number[]) => void}} [on]
 *
 * @typedef {HTMLElement & {data: Trace[], layout: Plan & {theme: any}, at: (x: number, y: number) => number[], zoom?: number[]|null, cursor?: number, near: (x: number, y: number) => Hit|null, hits: () => Hit[]}} Holder
 * @typedef {{x: number, y: number, text: string, row: number|undefined}} Hit
 */
const DASH = { dash: "7 5", dashdot: "7 4 2 4", dot: "2 3", longdash: "11 5" };
// Corners of a symbol around its middle, in halves of its size; a circle has none.
/** @type {Record<string, number[][]>} */
const OUTLINES = {
  circle: [],
  square: [[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
  diamond: [[0, -1.3], [1.3, 0], [0, 1.3], [-1.3, 0]],
  "triangle-up": [[0, -1.2], [1.15, 0.9], [-1.15, 0.9]],
  x: [[-1, -0.6], [-0.6, -1], [0, -0.4], [0.6, -1], [1, -0.6], [0.4, 0], [1, 0.6], [0.6, 1], [0, 0.4], [-0.6, 1], [-1, 0.6], [-0.4, 0]],
  "x-thin": [[-1, -1], [1, 1], [0, 0], [-1, 1], [1, -1], [0, 0]],
};
// From so many points on a line is drawn on a canvas.
const MOST_VERTICES = 4000;
const ruler = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
const FONT = "system-ui, 'DejaVu Sans', sans-serif";

/** @param {string} text @param {number} size */
function widthOf(text, size) {
  ruler.font = size + "px " + FONT;
  return ruler.measureText(text).width;
}

/** @param {string} name @param {Record<string, any>} facts @param {(Node|string)[]} children */
function svg(name, facts, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(facts)) made.setAttribute(key, String(value));
  made.append(...children);
  return made;
}

/** The step between the numbers of an axis: about as many as wanted, at round values. @param {number} low @param {number} high @param {number} most */
function roundStep(low, high, most) {
  const raw = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const steps = [0.1, 0.2, 0.5, 1, 2, 5, 10].map((s) => s * power);
  const wanted = steps.findIndex((s) => s >= raw * 0.999);
  // An axis with fewer than three numbers cannot be read.
  return steps.slice(0, wanted + 1).reverse().find((s) => everyStep(low, high, s).length > 2) || raw;
}

/** @param {number} low @param {number} high @param {number} step */
function everyStep(low, high, step) {
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.max(0, Math.floor(high / step + 1e-9) - first + 1);
  return Array.from({ length: Math.min(count, 200) }, (_, k) => (first + k) * step);
}

const SUPERSCRIPT = "⁰¹²³⁴⁵⁶⁷⁸⁹";
/** @param {number} n */
const raised = (n) => (n < 0 ? "⁻" : "") + [...String(Math.abs(n))].map((d) => SUPERSCRIPT[Number(d)]).join("");

/** A number of an axis; all of them have one power of ten. @param {number} value @param {number} step @param {number} most @param {boolean|undefined} plain */
function tickText(value, step, most, plain) {
  if (Math.abs(value) < step / 1e6) return "0";
  const power = Math.floor(Math.log10(most) + 1e-12);
  if (!plain && (power > 5 || power < -3)) {
    const digits = Math.max(0, power - Math.floor(Math.log10(step) + 1e-12));
    return (value / 10 ** power).toFixed(digits) + "·10" + raised(power);
  }
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-12))).replace("-", "−");
}

/**
 * From values to shares of the axis and back, with its ticks.
 * @param {Axis} axis @param {number[]} known @param {number} edge @param {number} length
 */
function scaleOf(axis, known, edge, length) {
  const turn = axis.log ? Math.log10 : (/** @type {number} */ v) => v;
  const values = axis.log ? known.filter((v) => v > 0) : known;
  let [low, high] = values.reduce((ends, v) => [Math.min(ends[0], v), Math.max(ends[1], v)], [Infinity, -Infinity]);
  if (low > high) [low, high] = axis.log ? [1, 10] : [0, 1];
  let [from, to] = [turn(low), turn(high)];
  const pad = to > from ? (to - from) * edge : axis.log ? 0.3 : Math.abs(to) * 0.1 || 0.5;
  [from, to] = [axis.tozero && from >= 0 ? 0 : from - pad, to + pad];
  if (axis.range) [from, to] = axis.range.map((v) => turn(/** @type {number} */ (v)));
  if (axis.reversed) [from, to] = [to, from];
  const [least, most] = [Math.min(from, to), Math.max(from, to)];
  let ticks = axis.tickvals || [];
  let words = axis.ticktext || [];
  if (!axis.tickvals) {
    const step = axis.dtick || roundStep(least, most, length);
    ticks = everyStep(least, most, step);
    const largest = Math.max(...ticks.map(Math.abs));
    words = ticks.map((v) => tickText(v, step, largest, axis.plain));
  }
  const share = (/** @type {number} */ v) => (turn(v) - from) / (to - from);
  const inside = ticks.map((v, k) => ({ at: share(v), text: words[k] })).filter((one) => one.at > -0.001 && one.at < 1.001);
  return { share: share, back: (/** @type {number} */ s) => (axis.log ? 10 ** (from + s * (to - from)) : from + s * (to - from)), ticks: inside };
}

/** Colours of a picture, which follow the styles of the page. */
function themeOf() {
  const styles = getComputedStyle(document.documentElement);
  const color = (/** @type {string} */ name) => styles.getPropertyValue("--" + name).trim();
  const names = ["ink", "muted", "paper", "reference", "grid", "band", "wide-band", "cv-band", "marked"];
  const found = /** @type {any} */ (Object.fromEntries(names.map((name) => [name, color(name)])));
  found.lines = [1, 2, 3, 4, 5].map((i) => color("line-" + i));
  found.classes = [1, 2, 3, 4, 5].map((i) => color("class-" + i));
  return found;
}

/**
 * Draw a picture into its holder, in place of what it showed.
 * @param {HTMLElement} where @param {Trace[]} data @param {Plan} plan
 */
function plot(where, data, plan) {
  const holder = /** @type {Holder} */ (where);
  const isNew = !holder.data;
  const theme = themeOf();
  holder.data = data;
  holder.layout = Object.assign({}, plan, { theme: theme });
  const width = plan.width || holder.clientWidth;
  if (!width) return;
  const size = plan.width && plan.width < 400 ? 11 : 12.5;
  const legend = legendOf(plan.showlegend ? data.filter((one) => one.name && one.showlegend !== false) : [], width, size, theme);
  const marks = data.some((one) => (one.mode || "").includes("markers"));
  const all = (/** @type {"x"|"y"} */ key) => {
    const bars = key === "x" ? [] : data.flatMap((one) => (one.bars ? one.y.flatMap((v, i) => [Number(v) + one.bars.above[i], Number(v) - one.bars.below[i]]) : []));
    const zero = data.some((one) => one.fill === "zero") && key === "y" ? [0] : [];
    return /** @type {number[]} */ ([...bars, ...zero, ...[].concat(...data.map((one) => /** @type {any} */ (one[key])))].filter((v) => v !== null && Number.isFinite(v)));
  };
  const top = 10 + legend.height;
  const bottom = 8 + 1.3 * size + (plan.x.title ? 1.6 * size : 0);
  const high = Math.max(40, plan.height - top - bottom);
  const up = scaleOf(plan.y, all("y"), 0.06, high / 45);
  const left = 10 + (plan.y.title ? 1.6 * size : 0) + Math.max(...up.ticks.map((one) => widthOf(one.text, size)), 8);
  const wide = Math.max(40, width - left - 14);
  const x = holder.zoom ? Object.assign({}, plan.x, { range: holder.zoom }) : plan.x;
  const across = scaleOf(x, all("x"), marks ? 0.05 : 0, wide / 75);
  const px = (/** @type {number} */ v) => left + wide * across.share(v);
  const py = (/** @type {number} */ v) => top + high * (1 - up.share(v));
  holder.at = (a, b) => [px(a), py(b)];
  const clip = "clip-" + holder.id;
  const inside = svg("g", { "clip-path": "url(#" + clip + ")" });
  const front = svg("g", {});
  const picture = svg(
    "svg",
    { class: "plot", width: width, height: plan.height, viewBox: "0 0 " + width + " " + plan.height, "font-family": FONT, "font-size": size, "aria-hidden": "true" },
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", { x: left - 1, y: top - 1, width: wide + 2, height: high + 2 }))),
    ...axesOf(across, up, { left: left, top: top, wide: wide, high: high, px: px, py: py }, plan, size, theme)
  );
  const paint = canvasFor(data, width, plan.height, [left, top, wide, high]);
  (plan.limits || []).forEach((one) => {
    const place = one.x === undefined ? { x1: left, x2: left + wide, y1: py(/** @type {number} */ (one.y)), y2: py(/** @type {number} */ (one.y)) } : { y1: top, y2: top + high, x1: px(one.x), x2: px(one.x) };
    inside.append(svg("line", Object.assign({ class: "limit", stroke: theme.reference, "stroke-width": 1.5, "stroke-dasharray": DASH[/** @type {"dash"} */ (one.style)] }, place)));
  });
  data.forEach((one, k) => drawTrace(one, data[k - 1], { px: px, py: py, box: [left, wide], inside: inside, front: front, paint: paint, theme: theme, size: size }));
  if (paint && plan.width) picture.append(svg("image", { href: paint.canvas.toDataURL(), width: width, height: plan.height }));
  holder.style.minHeight = "0";
  const tip = document.createElement("div");
  tip.className = "tip";
  tip.setAttribute("role", "status");
  holder.replaceChildren(...(paint && !plan.width ? [paint.canvas] : []), picture, tip);
  findable(holder, data, px, py, [left, top, wide, high]);
  picture.append(inside, front, ...legend.parts, ...noteOf(plan.note, [left, top, wide, high], size, theme, holder));
  if (isNew) listenTo(holder);
  holder.dataset.drag = plan.drag || "";
  picture.addEventListener("pointerdown", (event) => dragged(holder, picture, /** @type {PointerEvent} */ (event), (/** @type {number} */ s) => across.back((s - left) / wide)));
}

/** Lines of the axes, their ticks and titles. @param {any} across @param {any} up @param {any} box @param {Plan} plan @param {number} size @param {any} theme */
function axesOf(across, up, box, plan, size, theme) {
  const { left, top, wide, high, px, py } = box;
  const grid = (/** @type {number} */ x1, /** @type {number} */ y1, /** @type {number} */ x2, /** @type {number} */ y2, /** @type {string} */ color) => svg("path", { d: `M${x1} ${y1}L${x2} ${y2}`, stroke: color, fill: "none" });
  const parts = [];
  const texts = { fill: theme.ink };
  // Texts of ticks across that would touch each other are left out.
  const widest = Math.max(1, ...across.ticks.map((/** @type {any} */ one) => widthOf(one.text, size) + 10));
  const room = across.ticks.length > 1 ? Math.abs(across.ticks[1].at - across.ticks[0].at) * wide : wide;
  const isNamed = plan.x.tickvals && !plan.x.log;
  const every = isNamed ? 1 : Math.ceil(widest / Math.max(1, room));
  across.ticks.forEach((/** @type {any} */ one, /** @type {number} */ k) => {
    const x = left + wide * one.at;
    parts.push(grid(x, top, x, top + high, theme.grid), grid(x, top + high, x, top + high + 4, theme.reference));
    const text = isNamed ? fitted(one.text, room - 6, size) : one.text;
    const half = widthOf(text, size) / 2;
    if (k % every === 0) parts.push(svg("g", { class: "xtick" }, svg("text", Object.assign({ x: Math.min(x, left + wide + 12 - half), y: top + high + 5 + size, "text-anchor": "middle" }, texts), text)));
  });
  up.ticks.forEach((/** @type {any} */ one) => {
    const y = top + high * (1 - one.at);
    parts.push(grid(left, y, left + wide, y, theme.grid), grid(left - 4, y, left, y, theme.reference));
    parts.push(svg("g", { class: "ytick" }, svg("text", Object.assign({ x: left - 7, y: y + 0.35 * size, "text-anchor": "end" }, texts), one.text)));
  });
  const isWithin = (/** @type {any} */ scale) => scale.share(0) >= 0 && scale.share(0) <= 1;
  if (plan.x.zeroline && isWithin(across)) parts.push(grid(px(0), top, px(0), top + high, theme.reference));
  if (plan.y.zeroline && isWithin(up)) parts.push(grid(left, py(0), left + wide, py(0), theme.reference));
  parts.push(grid(left, top, left, top + high, theme.reference), grid(left, top + high, left + wide, top + high, theme.reference));
  if (plan.x.title) parts.push(svg("text", Object.assign({ class: "xtitle", x: left + wide / 2, y: plan.height - 5, "text-anchor": "middle" }, texts), fitted(plan.x.title, wide + left, size)));
  if (plan.y.title) {
    const [x, y] = [1.05 * size, top + high / 2];
    parts.push(svg("text", Object.assign({ class: "ytitle", x: x, y: y, "text-anchor": "middle", transform: `rotate(-90 ${x} ${y})` }, texts), fitted(plan.y.title, high + top, size)));
  }
  return parts;
}

/** @param {string} text @param {number} most @param {number} size */
function fitted(text, most, size) {
  let found = text;
  while (found.length > 4 && widthOf(found, size) > most) found = found.slice(0, -2) + "…";
  return found;
}

/** Names of traces above the picture, in as many lines as it takes. @param {Trace[]} data @param {number} width @param {number} size @param {any} theme */
function legendOf(data, width, size, theme) {
  const parts = [];
  let [x, y] = [8, 0.9 * size];
  data.forEach((one) => {
    const text = fitted(/** @type {string} */ (one.name), width - 45, size);
    const wide = widthOf(text, size) + 40;
    if (x > 8 && x + wide > width) [x, y] = [8, y + 1.45 * size];
    const paint = { px: (/** @type {number} */ v) => v, py: (/** @type {number} */ v) => v, inside: svg("g", {}), front: svg("g", {}), paint: null, theme: theme, size: size };
    const marker = one.marker && Object.assign({}, one.marker, { size: 8 });
    if (one.fill) paint.inside.append(svg("rect", { x: x, y: y - 5, width: 20, height: 10, fill: one.fillcolor || (one.line && one.line.color), opacity: one.fillcolor ? 1 : 0.3 }));
    else drawTrace({ x: [x, x + 10, x + 20], y: [y, y, y], mode: (one.mode || "lines").includes("lines") ? "lines" : "none", line: one.line }, undefined, paint);
    if (marker) drawTrace({ x: [x + 10], y: [y], mode: "markers", marker: marker }, undefined, paint);
    parts.push(paint.inside, paint.front, svg("text", { class: "legendtext", x: x + 25, y: y + 0.35 * size, fill: theme.ink }, text));
    x += wide;
  });
  return { parts: parts, height: data.length ? y + 0.7 * size : 0 };
}

/** Lines of text in the corner where they hide fewer points, or one in the middle. @param {Plan["note"]} note @param {number[]} box @param {number} size @param {any} theme @param {Holder} holder */
function noteOf(note, [left, top, wide, high], size, theme, holder) {
  if (!note) return [];
  const small = Math.min(size, (size * (wide - 10)) / Math.max(...note.text.map((one) => widthOf(one, size)), 1));
  if (note.middle) return [svg("text", { class: "annotation", x: left + wide / 2, y: top + high / 2, "text-anchor": "middle", fill: theme.ink, "font-size": small }, note.text[0])];
  const room = { width: Math.max(...note.text.map((one) => widthOf(one, small))) + 8, height: 1.25 * small * note.text.length + 6 };
  const corners = [[left + wide - room.width, top + high - room.height], [left, top]];
  const hidden = corners.map(([x, y]) => holder.hits().filter((one) => one.x > x && one.x < x + room.width && one.y > y && one.y < y + room.height).length);
  const [x, y] = corners[Number(hidden[1] < hidden[0])];
  const lines = note.text.map((one, k) => svg("text", { class: "annotation", x: x + room.width - 4, y: y + 1.25 * small * (k + 1) - 2, "text-anchor": "end", fill: theme.ink, "font-size": small }, one));
  return [svg("rect", Object.assign({ x: x, y: y, fill: theme.paper, opacity: 0.85 }, room)), ...lines];
}

/** A canvas below the picture, if a line has very many points. @param {Trace[]} data @param {number} width @param {number} height @param {number[]} box */
function canvasFor(data, width, height, [left, top, wide, high]) {
  if (!data.some((one) => one.x.length > MOST_VERTICES)) return null;
  const canvas = document.createElement("canvas");
  const fine = window.devicePixelRatio || 1;
  Object.assign(canvas, { width: width * fine, height: height * fine });
  Object.assign(canvas.style, { width: width + "px", height: height + "px" });
  const found = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  found.scale(fine, fine);
  found.rect(left, top, wide, high);
  found.clip();
  return found;
}

/** @param {Trace} one @param {Trace|undefined} before @param {any} on */
function drawTrace(one, before, on) {
  const { px, py, theme } = on;
  const mode = one.mode || "lines";
  const points = one.x.map((v, i) => (v === null || one.y[i] === null ? null : [px(v), py(one.y[i])])).map((one) => (one && Number.isFinite(one[0] + one[1]) ? one : null));
  const line = Object.assign({ color: theme.lines[0], width: 2, dash: "" }, one.line);
  if (one.fill) {
    const known = points.filter(Boolean);
    const base = one.fill === "zero" ? known.map((p) => [p[0], py(0)]) : /** @type {Trace} */ (before).x.map((v, i) => [px(v), py(/** @type {Trace} */ (before).y[i])]);
    const area = [...known, ...base.reverse()];
    if (area.length) on.inside.append(svg("path", { class: "area", d: "M" + area.map(pair).join("L") + "Z", fill: one.fillcolor || line.color, opacity: one.fillcolor ? 1 : 0.3 }));
  }
  if (mode.includes("lines") && line.width) {
    if (on.paint && points.length > MOST_VERTICES) strokeOn(on.paint, points, line, one.opacity);
    else on.inside.append(svg("path", { class: "line", d: pathOf(points), fill: "none", stroke: line.color, "stroke-width": line.width, "stroke-dasharray": DASH[/** @type {"dash"} */ (line.dash)] || "none", "stroke-linejoin": "round", opacity: one.opacity || 1 }));
  }
  if (one.bars) {
    const ends = one.y.map((v, i) => [px(one.x[i]), py(Number(v) + one.bars.above[i]), py(Number(v) - one.bars.below[i])]);
    on.inside.append(svg("path", { class: "bars", d: ends.map(([x, a, b]) => `M${x} ${a}V${b}M${x - 3} ${a}h6M${x - 3} ${b}h6`).join(""), stroke: one.marker.color, fill: "none" }));
  }
  if (mode.includes("markers")) drawMarkers(one, points, on);
  if (mode.includes("text")) drawNames(one, points, on);
}

/** @param {number[]} p */
const pair = (p) => p[0].toFixed(1) + " " + p[1].toFixed(1);

/** @param {(number[]|null)[]} points */
function pathOf(points) {
  let [text, pen] = ["", "M"];
  for (const p of points) {
    if (p) text += pen + pair(p);
    pen = p ? "L" : "M";
  }
  return text || "M0 0";
}

/** @param {CanvasRenderingContext2D} paint @param {(number[]|null)[]} points @param {any} line @param {number|undefined} opacity */
function strokeOn(paint, points, line, opacity) {
  Object.assign(paint, { strokeStyle: line.color, lineWidth: line.width, globalAlpha: opacity || 1 });
  paint.beginPath();
  let isDown = false;
  for (const p of points) {
    if (p && isDown) paint.lineTo(p[0], p[1]);
    else if (p) paint.moveTo(p[0], p[1]);
    isDown = Boolean(p);
  }
  paint.stroke();
}

/** All points of a trace are one path, those that are marked another one. @param {Trace} one @param {(number[]|null)[]} points @param {any} on */
function drawMarkers(one, points, on) {
  const marker = Object.assign({ color: (one.line && one.line.color) || on.theme.lines[0], size: 7, symbol: "circle", width: 1.6, opacity: 1 }, one.marker);
  const symbol = marker.symbol.replace("-open", "");
  const isOpen = symbol !== marker.symbol || symbol === "x-thin";
  const marked = one.marked && new Set(one.marked);
  const draw = (/** @type {(i: number) => boolean} */ wanted, /** @type {string} */ color, /** @type {number} */ opacity) => {
    const found = points.map((p, i) => (p && wanted(i) ? outline(symbol, p, (Array.isArray(marker.size) ? marker.size[i] : marker.size) / 2) : "")).filter(Boolean);
    const style = { fill: isOpen ? "none" : color, stroke: isOpen ? color : "none", "stroke-width": marker.width, opacity: opacity };
    if (found.length) on.inside.append(svg("path", Object.assign({ class: "points", "data-count": found.length, d: found.join("") }, style)));
  };
  if (!marked) return draw(() => true, marker.color, marker.opacity);
  draw((i) => !marked.has(i), marker.color, 0.35);
  return draw((i) => marked.has(i), on.theme.marked, 1);
}

/** @param {string} symbol @param {number[]} p @param {number} r */
function outline(symbol, [x, y], r) {
  const corners = OUTLINES[symbol];
  if (corners.length) return "M" + corners.map(([a, b]) => pair([x + r * a, y + r * b])).join("L") + "z";
  return `M${pair([x - r, y])}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
}

// Sides of a point where its name may stand: across and down.
const SIDES = [[0, -1], [0, 1], [1, 0], [-1, 0], [1, -1], [-1, -1], [1, 1], [-1, 1]];

/** Names beside points, each where it covers no point and no other name, or not at all. @param {Trace} one @param {(number[]|null)[]} points @param {any} on */
function drawNames(one, points, on) {
  const [left, wide] = on.box;
  const named = points.map((p, i) => ({ p: p, text: one.text && one.text[i] })).filter(({ p, text }) => p && text);
  const taken = named.map(({ p }) => ({ x: p[0], y: p[1], w: 6, h: 6 }));
  named.forEach(({ p, text }) => {
    const [w, h] = [widthOf(text, 12) / 2 + 3, 8];
    const boxes = (one.textside ? [one.textside] : SIDES).map(([dx, dy]) => ({ x: p[0] + dx * (w + 6), y: p[1] + dy * (h + 6), w: w, h: h }));
    const isFree = (/** @type {any} */ box) => box.x - w >= left && box.x + w <= left + wide + 10 && taken.every((other) => Math.abs(box.x - other.x) >= w + other.w || Math.abs(box.y - other.y) >= h + other.h);
    const box = one.textside ? boxes[0] : boxes.find(isFree);
    if (!box) return;
    taken.push(box);
    on.front.append(svg("text", { class: "name", fill: on.theme.ink, stroke: on.theme.paper, "stroke-width": 3, "paint-order": "stroke", "font-size": 12, x: box.x, y: box.y + 4, "text-anchor": "middle" }, text));
  });
}

// What a pointer and the keyboard find
// ------------------------------------

/** @param {Holder} holder @param {Trace[]} data @param {(v: number) => number} px @param {(v: number) => number} py @param {number[]} box */
function findable(holder, data, px, py, [left, top, wide, high]) {
  const inside = (/** @type {Hit} */ p) => p.x >= left - 2 && p.x <= left + wide + 2 && p.y >= top - 2 && p.y <= top + high + 2;
  /** @type {Hit[]|null} */
  let known = null;
  holder.hits = () => {
    if (known) return known;
    known = data.filter((one) => one.hovertext).flatMap((one) => one.x.map((v, i) => ({ x: px(Number(v)), y: py(Number(one.y[i])), text: v === null || one.y[i] === null ? "" : /** @type {string[]} */ (one.hovertext)[i], row: one.rows && one.rows[i] })));
    known = known.filter((one) => one.text && inside(one));
    return known;
  };
  holder.near = (x, y) => {
    let [best, least] = [/** @type {Hit|null} */ (null), 20 ** 2];
    for (const one of holder.hits()) {
      const far = (one.x - x) ** 2 + (one.y - y) ** 2;
      if (far < least) [best, least] = [one, far];
    }
    return best;
  };
}

/** @param {Holder} holder @param {Hit|null} hit */
function tell(holder, hit) {
  const tip = /** @type {HTMLElement} */ (holder.querySelector(".tip"));
  tip.textContent = hit ? hit.text : "";
  tip.hidden = !hit;
  if (!hit) return;
  const left = Math.max(0, Math.min(hit.x + 12, holder.clientWidth - tip.offsetWidth - 2));
  Object.assign(tip.style, { left: left + "px", top: Math.max(0, hit.y - tip.offsetHeight - 10) + "px" });
}

/** @param {Holder} holder */
function listenTo(holder) {
  holder.tabIndex = 0;
  holder.setAttribute("role", "application");
  holder.setAttribute("aria-roledescription", "picture; arrow keys go from point to point, Enter picks one, Space marks it");
  holder.addEventListener("pointermove", (event) => {
    const box = holder.getBoundingClientRect();
    if (!event.buttons) tell(holder, holder.near(event.clientX - box.left, event.clientY - box.top));
  });
  holder.addEventListener("pointerleave", () => tell(holder, null));
  holder.addEventListener("blur", () => tell(holder, null));
  holder.addEventListener("dblclick", () => {
    holder.zoom = null;
    plot(holder, holder.data, holder.layout);
    if (holder.layout.on && holder.layout.on.select) holder.layout.on.select([]);
  });
  holder.addEventListener("keydown", (event) => typed(holder, event));
}

/** Arrow keys walk over the points from left to right; Enter picks a row, Space marks it. @param {Holder} holder @param {KeyboardEvent} event */
function typed(holder, event) {
  const all = [...holder.hits()].sort((a, b) => a.x - b.x);
  const on = holder.layout.on || {};
  const last = all.length - 1;
  const now = holder.cursor === undefined ? -1 : Math.min(holder.cursor, last);
  const to = { ArrowRight: Math.min(now + 1, last), ArrowLeft: Math.max(now - 1, 0), Home: 0, End: last }[event.key];
  const row = all[now] && all[now].row;
  if (to !== undefined && last >= 0) {
    holder.cursor = to;
    tell(holder, all[to]);
  } else if (event.key === "Enter" && row !== undefined && on.click) on.click(row);
  else if (event.key === " " && row !== undefined && on.mark) on.mark(row);
  else if (event.key === "Escape" && on.select) on.select([]);
  else return;
  event.preventDefault();
  event.stopPropagation();
}

/**
 * A press on the picture: a click on a point, a line around points, or a range.
 * @param {Holder} holder @param {SVGElement} picture @param {PointerEvent} start @param {(x: number) => number} back
 */
function dragged(holder, picture, start, back) {
  const box = holder.getBoundingClientRect();
  const placeOf = (/** @type {PointerEvent} */ event) => [event.clientX - box.left, event.clientY - box.top];
  const path = [placeOf(start)];
  const { drag, on = {} } = holder.layout;
  const line = svg("path", { class: "drag", fill: holder.layout.theme.band, stroke: holder.layout.theme.marked });
  const move = (/** @type {PointerEvent} */ event) => {
    path.push(placeOf(event));
    if (!drag) return;
    const [[x0], [x1]] = [path[0], path[path.length - 1]];
    line.setAttribute("d", drag === "lasso" ? "M" + path.map(pair).join("L") + "Z" : `M${x0} 8V${box.height - 30}H${x1}V8Z`);
    picture.append(line);
    tell(holder, null);
  };
  const end = () => {
    picture.removeEventListener("pointermove", move);
    line.remove();
    const [a, b] = [path[0], path[path.length - 1]];
    const far = Math.max(...path.map((p) => Math.hypot(p[0] - a[0], p[1] - a[1])));
    if (far < 5) {
      const hit = holder.near(a[0], a[1]);
      if (hit && hit.row !== undefined && on.click) on.click(hit.row);
    } else if (drag === "lasso" && on.select) {
      const rows = holder.hits().filter((one) => one.row !== undefined && isWithin(one, path)).map((one) => /** @type {number} */ (one.row));
      on.select([...new Set(rows)]);
    } else if (drag) {
      const ends = [back(a[0]), back(b[0])].sort((one, other) => one - other);
      if (drag === "select" && on.brush) return on.brush(ends);
      holder.zoom = ends;
      plot(holder, holder.data, holder.layout);
    }
    return undefined;
  };
  picture.setPointerCapture(start.pointerId);
  picture.addEventListener("pointermove", move);
  picture.addEventListener("pointerup", end, { once: true });
}

/** Whether a point is inside a line around it. @param {Hit} one @param {number[][]} path */
function isWithin(one, path) {
  let inside = false;
  path.forEach(([x1, y1], k) => {
    const [x0, y0] = path[(k || path.length) - 1];
    if (y0 > one.y !== y1 > one.y && one.x < ((x1 - x0) * (one.y - y0)) / (y1 - y0) + x0) inside = !inside;
  });
  return inside;
}

// Pictures that come into sight, or get another width, are drawn anew.
/** @type {WeakMap<Element, [number, () => void]>} */
const watched = new WeakMap();
const watcher = new ResizeObserver((entries) =>
  entries.forEach(({ target }) => {
    const [width, act] = watched.get(target) || [0, () => undefined];
    watched.set(target, [target.clientWidth, act]);
    if (target.clientWidth && Math.abs(target.clientWidth - width) > 1) act();
  })
);

/** @param {HTMLElement} holder @param {() => void} act */
function watchWidth(holder, act) {
  if (!watched.has(holder)) watched.set(holder, [holder.clientWidth, act]);
  watcher.observe(holder);
}
