// Trials: every model of the session, two side by side, one released.
let compared = [];
const hasResult = (one) => Boolean(one.summary && one.summary.errors);
const kinds = () => Object.keys(ERRORS).filter((kind) => session.trials.some((one) => hasResult(one) && kind in one.summary.errors));

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
  const head = ["Compare", "Trial", "Made with", "Samples", "Model", "DoF", ...kinds().map((kind) => ERRORS[kind]), "Note", ""].map((name) => heading(name, "col"));
  byId("trials").tHead.replaceChildren(element("tr", ...head));
  byId("trials").tBodies[0].replaceChildren(...session.trials.map(trialRow));
  showCompared();
}

function trialRow(one, i) {
  const summary = hasResult(one) ? one.summary : { errors: {}, n: "", model: (one.summary && one.summary.error) || "…", dof: null, dof_range: "" };
  const box = made("input", { type: "checkbox", "aria-label": "Compare trial " + (i + 1), checked: compared.includes(one.key), disabled: !hasResult(one) });
  box.addEventListener("change", () => {
    compared = box.checked ? [...compared, one.key].slice(-2) : compared.filter((key) => key !== one.key);
    listTrials();
  });
  const note = made("input", { type: "text", value: one.note, maxLength: 200, "aria-label": "Note on trial " + (i + 1) });
  note.addEventListener("change", () => send({ do: "note", trial: one.key, text: note.value }));
  const now = one.key === session.trial;
  const acts = [
    button("Open", () => send({ do: "open", trial: one.key }), { disabled: now, "aria-label": "Open trial " + (i + 1) }),
    button(one.released ? "Released" : "Release", () => send({ do: "release", trial: one.key, on: !one.released }), { ariaPressed: String(one.released), "aria-label": "Release trial " + (i + 1) }),
  ];
  const errors = kinds().map((kind) => element("td", summary.errors[kind] === undefined ? "" : brief(summary.errors[kind])));
  const facts = [made("td", { className: "text recipe" }, element("bdi", one.words)), element("td", String(summary.n)), element("td", summary.model), element("td", summary.dof === null ? "" : summary.dof_range || brief(summary.dof))];
  return made("tr", { className: now ? "chosen" : "" }, element("td", box), heading(i + 1 + (now ? " (now)" : ""), "row"), ...facts, ...errors, element("td", note), made("td", { className: "acts" }, ...acts));
}

function showCompared() {
  const both = compared.map((key) => session.trials.find((one) => one.key === key));
  byId("chart-trials").hidden = both.length < 2;
  if (both.length < 2) return byId("compared").replaceChildren();
  const number = (one) => "Trial " + (session.trials.indexOf(one) + 1);
  const lines = [["Made with", (one) => one.words], ["Samples", (one) => one.summary.n], ["Model", (one) => one.summary.model], ["Degrees of Freedom", (one) => one.summary.dof_range || brief(one.summary.dof)], ["Errors", errorsOf], ["Note", (one) => one.note]];
  const body = lines.map(([name, of]) => element("tr", heading(name, "row"), ...both.map((one) => made("td", { className: "text recipe" }, element("bdi", String(of(one)))))));
  byId("compared").replaceChildren(element("h3", "Side by side"), element("table", element("thead", element("tr", heading("", "col"), ...both.map((one) => heading(number(one), "col")))), element("tbody", ...body)));
  readTheme();
  const data = both.map((one, i) => ({ x: one.summary.parameters, y: one.summary.rmsecv, name: number(one), mode: "lines+markers", line: { color: theme.lines[i], dash: DASHES[i], width: 2 }, marker: { symbol: SYMBOLS[i], size: 7 } }));
  plot(byId("chart-trials"), data, layout(axis("number of components", { tozero: true }), axis(both[0].summary.errors.misclassified === undefined ? "RMSECV" : "share misclassified")));
}
