// New rows: predictions with intervals and status, and checks of the model.
async function showPredictions() {
  try {
    const { file, released, found } = await ask("/predictions?kind=predict");
    const by = released ? "predicted with the released model" : "predicted with the current model; release a trial to keep using that one";
    const parts = [element("p", element("bdi", file), ", " + by + ". ", made("a", { className: "button", href: "/file?kind=predictions", download: "" }, "Save as Excel"))];
    const names = Object.keys(found);
    const one = found[names[0]].columns;
    const head = ["Sample", ...names.flatMap((name) => [name, ...limits(found[name]).map((kind) => LIMITS[kind] || kind), ...(found[name].columns.observed ? ["measured"] : []), "status"])];
    const body = one.row.slice(0, 500).map((row, i) => {
      const cells = names.flatMap((name) => predictionCells(found[name], i));
      return element("tr", made("th", { scope: "row" }, element("bdi", one.id ? cut(String(one.id[i]), 30) : "row " + row)), ...cells);
    });
    parts.push(made("div", { className: "scroll tall", tabIndex: 0, role: "region", ariaLabel: "Predictions" }, made("table", { id: "predictions" }, element("thead", element("tr", ...head.map((name) => heading(name, "col")))), element("tbody", ...body))));
    if (one.row.length > 500) parts.push(element("p", "The first 500 of " + one.row.length + " samples; the Excel file has all."));
    for (const name of names) {
      if (found[name].assumptions) parts.push(made("p", { className: "assumes" }, found[name].assumptions));
      parts.push(...found[name].notes.map((text) => made("p", { className: "note" }, text)));
    }
    byId("predicted").replaceChildren(...parts);
  } catch (error) {
    complain(error);
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

async function showChecks() {
  try {
    const { file, found } = await ask("/predictions?kind=check");
    byId("checked").replaceChildren(element("p", element("bdi", file)), ...Object.entries(found).flatMap(([name, one]) => checkParts(name, one)));
    const [one] = Object.values(found);
    byId("control").hidden = !one.chart.errors.length;
    if (one.chart.errors.length) drawCheck(byId("chart-check"), one.chart);
  } catch (error) {
    complain(error);
  }
}

const TESTS = { bias: "Bias", sep: "SEP", slope: "Slope (t)", coverage: "Outside their interval", unlike: "Unlike the calibration" };

function checkParts(name, one) {
  const body = one.tests.map((test) => {
    const word = test.passed === null ? "not tested" : test.passed ? "passed" : "failed";
    const verdict = made("td", { className: "text " + { passed: "good", failed: "bad" }[word] }, word);
    const numbers = [test.value, test.limit].map((value) => element("td", value === null ? "" : brief(value)));
    return element("tr", heading(TESTS[test.name] || test.name, "row"), ...numbers, verdict, made("td", { className: "text recipe" }, test.text));
  });
  const head = ["Test", "Value", "Limit", "", ""].map((text) => heading(text, "col"));
  const table = element("table", element("thead", element("tr", ...head)), element("tbody", ...body));
  return [
    element("h3", element("bdi", name)),
    made("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "Tests" }, table),
    ...one.notes.map((text) => made("p", { className: "note" }, text)),
    adjustForm(one),
  ];
}

// A correction wants a reason; one that is not significant is refused.
function adjustForm(one) {
  if (one.adjusted) {
    const back = button("Take it back", () => adjust({ trial: one.trial, kind: "none" }));
    return made("p", { className: "row" }, element("strong", "The " + one.adjusted.kind + " is adjusted: "), element("bdi", one.adjusted.why), back);
  }
  const kind = element("select", ...["bias", "slope"].map((text) => element("option", text)));
  const why = made("input", { type: "text", required: true, maxLength: 200 });
  const form = made("form", { className: "row" }, element("label", "Adjust the ", kind), element("label", "Reason ", why), made("button", { type: "submit" }, "Adjust"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    adjust({ trial: one.trial, kind: kind.value, why: why.value });
  });
  return form;
}

async function adjust(event) {
  if (await send(Object.assign({ do: "adjust" }, event))) showChecks();
}
