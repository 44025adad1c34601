// When to draw: pictures in sight with the next frame, others when there is time.
let charts = [];
const page = document.documentElement.dataset;
const whenIdle = (act) => (window.requestIdleCallback ? requestIdleCallback(act, { timeout: 200 }) : setTimeout(act, 30));
let waiting = false;
// What follows the pictures in sight, such as words below them.
let later = [];

// Every picture remembers what it shows: it is old when something it depends on has changed.
function add(id, draw, ...depends) {
  const holder = byId(id);
  if (!holder) return;
  charts = charts.filter((one) => one.holder.isConnected && one.holder !== holder);
  charts.push({ holder: holder, draw: draw, depends: ["content", "theme", ...depends], shows: "" });
  watchWidth(holder, () => {
    charts.filter((one) => one.holder === holder && !/** @type {Holder} */ (holder).layout?.width).forEach((one) => (one.shows = ""));
    refresh();
  });
}

const wanted = (chart) => chart.depends.map((name) => state[name]).join(" ");
const isOld = (chart) => chart.shows !== wanted(chart) && chart.holder.clientWidth > 0;

function render(chart, width) {
  const [data, plan] = chart.draw();
  if (width) Object.assign(plan, { width: width, height: Math.round(plan.height * (width < 400 ? 0.75 : 0.9)) });
  else if (chart.holder.dataset.height) plan.height = Number(chart.holder.dataset.height);
  if (chart.depends.includes("row")) plan.on = ROWS;
  plot(chart.holder, data, plan);
  chart.shows = wanted(chart);
}

function isNear(chart) {
  const box = chart.holder.getBoundingClientRect();
  // The bar with the slider covers so many pixels.
  return box.bottom > 80 && box.top < window.innerHeight;
}

function drawRest() {
  later.splice(0).forEach((act) => act());
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
  page.complete = "false";
  requestAnimationFrame(() => {
    waiting = false;
    drawInSight();
    whenIdle(drawRest);
  });
}

// A page whose data are in it.
function drawPage() {
  drawInSight();
  page.ready = "true";
  performance.mark("ready");
  whenIdle(drawRest);
}

window.addEventListener("scroll", refresh, { passive: true });

// Light or dark, as the reader's system says; on paper always light.
window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  readTheme();
  refresh();
});

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
