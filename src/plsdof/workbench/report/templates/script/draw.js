// When to draw: words change at once, pictures in sight with the next frame, others when there is time.
let slider;
let charts = [];
const page = document.documentElement.dataset;
const whenIdle = (act) =>
  window.requestIdleCallback ? requestIdleCallback(act, { timeout: 200 }) : setTimeout(act, 30);
let waiting = false;

// Every picture remembers what it shows: it is old when something it depends on has changed.
function add(id, draw, ...depends) {
  const holder = document.getElementById(id);
  if (!holder) return;
  charts.push({ holder: holder, draw: draw, depends: ["content", "theme", ...depends], shows: "" });
  watchWidth(holder, () => {
    charts.filter((one) => one.holder === holder && !/** @type {Holder} */ (holder).layout?.width).forEach((one) => (one.shows = ""));
    refresh();
  });
}

const wanted = (chart) => chart.depends.map((name) => state[name]).join(" ");
const isOld = (chart) => chart.shows !== wanted(chart) && chart.holder.clientWidth > 0;

function render(chart, width) {
  const [data, plan] = chart.draw(width || chart.holder.clientWidth);
  if (width) Object.assign(plan, { width: width, height: Math.round(plan.height * (width < 400 ? 0.75 : 0.9)) });
  else if (chart.holder.dataset.height) plan.height = Number(chart.holder.dataset.height);
  if (chart.depends.includes("row")) plan.on = ROWS;
  plot(chart.holder, data, plan);
  chart.shows = wanted(chart);
}

// A click on a row of any picture brings this row into view; a line drawn around rows marks them.
const ROWS = {
  click: (row) => pick("row", row),
  select: (found) => mark(found, "line"),
  mark: (row) => mark(state.marked.includes(row) ? state.marked.filter((one) => one !== row) : [...state.marked, row]),
  brush: (ends) => document.dispatchEvent(new CustomEvent("brushed", { detail: ends })),
};

function mark(found, by) {
  state.marked = [...new Set(found)].sort((a, b) => a - b);
  page.complete = "false";
  document.dispatchEvent(new CustomEvent("marked", { detail: by }));
  refresh();
}

function isNear(chart) {
  const box = chart.holder.getBoundingClientRect();
  // The bar with the slider covers so many pixels.
  return box.bottom > 80 && box.top < window.innerHeight;
}

let told = false;

function describeAll() {
  told = true;
  [describe, explain, numbersTable, meritTable, strongestTable, suspectsTable].forEach((act) => act());
}

function drawRest() {
  if (!told && content) describeAll();
  const next = charts.find(isOld);
  page.complete = String(!next);
  if (!next) return;
  render(next);
  whenIdle(drawRest);
}

function drawInSight() {
  charts.filter((chart) => isOld(chart) && isNear(chart)).forEach((chart) => render(chart));
  performance.mark("seen");
}

function refresh() {
  if (waiting || page.ready !== "true") return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    drawInSight();
    whenIdle(drawRest);
  });
}

// Controls: the slider, the row in view, the two components.
function show() {
  state.place = first + Number(slider.value);
  page.complete = "false";
  document.dispatchEvent(new CustomEvent("placed"));
  // The line beside the slider at once, tables when the pictures in sight are drawn.
  describe();
  told = false;
  refresh();
}

function step(change) {
  slider.value = String(Number(slider.value) + change);
  show();
}

function pick(what, value) {
  state[what] = value;
  state.picked = state.picked || what === "row";
  const control = /** @type {HTMLSelectElement|null} */ (document.getElementById("pick-" + what));
  if (control) control.value = String(value);
  page.complete = "false";
  if (what === "row") document.dispatchEvent(new CustomEvent("picked"));
  refresh();
}

function choices(what, options) {
  const control = /** @type {HTMLSelectElement|null} */ (document.getElementById("pick-" + what));
  if (!control) return;
  control.replaceChildren(
    ...options.map(([value, text]) => {
      const one = element("option", text);
      one.value = String(value);
      return one;
    })
  );
  control.value = String(state[what]);
  control.addEventListener("change", () => pick(what, Number(control.value)));
}

