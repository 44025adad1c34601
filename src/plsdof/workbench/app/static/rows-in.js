// New rows: predictions with intervals and status, and checks of the model.
// Only a released model predicts, is checked and is exported.
function isReleased(id) {
  byId("screen-" + id).querySelectorAll(".needs").forEach((one) => (one.hidden = !session.released.length));
  if (session.released.length) return true;
  const message = "Nothing is released yet. A released model does not change any more; only it predicts, is checked and is exported.";
  complain({ message: message, mend: session.trials.some((one) => one.key === session.trial) ? { release: session.trial } : {} }, id);
  return false;
}

const releasedWords = () => session.released.map((one) => one.response + ", " + one.name + " (" + one.words + ")").join("; ");

async function showPredictions() {
  if (!isReleased("predict") || !session.chosen.predict) return;
  try {
    const { file, found } = await ask("/predictions?kind=predict");
    const parts = [element("p", element("bdi", file), ", predicted by ", element("bdi", releasedWords()), ". ", made("a", { className: "button", href: "/file?kind=predictions", download: "" }, "Save as Excel"))];
    const names = Object.keys(found);
    const one = found[names[0]].columns;
    const head = ["Sample", ...names.flatMap((name) => [name, ...limits(found[name]).map((kind) => LIMITS[kind] || kind), ...(found[name].columns.observed ? ["measured"] : []), "status"])];
    const body = one.row.slice(0, 500).map((row, i) => [element("bdi", one.id ? cut(String(one.id[i]), 30) : "row " + row), ...names.flatMap((name) => predictionCells(found[name], i))]);
    parts.push(made("div", { className: "scroll tall", tabIndex: 0, role: "region", ariaLabel: "Predictions" }, tableOf(head, body, { id: "predictions" })));
    if (one.row.length > 500) parts.push(element("p", "The first 500 of " + one.row.length + " samples; the Excel file has all."));
    for (const name of names) {
      if (found[name].assumptions) parts.push(made("p", { className: "assumes" }, found[name].assumptions));
      parts.push(...found[name].notes.map((text) => made("p", { className: "note" }, text)));
    }
    byId("predicted").replaceChildren(...parts);
  } catch (error) {
    complain(error, "predict");
  }
}

// Beside a prediction: its interval, or the probability of every class.
const LIMITS = { lower: "from", upper: "to" };
const limits = (one) => Object.keys(one.columns).filter((name) => name in LIMITS || name.startsWith("P("));

function predictionCells(found, i) {
  const { columns: one } = found;
  const shortened = (value) => (typeof value === "number" ? Number(value.toPrecision(6)) : cut(value, 30));
  const value = (name) => element("td", one[name][i] === null ? "" : shortened(one[name][i]));
  const word = one.status ? one.status[i] : one.prediction[i] === null ? "no prediction" : "ok";
  const why = one.reason && one.reason[i] ? ": " + one.reason[i] : "";
  const status = made("td", { className: "text " + (word === "ok" ? "" : "bad") }, word + why);
  return [value("prediction"), ...limits(found).map(value), ...(one.observed ? [value("observed")] : []), status];
}

// The verdict first, then the chart, then the tests.
async function showChecks() {
  if (!isReleased("check") || !session.chosen.check) return;
  try {
    const { file, found } = await ask("/predictions?kind=check");
    byId("checked").replaceChildren(made("p", { className: "facts" }, element("bdi", file), ", by ", element("bdi", releasedWords())), ...Object.entries(found).flatMap(([name, one], k) => checkParts(name, one, k)));
    Object.values(found).forEach((one, k) => one.chart.errors.length && drawCheck(byId("chart-check-" + k), one.chart));
  } catch (error) {
    complain(error, "check");
  }
}

const TESTS = { bias: "Bias", sep: "SEP", slope: "Slope (t)", coverage: "Outside their interval", unlike: "Unlike the calibration" };

function checkParts(name, one, k) {
  const body = one.tests.map((test) => {
    const word = test.passed === null ? "not tested" : test.passed ? "passed" : "failed";
    const verdict = made("td", { className: "text " + { passed: "good", failed: "bad" }[word] }, word);
    const numbers = [test.value, test.limit].map((value) => element("td", value === null ? "" : brief(value)));
    return [TESTS[test.name] || test.name, ...numbers, verdict, made("td", { className: "text recipe" }, test.text)];
  });
  const chart = [element("h3", "Control chart"), made("p", { className: "assumes" }, "Predicted minus measured over the expected size of the error, in the order of the rows. Dashed: warning and action limits."), made("div", { className: "chart", id: "chart-check-" + k, role: "img", ariaLabel: "Errors of the control samples with their limits" })];
  return [
    made("p", { className: "verdict " + (one.passed ? "good" : "bad") }, (one.passed ? "✓ " : "✗ "), element("bdi", name), ": " + one.verdict),
    ...(one.chart.errors.length ? chart : []),
    ...one.notes.map((text) => made("p", { className: "note" }, text)),
    adjustForm(one),
    made("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Tests" }, tableOf(["Test", "Value", "Limit", "", ""], body)),
  ];
}

// A correction wants a reason; one that is not significant is refused.
function adjustForm(one) {
  if (one.adjusted) {
    const back = button("Take it back", () => adjust({ trial: one.trial, kind: "none" }));
    return made("p", { className: "row" }, element("strong", "The " + one.adjusted.kind + " is adjusted: "), element("bdi", one.adjusted.why), back);
  }
  const failed = ["bias", "slope"].filter((kind) => one.tests.some((test) => test.name === kind && test.passed === false));
  if (!failed.length) return made("p", { className: "assumes", id: "adjust" }, "Neither bias nor slope is significant by these samples, so that there is nothing to adjust: it would add their noise to every prediction.");
  const kind = element("select", ...failed.map((text) => element("option", text)));
  const why = made("input", { type: "text", required: true, maxLength: 200 });
  const form = made("form", { className: "row", id: "adjust" }, element("label", "Adjust the ", kind), element("label", "Reason ", why), made("button", { type: "submit" }, "Adjust"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    adjust({ trial: one.trial, kind: kind.value, why: why.value });
  });
  return form;
}

async function adjust(event) {
  if (await send(Object.assign({ do: "adjust" }, event))) showChecks();
}

// Files of a released model, and what gives it again elsewhere.
const FILES = { model: "Model file", report: "Report", out: "Workbook", plot: "Picture" };

async function showExport() {
  listSessions();
  if (!isReleased("out")) return;
  const lines = session.released.map((one) => element("tr", heading(element("bdi", one.response), "row"), made("td", { className: "text" }, one.name + ": " + one.words), made("td", { className: "acts" }, ...Object.entries(FILES).map(([kind, text]) => button(text, () => save(kind, one.response))))));
  byId("files").replaceChildren(element("table", element("tbody", ...lines)));
  try {
    const found = await Promise.all(session.released.map((one) => ask("/export?response=" + encodeURIComponent(one.response))));
    byId("command").textContent = found.map((one) => one.command.map(quoted).join(" ")).join("\n");
    byId("python").textContent = found.map((one) => one.python).join("\n\n");
  } catch (error) {
    complain(error, "out");
  }
}
