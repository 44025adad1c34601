// When to draw: words change at once, pictures in sight with the next frame, others when there is time.
const slider = document.getElementById("model");
const charts = [];
const page = document.documentElement.dataset;
const whenIdle = (act) =>
  window.requestIdleCallback ? requestIdleCallback(act, { timeout: 200 }) : setTimeout(act, 30);
let waiting = false;

// Every picture remembers what it shows: it is old when something it depends on has changed.
function add(id, draw, ...depends) {
  const holder = document.getElementById(id);
  if (holder) charts.push({ holder: holder, draw: draw, depends: ["theme", ...depends], shows: "" });
}

const wanted = (chart) => chart.depends.map((name) => state[name]).join(" ");
const isOld = (chart) => chart.shows !== wanted(chart);

function render(chart, width) {
  const [data, plan] = chart.draw(width || chart.holder.clientWidth);
  if (width) Object.assign(plan, { width: width, height: Math.min(plan.height, width < 400 ? 235 : 300) });
  Plotly.react(chart.holder, data, plan, { displayModeBar: false, responsive: !width });
  // A click on a row of any picture brings this row into view.
  if (!chart.shows && chart.depends.includes("row")) {
    chart.holder.on("plotly_click", (event) => {
      const row = event.points[0].customdata;
      if (Number.isInteger(row)) pick("row", row);
    });
  }
  chart.shows = wanted(chart);
}

function isNear(chart) {
  const box = chart.holder.getBoundingClientRect();
  return box.bottom > -100 && box.top < window.innerHeight + 100;
}

function tell() {
  [describe, explain, numbersTable, meritTable, strongestTable, suspectsTable].forEach((act) => act());
}

function drawRest() {
  const next = charts.find(isOld);
  page.complete = String(!next);
  if (!next) return;
  render(next);
  whenIdle(drawRest);
}

function drawInSight() {
  charts.filter((chart) => isOld(chart) && isNear(chart)).forEach((chart) => render(chart));
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
  tell();
  refresh();
}

function step(change) {
  slider.value = String(Number(slider.value) + change);
  show();
}

function pick(what, value) {
  state[what] = value;
  state.picked = state.picked || what === "row";
  const control = document.getElementById("pick-" + what);
  if (control) control.value = String(value);
  page.complete = "false";
  refresh();
}

function choices(what, options) {
  const control = document.getElementById("pick-" + what);
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

slider.addEventListener("input", show);
document.getElementById("less").addEventListener("click", () => step(-1));
document.getElementById("more").addEventListener("click", () => step(1));
document.getElementById("back").addEventListener("click", () => step(chosen - state.place));
window.addEventListener("scroll", refresh, { passive: true });

// The first row in view is the most unusual one of the chosen model.
const [suspect] = details[chosen - first].rows.suspects;
state.row = Math.max(0, suspect ? rows.number.indexOf(suspect.row) : 0);
choices("row", rows.number.map((_, i) => [i, rows.labels ? cut(rowName(i), 30) : "row " + rowName(i)]));
if (components) {
  state.up = Math.min(2, components.count);
  const numbers = Array.from({ length: components.count }, (_, k) => [k + 1, String(k + 1)]);
  ["across", "up"].forEach((what) => choices(what, numbers));
}

add("chart-dof", drawDof, "place");
add("chart-criterion", drawCriterion, "place");
add("chart-errors", drawErrors, "place");
add("chart-permutation", drawPermutation);
add("chart-coefficients", drawCoefficients, "place");
add("chart-vip", drawVip, "place");
add("chart-selectivity", drawSelectivity, "place");
add("chart-fit", drawFit, "place", "row");
add("chart-residuals", drawResiduals, "place", "row");
add("chart-leverage", drawLeverage, "place", "row");
add("chart-distance", drawDistance, "place", "row");
add("chart-t2-parts", () => drawContributions("t2", "T²"), "place", "row");
add("chart-q-parts", () => drawContributions("q", "Q"), "place", "row");
add("chart-scores", drawScores, "across", "up", "row");
add("chart-loadings", () => drawLoadings("loadings", "loading"), "across", "up");
add("chart-weights", () => drawLoadings("weights", "weight"), "across", "up");
if (spectra) spectra.tables.forEach((table) => add("chart-spectra-" + table.kind, () => drawSpectra(table), "row", "picked"));

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
  readTheme();
  charts.forEach((chart) => render(chart, forPaper ? paper(chart) : 0));
}

window.addEventListener("beforeprint", () => redraw(true));
window.addEventListener("afterprint", () => redraw(false));

readTheme();
tell();
// The library is the last script of the page.
document.addEventListener("DOMContentLoaded", () => {
  drawInSight();
  page.ready = "true";
  performance.mark("ready");
  whenIdle(drawRest);
});