// Controls and pictures of what was taken last; the row in view stays if it is still there.
function begin(found) {
  const before = content && rows.number[state.row];
  const marked = content ? state.marked.map((i) => rows.number[i]) : [];
  take(found);
  state.place = chosen;
  slider = document.getElementById("model");
  slider.addEventListener("input", show);
  document.getElementById("less").addEventListener("click", () => step(-1));
  document.getElementById("more").addEventListener("click", () => step(1));
  document.getElementById("back").addEventListener("click", () => step(chosen - state.place));
  // Otherwise it is the most unusual one of the chosen model.
  const [suspect] = details[chosen - first].rows.suspects;
  const row = [before, suspect && suspect.row].map((one) => rows.number.indexOf(one)).find((i) => i >= 0);
  state.row = row === undefined ? 0 : row;
  state.marked = marked.map((one) => rows.number.indexOf(one)).filter((i) => i >= 0);
  choices("row", rows.number.map((_, i) => [i, rows.labels ? cut(rowName(i), 30) : "row " + rowName(i)]));
  if (components) {
    state.across = Math.min(state.across, components.count);
    state.up = Math.min(state.up, components.count);
    const numbers = Array.from({ length: components.count }, (_, k) => [k + 1, String(k + 1)]);
    ["across", "up"].forEach((what) => choices(what, numbers));
  }
  addCharts();
  readTheme();
  describeAll();
}

function addCharts() {
  charts = [];
  add("chart-dof", drawDof, "place");
  add("chart-criterion", drawCriterion, "place");
  add("chart-errors", drawErrors, "place");
  add("chart-explained", drawExplained, "place");
  add("chart-recipes", drawRecipes);
  add("chart-permutation", drawPermutation);
  add("chart-coefficients", drawCoefficients, "place");
  add("chart-vip", drawVip, "place");
  add("chart-selectivity", drawSelectivity, "place");
  add("chart-fit", drawFit, "place", "row", "marked");
  add("chart-residuals", drawResiduals, "place", "row", "marked");
  add("chart-leverage", drawLeverage, "place", "row", "marked");
  add("chart-distance", drawDistance, "place", "row", "marked");
  add("chart-t2-parts", () => drawContributions("t2", "T²"), "place", "row");
  add("chart-q-parts", () => drawContributions("q", "Q"), "place", "row");
  add("chart-scores", drawScores, "across", "up", "row", "marked");
  add("chart-loadings", () => drawLoadings("loadings", "loading"), "across", "up");
  add("chart-weights", () => drawLoadings("weights", "weight"), "across", "up");
  add("chart-opls-scores", drawRotated, "row", "marked");
  add("chart-opls-s", drawSPlot);
  add("chart-opls-loadings", () => overFeatures([{ name: "loading", values: content.opls.loadings, style: 0 }], "loading", everyFeature, null));
  const tables = spectra ? spectra.tables : [];
  tables.forEach((table) => add("chart-spectra-" + table.kind, () => drawSpectra(table), "row", "picked", "marked", "drag"));
}

window.addEventListener("scroll", refresh, { passive: true });

// Light or dark, as the reader's system says; on paper always light.
function recolor() {
  readTheme();
  page.complete = "false";
  refresh();
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);

// Paper is narrower than most screens: draw for its width, then for the screen again.
const paper = (chart) => (chart.holder.closest(".pair") ? 320 : 660);

function redraw(forPaper) {
  document.documentElement.classList.toggle("on-paper", forPaper);
  // On paper nothing is folded.
  document.querySelectorAll("details").forEach((one) => (one.open = forPaper));
  readTheme();
  charts.forEach((chart) => render(chart, forPaper ? paper(chart) : 0));
}

window.addEventListener("beforeprint", () => redraw(true));
window.addEventListener("afterprint", () => redraw(false));
