// What everything shares: the data, text, colours, axes and small parts of pictures.
let content, models, details, features, rows, criterion, components, spectra, test, first, chosen;
// An average comes after all models; curves leave it out, and its components are those of most weight.
let average, single, byComponents, isNamed, everyFeature, range;
const componentsAt = (place) => models.parameter[place === average ? content.heaviest : place];
// What the reader looks at: the model on the slider, a row, rows that are marked, and two components.
const state = { content: 0, place: 0, row: 0, picked: false, marked: [], across: 1, up: 2, theme: 0, drag: "zoom" };

// Take what is to be shown; pictures drawn before are old.
function take(found) {
  content = found;
  ({ models, details, features, rows, criterion, components, spectra, test, first, chosen, average } = content);
  byComponents = content.parameter_name === "n_components";
  single = average === null ? models.parameter.length : average;
  isNamed = features.layout === "names";
  everyFeature = features.names.map((_, j) => j);
  // The same window for all models, so that the points move and not the axes.
  range = around([].concat(rows.observed, ...details.map((one) => one.rows.fitted)));
  state.content += 1;
}

// Text. Numbers are shown as they are in the data, so that both say the same.
const shown = (value) => (value === null ? "not defined" : String(value));
const brief = (value) => (value === null ? "not defined" : String(Number(value.toPrecision(3))));
const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
const isNarrow = () => window.innerWidth < 700;
const responseName = () => cut(content.response, isNarrow() ? 20 : 30);

/** @param {string} id @returns {any} */
const byId = (id) => document.getElementById(id);

// Parts of a page, with their properties, attributes and what they listen to.
function made(name, facts, ...children) {
  const one = /** @type {any} */ (document.createElement(name));
  one.append(...children);
  for (const [key, value] of Object.entries(facts)) {
    if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else if (key in one && key !== "list") one[key] = value;
    else one.setAttribute(key, value);
  }
  return one;
}

const element = (name, ...children) => made(name, {}, ...children);

function number(path) {
  const value = path.split(".").reduce((one, key) => one[key], content);
  return made("span", { "data-number": path }, shown(value));
}

// Tables that are drawn but not read come as 32-bit floats; see report/_numbers.py.
function unpacked(one) {
  if (!one.values) one.values = new Float32Array(Uint8Array.from(atob(one.data), (c) => c.charCodeAt(0)).buffer);
  return one.values;
}

const line = (one, i) => Array.from(unpacked(one).slice(i * one.columns, (i + 1) * one.columns));
const column = (one, j) => Array.from(unpacked(one)).filter((_, k) => k % one.columns === j);

// Colours follow the styles, which follow the reader's choice of light or dark.
const DASHES = ["solid", "dash", "dashdot", "dot", "longdash"];
const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "x"];
/** @type {any} */
let theme = {};

function readTheme() {
  theme = themeOf();
  state.theme += 1;
}

// Axes.
/** @param {string} title @param {Partial<Axis>} [more] @returns {Axis} */
const axis = (title, more) => Object.assign({ title: title }, more);
/** @param {string} title @param {Partial<Axis>} [more] @returns {Axis} */
const zeroAxis = (title, more) => axis(title, Object.assign({ zeroline: true }, more));

// A wavelength is a name: 12000, neither 12k nor 1.2 times ten to the fourth.
/** @param {string} title @param {Partial<Axis>} [more] @returns {Axis} */
const wavelengthAxis = (title, more) => axis(title, Object.assign({ plain: true }, more));

/** @param {Axis} x @param {Axis} y @param {Partial<Plan>} [more] @returns {Plan} */
const layout = (x, y, more) => Object.assign({ x: x, y: y, height: isNarrow() ? 280 : 330, drag: false, showlegend: true }, more);

// Ticks of a logarithmic axis: powers of ten, with 2 and 5 between where there are few.
function logAxis(title, values, more) {
  const known = values.filter((v) => v !== null && v > 0).map(Math.log10);
  const low = Math.floor(Math.min(...known));
  const high = Math.ceil(Math.max(...known));
  const steps = high - low > 3 ? [1] : [1, 2, 5];
  const every = Math.ceil((high - low) / 8);
  const ticks = [];
  for (let k = low; k <= high; k += every) ticks.push(...steps.map((s) => Number(s + "e" + k)));
  const text = ticks.map((v) => (high - low > 5 ? "10" + raised(Math.round(Math.log10(v))) : String(v)));
  return axis(title, Object.assign({ log: true, tickvals: ticks, ticktext: text }, more));
}

const valueAxis = (title, isLog, values, more) => (isLog ? logAxis(title, values, more) : axis(title, more));

// Small parts.
/** @returns {Trace} */
const ring = (x, y) => ({ x: [x], y: [y], mode: "markers", marker: { symbol: "circle-open", size: 15, color: theme.ink, width: 2.5 }, showlegend: false });

/** @param {any} [more] @returns {Trace[]} */
function band(x, low, high, fillcolor, more) {
  const base = { x: x, mode: "lines", line: { width: 0 }, showlegend: false };
  return [Object.assign({}, base, { y: low }), Object.assign({}, base, { y: high, fill: "before", fillcolor: fillcolor }, more)];
}

/** @param {"x"|"y"} direction @param {number|null|undefined} value */
const limit = (direction, value) => (value === null || value === undefined ? [] : [{ [direction]: value, style: "dash" }]);

function around(values) {
  const known = values.filter((v) => v !== null && v !== undefined);
  if (!known.length) return [-1, 1];
  const ends = known.reduce((e, v) => [Math.min(e[0], v), Math.max(e[1], v)], [Infinity, -Infinity]);
  const edge = 0.05 * (ends[1] - ends[0]) || 0.5;
  return [ends[0] - edge, ends[1] + edge];
}
