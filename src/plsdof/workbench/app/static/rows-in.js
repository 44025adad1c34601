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

// The samples that are listed; a workbook has all.
const MOST_PREDICTED = 500;

async function showPredictions() {
  if (!isReleased("predict") || !session.chosen.predict) return;
  try {
    const { file, found } = await ask("/predictions?kind=predict");
    const all = /** @type {any[]} */ (Object.values(found));
    const { samples } = all[0];
    const columns = all.flatMap((one) => Object.entries(one.shown));
    const body = samples.slice(0, MOST_PREDICTED).map((name, i) => [element("bdi", cut(name, 30)), ...columns.map(([head, values]) => made("td", { className: head !== "Status" ? "" : values[i] === "ok" ? "text" : "text bad" }, values[i]))]);
    byId("predicted").replaceChildren(
      element("p", element("bdi", file), ", predicted by ", element("bdi", releasedWords()), ". ", made("a", { className: "button", href: "/file?kind=predictions", download: "" }, "Save as Excel")),
      scrolled("Predictions", tableOf(["Sample", ...columns.map(([head]) => head)], body, { id: "predictions" }), { className: "scroll tall" }),
      ...(samples.length > MOST_PREDICTED ? [element("p", "The first " + MOST_PREDICTED + " of " + samples.length + " samples; the Excel file has all.")] : []),
      ...all.flatMap((one) => [...(one.assumptions ? [made("p", { className: "assumes" }, "± is half of the prediction interval. " + one.assumptions)] : []), ...one.notes.map((text) => made("p", { className: "note" }, text))])
    );
  } catch (error) {
    complain(error, "predict");
  }
}

// The verdict first, then the chart, then the tests.
async function showChecks() {
  if (!isReleased("check") || !session.chosen.check) return;
  try {
    const { file, found } = await ask("/predictions?kind=check");
    byId("checked").replaceChildren(made("p", { className: "facts" }, element("bdi", file), ", by ", element("bdi", releasedWords())), ...Object.entries(found).flatMap(([name, one], k) => checkParts(name, one, k)));
    Object.values(found).forEach((one, k) => add("chart-check-" + k, () => drawCheck(one.chart)));
    refresh();
  } catch (error) {
    complain(error, "check");
  }
}

const TESTS = { bias: "Bias", sep: "SEP", slope: "Slope (t)", coverage: "Outside their interval", unlike: "Unlike the calibration", "moving average": "Moving average" };

function checkParts(name, one, k) {
  const body = one.verdicts.map((test) => {
    const word = test.passed === null ? "not tested" : test.passed ? "passed" : "failed";
    const verdict = made("td", { className: "text " + { passed: "good", failed: "bad" }[word] }, word);
    const numbers = [test.value, test.limit].map((value) => element("td", value === null ? "" : brief(value)));
    return [TESTS[test.name] || test.name, ...numbers, verdict, made("td", { className: "text recipe" }, test.text)];
  });
  const chart = [element("h3", "Control chart"), made("p", { className: "assumes" }, "Predicted minus measured over the expected size of the error, in the order of the rows. Dashed: warning and action limits."), made("div", { className: "chart", id: "chart-check-" + k, role: "img", ariaLabel: "Errors of the control samples with their limits" })];
  return [
    made("p", { className: "verdict " + (one.passed ? "good" : "bad") }, (one.passed ? "✓ " : "✗ "), element("bdi", name), ": " + one.message),
    ...(one.chart.errors.length ? chart : []),
    ...one.notes.filter((text) => text !== one.message).map((text) => made("p", { className: "note" }, text)),
    adjustForm(one),
    scrolled("Tests", tableOf(["Test", "Value", "Limit", "", ""], body)),
  ];
}

// A correction wants a reason; one that is not significant is refused.
function adjustForm(one) {
  if (one.adjusted) {
    const back = button("Take it back", () => adjust({ trial: one.trial, kind: "none" }));
    const effect = one.change ? one.change.errors : "";
    return made("p", { className: "row" }, element("strong", "The " + one.adjusted.kind + " is adjusted: "), element("bdi", one.adjusted.why), back, element("span", effect));
  }
  const failed = ["bias", "slope"].filter((kind) => one.verdicts.some((test) => test.name === kind && test.passed === false));
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
  const files = (one) => made("td", { className: "acts text" }, ...Object.entries(FILES).map(([kind, text]) => button(text, () => save(kind, one.response))));
  byId("files").replaceChildren(tableOf(["Response", "Released", "Files"], session.released.map((one) => [element("bdi", one.response), one.name + ": " + one.words, files(one)])));
  try {
    const found = await Promise.all(session.released.map((one) => ask("/export?response=" + encodeURIComponent(one.response))));
    byId("command").textContent = found.map((one) => one.command.map(quoted).join(" ")).join("\n");
    byId("python").textContent = found.map((one) => one.python).join("\n\n");
  } catch (error) {
    complain(error, "out");
  }
}
