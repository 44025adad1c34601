// The controls of a page of models: the slider, the row in view, rows that are marked, two components.
let slider;

// A click on a row of any picture brings this row into view; a line drawn around rows marks them.
const ROWS = {
  click: (row) => pick("row", row),
  select: (found) => mark(found, "line"),
  mark: (row) => mark(state.marked.includes(row) ? state.marked.filter((one) => one !== row) : [...state.marked, row]),
  brush: (ends) => document.dispatchEvent(new CustomEvent("brushed", { detail: ends })),
};

function mark(found, by) {
  state.marked = [...new Set(found)].sort((a, b) => a - b);
  document.dispatchEvent(new CustomEvent("marked", { detail: by }));
  refresh();
}

function show() {
  state.place = first + Number(slider.value);
  document.dispatchEvent(new CustomEvent("placed"));
  // The line beside the slider at once, other words when the pictures in sight are drawn.
  describe();
  later = [explain];
  refresh();
}

function step(change) {
  slider.value = String(Number(slider.value) + change);
  show();
}

function pick(what, value) {
  state[what] = value;
  state.picked = state.picked || what === "row";
  const control = byId("pick-" + what);
  if (control) control.value = String(value);
  if (what === "row") document.dispatchEvent(new CustomEvent("picked"));
  refresh();
}

function choices(what, options) {
  const control = byId("pick-" + what);
  if (!control) return;
  control.replaceChildren(...options.map(([value, text]) => made("option", { value: String(value) }, text)));
  control.value = String(state[what]);
  control.addEventListener("change", () => pick(what, Number(control.value)));
}

// Controls and pictures of what was taken last; the row in view stays if it is still there.
function begin(found) {
  const before = content && rows.number[state.row];
  const marked = content ? state.marked.map((i) => rows.number[i]) : [];
  take(found);
  state.place = chosen;
  slider = byId("model");
  slider.addEventListener("input", show);
  byId("less").addEventListener("click", () => step(-1));
  byId("more").addEventListener("click", () => step(1));
  byId("back").addEventListener("click", () => step(chosen - state.place));
  // Unless somebody picked it, it is the most unusual one of the chosen model.
  const [suspect] = rows.suspects;
  const row = [state.picked ? before : undefined, suspect && suspect.row, before].map((one) => rows.number.indexOf(one)).find((i) => i >= 0);
  state.row = row === undefined ? 0 : row;
  state.marked = marked.map((one) => rows.number.indexOf(one)).filter((i) => i >= 0);
  choices("row", rows.number.map((_, i) => [i, cut(rowWords(i), 30)]));
  if (components) {
    state.across = Math.min(state.across, components.count);
    state.up = Math.min(state.up, components.count);
    const numbers = Array.from({ length: components.count }, (_, k) => [k + 1, String(k + 1)]);
    ["across", "up"].forEach((what) => choices(what, numbers));
  }
  readTheme();
  addCharts();
  describe();
  explain();
}

function addCharts() {
  add("chart-dof", drawDof, "place");
  add("chart-criterion", drawCriterion, "place");
  add("chart-errors", drawErrors, "place");
  add("chart-explained", drawExplained, "place");
  add("chart-recipes", drawRecipes);
  add("chart-windows", () => overFeatures([{ name: "weight", values: content.recipes.windows, style: 0, fill: "zero" }], "weight, 1 if even", everyFeature, 1));
  add("chart-permutation", drawPermutation);
  add("chart-coefficients", () => drawCoefficients(MOST_BARS), "place");
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
  (spectra ? spectra.tables : []).forEach((table) => add("chart-spectra-" + table.kind, () => drawSpectra(table), "row", "picked", "marked", "drag"));
}
