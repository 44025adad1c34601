// Samples: marked by a line, a click or a tick; excluded with a reason; brought back.
const MEASURES = [["fitted", "Fitted"], ["left_out", "Cross-validated"], ["residual", "Residual"], ["studentized", "Studentised"], ["leverage", "Leverage"], ["t2", "T²"], ["q", "Q"]];

const targets = () => (state.marked.length ? state.marked : state.picked ? [state.row] : []);

function showMarked() {
  const found = content ? targets() : [];
  byId("marked").hidden = !found.length;
  document.body.classList.toggle("marking", found.length > 0);
  if (!found.length) return;
  const names = found.slice(0, 6).map(rowName).join(", ") + (found.length > 6 ? " and " + (found.length - 6) + " more" : "");
  byId("marked-names").replaceChildren(element("strong", found.length === 1 ? "1 sample: " : found.length + " samples: "), element("bdi", cut(names, 120)));
  document.querySelectorAll("#samples input").forEach((box) => (box.checked = state.marked.includes(Number(box.value))));
}

byId("marked").addEventListener("submit", async (event) => {
  event.preventDefault();
  const numbers = targets().map((i) => rows.number[i]);
  const done = await send({ do: "exclude", rows: numbers, why: byId("why").value });
  if (!done) return byId("why").focus();
  byId("why").value = "";
  clearMarks();
});

function clearMarks() {
  state.picked = false;
  mark([]);
  showMarked();
}

byId("unmark").addEventListener("click", clearMarks);
document.addEventListener("marked", showMarked);
document.addEventListener("picked", showMarked);

function showSamples() {
  const one = here();
  const known = MEASURES.filter(([key]) => one[key]);
  const head = ["", "Sample", "Measured", ...known.map(([, name]) => name), "Beyond the limit of"];
  byId("samples").tHead.replaceChildren(element("tr", ...head.map((name) => heading(name, "col"))));
  const order = rows.number.map((_, i) => i).sort((a, b) => Boolean(one.flags[b]) - Boolean(one.flags[a]) || a - b);
  const kinds = Object.entries({ t2: "T²", q: "Q", leverage: "leverage", studentized: "residual" });
  const body = order.map((i) => {
    const box = made("input", { type: "checkbox", value: i, "aria-label": "Mark " + rowName(i) });
    box.checked = state.marked.includes(i);
    box.addEventListener("change", () => mark(box.checked ? [...state.marked, i] : state.marked.filter((k) => k !== i)));
    const why = kinds.filter(([kind]) => one.flags[i] & bit(kind)).map(([, name]) => name).join(", ");
    const cells = [shown(rows.observed[i]), ...known.map(([key]) => brief(one[key][i]))];
    const name = made("th", { scope: "row" }, element("bdi", (rows.labels ? "" : "row ") + cut(rowName(i), 30)));
    return made("tr", { className: one.flags[i] ? "unusual" : "" }, element("td", box), name, ...cells.map((text) => element("td", text)), made("td", { className: "text" }, why));
  });
  byId("samples").tBodies[0].replaceChildren(...body);
}

function showExcluded() {
  const found = Object.entries(session.options.excluded || {});
  if (!found.length) return byId("excluded").replaceChildren();
  const away = content && content.excluded;
  const body = found.map(([number, why]) => {
    const k = away ? away.number.indexOf(Number(number)) : -1;
    const values = k < 0 ? ["", ""] : [shown(away.observed[k]), shown(away.predicted[Math.min(state.place - first, away.predicted.length - 1)][k])];
    const back = button("Bring back", () => send({ do: "include", rows: [Number(number)] }), { "aria-label": "Bring back row " + number });
    return element("tr", heading("row " + number, "row"), ...values.map((text) => element("td", text)), made("td", { className: "text" }, element("bdi", why)), element("td", back));
  });
  const head = ["Excluded", "Measured", "Predicted", "Reason", ""].map((name) => heading(name, "col"));
  const all = button("Bring all back", () => send({ do: "include", rows: found.map(([number]) => Number(number)) }));
  byId("excluded").replaceChildren(element("h3", "Excluded samples"), made("p", { className: "assumes" }, "Shown as crosses in the pictures; they take no part in the fit. ", all), made("div", { className: "scroll", tabIndex: 0 }, element("table", element("thead", element("tr", ...head)), element("tbody", ...body))));
}

function showHistory() {
  const items = session.steps.map((one) => made("li", { className: one.done ? "" : "undone" }, one.words, one.why ? made("em", {}, " – ", element("bdi", one.why)) : "", made("time", { dateTime: one.at }, " " + one.at.slice(0, 16).replace("T", " ") + " UTC"), one.done ? "" : " (undone)"));
  byId("history").replaceChildren(...items);
}
