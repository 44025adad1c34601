// Trials: every model of the session, two side by side, one released.
let compared = [];
const hasResult = (one) => Boolean(one.summary && one.summary.shown);
const ERRORS = Object.assign({ misclassified: "Misclassified" }, RMSE);
const kinds = () => Object.keys(ERRORS).filter((kind) => session.trials.some((one) => hasResult(one) && kind in one.summary.shown));

// What came out of trials of an earlier day is computed when somebody looks.
async function showTrials() {
  listTrials();
  if (session.trials.every((one) => one.summary)) return;
  try {
    session = await ask("/trials");
    listTrials();
  } catch (error) {
    complain(error);
  }
}

function listTrials() {
  const keys = session.trials.map((one) => one.key);
  compared = compared.filter((key) => keys.includes(key));
  fillTable("trials", ["", "Trial", "Response", "Made with", "Samples", "Model", "DoF", ...kinds().map((kind) => ERRORS[kind]), "Note", ""], session.trials.map(trialRow));
  showCompared();
}

function trialRow(one, i) {
  const summary = hasResult(one) ? one.summary : { shown: {}, n: "", dof: "", model: (one.summary && one.summary.error) || "…" };
  const box = made("input", { type: "checkbox", "aria-label": "Compare trial " + (i + 1), checked: compared.includes(one.key), disabled: !hasResult(one) });
  box.addEventListener("change", () => {
    compared = box.checked ? [...compared, one.key].slice(-2) : compared.filter((key) => key !== one.key);
    listTrials();
  });
  const note = made("input", { type: "text", value: one.note, maxLength: 200, "aria-label": "Note on trial " + (i + 1) });
  note.addEventListener("change", () => send({ do: "note", trial: one.key, text: note.value }));
  const now = one.key === session.trial;
  const acts = element("span",
    button("Open", () => send({ do: "open", trial: one.key }), { disabled: now, "aria-label": "Open trial " + (i + 1) }), " ",
    button(one.released ? "Released" : "Release", () => send({ do: "release", trial: one.key, on: !one.released }), { ariaPressed: String(one.released), "aria-label": (one.released ? "Released" : "Release") + " trial " + (i + 1) }));
  return [box, i + 1 + (now ? " (now)" : ""), element("bdi", one.response), element("bdi", one.words), summary.n, summary.model, summary.dof, ...kinds().map((kind) => summary.shown[kind] || ""), note, acts];
}

// Two trials of one response side by side, with the difference on the samples that both have.
async function showCompared() {
  const both = compared.map((key) => session.trials.find((one) => one.key === key));
  const alike = both.length === 2 && both[0].response === both[1].response;
  byId("chart-trials").hidden = !alike;
  if (both.length < 2) return byId("compared").replaceChildren();
  if (!alike) return byId("compared").replaceChildren(made("p", { className: "note" }, "These two predict different responses, whose errors cannot be compared."));
  const number = (one) => "Trial " + (session.trials.indexOf(one) + 1);
  const { words } = await ask("/paired?before=" + compared[0] + "&trial=" + compared[1]);
  byId("compared").replaceChildren(element("h3", number(both[0]) + " and " + number(both[1])), made("p", { id: "paired" }, words));
  add("chart-trials", () => drawCompared(both, number));
  return refresh();
}

function drawCompared(both, number) {
  const data = both.map((one, i) => ({ x: one.summary.parameters, y: one.summary.rmsecv, name: number(one), mode: "lines+markers", line: { color: theme.lines[i], dash: DASHES[i], width: 2 }, marker: { symbol: SYMBOLS[i], size: 7 } }));
  return [data, layout(axis("size", { tozero: true }), axis("misclassified" in both[0].summary.errors ? "share misclassified" : "RMSECV"))];
}
