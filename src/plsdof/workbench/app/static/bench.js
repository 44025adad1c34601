// The workbench: preparation on the left, four linked pictures, the answer on the right.
const PREPARATIONS = {
  snv: ["SNV (standard normal variate)"],
  msc: ["MSC (scatter correction)"],
  savgol: ["Derivative (Savitzky-Golay)", ["window", 11], ["degree", 2], ["derivative", 1]],
  smooth: ["Smoothing (Savitzky-Golay)", ["window", 11], ["degree", 2]],
  detrend: ["Detrending"],
  baseline: ["Baseline correction"],
  center: ["Centring of spectra"],
  autoscale: ["Autoscaling of columns"],
};
// A step as a person says it: what it is, and its numbers.
const stepWords = (text) => {
  const [key, ...numbers] = text.split(":");
  const [label] = PREPARATIONS[key] || [key];
  return [label, ...numbers].join(", ");
};
const chain = () => session.options.chain || [];
const prepare = (steps) => send({ do: "prepare", chain: steps });
let ranges = [];

function showChain() {
  const steps = chain();
  const isAuto = steps.some(([text, on]) => on && text === "auto");
  const moved = (i, j) => steps.map((one, k) => (k === i ? steps[j] : k === j ? steps[i] : one));
  const items = steps.map(([text, on], i) => {
    const box = made("input", { type: "checkbox", checked: on, onchange: () => prepare(steps.map((one, k) => (k === i ? [text, !on] : one))) });
    const name = (what) => ({ "aria-label": what + " " + stepWords(text) });
    return element(
      "li",
      element("label", box, " " + stepWords(text)),
      button("↑", () => prepare(moved(i, i - 1)), Object.assign({ disabled: i === 0 }, name("Earlier:"))),
      button("↓", () => prepare(moved(i, i + 1)), Object.assign({ disabled: i === steps.length - 1 }, name("Later:"))),
      button("×", () => prepare(steps.filter((_, k) => k !== i)), name("Remove"))
    );
  });
  byId("choose").checked = isAuto;
  byId("add-step").hidden = isAuto;
  byId("chain").replaceChildren(...(isAuto ? [] : items.length ? items : [made("li", { className: "none" }, "as measured")]));
}

function showNumbers() {
  const [, ...numbers] = PREPARATIONS[byId("step").value];
  byId("step-numbers").replaceChildren(...numbers.map(([name, value]) => element("label", name + " ", made("input", { type: "number", value: value, min: 0 }))));
}

byId("step").append(...Object.entries(PREPARATIONS).map(([key, [text]]) => made("option", { value: key }, text)));
byId("step").addEventListener("change", showNumbers);
showNumbers();
byId("add-step").addEventListener("submit", (event) => {
  event.preventDefault();
  const numbers = [...byId("step-numbers").querySelectorAll("input")].map((box) => box.value);
  const step = [[byId("step").value, ...numbers].join(":"), true];
  prepare([...chain(), step]);
});
// The automatic choice is among whole chains: steps of one's own are kept, switched off.
byId("choose").addEventListener("change", (event) => {
  const own = chain().filter(([text]) => text !== "auto");
  prepare(event.target.checked ? [["auto", true], ...own.map(([text]) => [text, false])] : own.map(([text]) => [text, true]));
});

// Ranges are gathered first, then kept or left out.
function showRanges() {
  const chips = ranges.map((one, i) => button(one + " ×", () => { ranges.splice(i, 1); showRanges(); }, { className: "chip", "aria-label": "Remove the range " + one }));
  const { features: kept, exclude } = session.options;
  const now = (kept ? "Kept: " + kept.join(", ") + ". " : "") + (exclude ? "Left out: " + exclude.join(", ") + "." : "");
  byId("ranges").replaceChildren(...chips, " " + now);
  byId("ranges-of-spectra").hidden = content ? isNamed : Boolean(classes && !classes.positions);
  byId("range-keep").disabled = byId("range-drop").disabled = !ranges.length;
  byId("range-all").disabled = !kept && !exclude;
}

function addRange(low, high) {
  if (!Number.isFinite(low) || !Number.isFinite(high)) return;
  const round = (v) => Number(v.toPrecision(6));
  ranges.push(round(Math.min(low, high)) + ":" + round(Math.max(low, high)));
  showRanges();
}

function useRanges(change) {
  ranges = [];
  return set(change);
}

byId("brush").addEventListener("change", (event) => {
  state.drag = event.target.checked ? "select" : "zoom";
  pick("drag", state.drag);
});
document.addEventListener("brushed", (/** @type {any} */ event) => addRange(event.detail[0], event.detail[1]));
byId("range-add").addEventListener("submit", (event) => {
  event.preventDefault();
  addRange(byId("range-low").valueAsNumber, byId("range-high").valueAsNumber);
});
byId("range-keep").addEventListener("click", () => useRanges({ features: ranges }));
byId("range-drop").addEventListener("click", () => useRanges({ exclude: [...(session.options.exclude || []), ...ranges] }));
byId("range-all").addEventListener("click", () => useRanges({ features: null, exclude: null }));

// Colours by any column that is not a predictor; the response without a choice.
let colouring = "";

function showColours() {
  const names = columns.filter((one) => one.role !== "predictor").map((one) => one.name);
  const box = byId("colour");
  box.replaceChildren(made("option", { value: "" }, "by response"), ...names.map((name) => made("option", { value: name }, cut(name, 40))));
  colouring = names.includes(colouring) ? colouring : "";
  box.value = colouring;
}

async function recolourRows() {
  if (!colouring || !content) return;
  const found = await ask("/colours?column=" + encodeURIComponent(colouring));
  const of = (i) => { const k = found.of[rows.number[i]]; return k === undefined ? 0 : k; };
  const words = ([low, high]) => (low === high ? String(low) : low + " to " + high);
  if (spectra) Object.assign(spectra, { classes: found.classes, class_of: spectra.row.map(of) });
  if (components) Object.assign(components, { groups: found.classes.map(words), group_of: rows.number.map((_, i) => of(i)), ordered: found.ordered });
  pick("content", state.content + 1);
}

byId("colour").addEventListener("change", (event) => {
  colouring = event.target.value;
  if (colouring) recolourRows().catch(complain);
  else look();
});

// The four pictures. The first shows spectra or coefficients; rows without spectra have scores.
const FIRST = { raw: "Measured", preprocessed: "Prepared", coefficients: "Coefficients", scores: "Scores" };
state.kind = "raw";

function firstKinds() {
  return [...(spectra ? spectra.tables.map((one) => one.kind) : []), "coefficients", ...(components && components.count > 1 ? ["scores"] : [])];
}

function showFirst() {
  const known = firstKinds();
  if (!known.includes(state.kind)) state.kind = known[0];
  const choose = (kind) => () => { pick("kind", kind); showFirst(); };
  byId("first-title").textContent = FIRST[state.kind];
  byId("first-kinds").replaceChildren(...known.map((kind) => button(FIRST[kind], choose(kind), { ariaPressed: String(kind === state.kind), id: "first-" + kind })));
  byId("colours").hidden = state.kind === "coefficients";
}

function drawFirst() {
  const table = spectra && spectra.tables.find((one) => one.kind === state.kind);
  if (table) return drawSpectra(table);
  return state.kind === "scores" ? drawScores() : drawCoefficients(12);
}

function addBench() {
  add("bench-first", drawFirst, "kind", "place", "row", "picked", "marked", "drag");
  const hasDistance = "t2" in rows.kinds;
  byId("fit-title").textContent = "Predicted against measured";
  byId("last-title").textContent = hasDistance ? "T² and Q" : "Leverage";
  if (!hasDistance) add("chart-distance", drawLeverage, "place", "row", "marked");
  byId("back").after(button("Use this size", () => set({ components: models.parameter[state.place] }), { id: "keep-size", hidden: !byComponents || average !== null }));
}

// The answer
// ----------

let answer = null;

function showRail() {
  if (!answer) return byId("rail").replaceChildren();
  const now = session.trials.find((one) => one.key === session.trial);
  const released = Boolean(now && now.released);
  const release = button(released ? "✓ Released" : "Release", () => send({ do: "release", trial: session.trial, on: !released }), { id: "release", ariaPressed: String(released), title: released ? "Press to take the release back" : "This model, as it is now, predicts, is checked and exported" });
  const next = released ? [made("p", { className: "row" }, button("Predict new samples", () => openScreen("predict"), { className: "link" }))] : [];
  const facts = answer.facts.map(([name, value]) => element("div", element("dt", name), element("dd", value)));
  const told = (one) => made("div", { className: "note" + (one.severity === "note" ? "" : " doubt") }, one.words, " ", mendButton(one.mend, one.words));
  const [minor, major] = ["note", ""].map((kind) => answer.remarks.filter((one) => (one.severity === "note") === (kind === "note")));
  byId("rail").replaceChildren(
    element("h3", answer.title),
    element("dl", ...facts),
    release,
    ...next,
    ...(answer.change ? [made("p", { className: "delta", id: "delta" }, answer.change)] : []),
    ...lookFirst(),
    ...major.map(told),
    ...(minor.length ? [made("details", { id: "minor" }, element("summary", "Worth knowing (" + minor.length + ")"), ...minor.map(told))] : [])
  );
  return undefined;
}

// The sample to look at first: the most unusual one, or the one that is least likely of its class.
function lookFirst() {
  const [one] = content ? rows.suspects : [];
  const least = classes ? classes.probability.findIndex((one) => one < 0.5 && one === Math.min(...classes.probability)) : -1;
  const i = one ? rows.number.indexOf(one.row) : least;
  if (!one && i < 0) return [];
  const why = one ? one.why + " beyond the limit" : "the probability of its class is " + (classes.probability[i] < 0.001 ? "below 0.001" : brief(classes.probability[i]));
  const name = made("bdi", {}, one ? one.name : rowWords(i));
  return [made("p", { id: "look" }, "Look at ", i < 0 ? name : button(element("b", name), () => pick("row", i), { className: "link" }), " first: " + why + ".")];
}

// A problem comes with the step that mends it, as data; a button takes this step.
const MENDS = {
  missing: () => "Leave out the rows with missing values",
  exclude_rows: (rows) => "Exclude " + (rows.length === 1 ? "row " + rows[0] : rows.length + " rows"),
  groups: (name) => "Keep the rows of one " + cut(name, 30) + " together",
  cv: () => "Hold out blocks of rows together",
  na: (codes) => "Take " + codes.join(", ") + " for a missing value",
  exclude: (names) => "Leave out " + names.map((one) => cut(one, 30)).join(", "),
  components: (count) => "Take " + count + " components",
  ids_alike: () => "Take these names for the same",
  release: () => "Release this trial",
};
const isColumn = (name) => columns.some((one) => one.name === name);

function mendButton(mend, words) {
  const needs = { groups: () => isColumn(mend.groups), exclude: () => mend.exclude.every(isColumn) };
  const names = Object.keys(mend || {}).filter((one) => one in MENDS && (!needs[one] || needs[one]()));
  const [name] = names;
  if (!name) return "";
  const why = cut(words || "as proposed", 200);
  const act = async () => {
    if (name === "exclude_rows") return send({ do: "exclude", rows: mend.exclude_rows, why: why });
    if (name === "release") return (await send({ do: "release", trial: mend.release })) && openScreen(screenNow());
    const now = session.options.exclude || [];
    return set(Object.fromEntries(names.map((one) => [one, one === "exclude" ? [...now, ...mend.exclude] : mend[one]])), why);
  };
  return button(MENDS[name](mend[name]), act, { className: "mend" });
}

// Samples: marked by a line, a click or a tick; excluded with a reason; brought back.
const MEASURES = [["fitted", "Fitted"], ["left_out", "Cross-validated"], ["residual", "Residual"], ["studentized", "Studentised"], ["leverage", "Leverage"], ["t2", "T²"], ["q", "Q"]];

// The four pictures of a response of text: what differs, errors, confusions, scores by class.
function drawBars() {
  if (classes.positions) return [[{ x: classes.positions, y: classes.vip, mode: "lines", line: { color: theme.lines[0] }, hovertext: classes.largest.map((name, k) => name + ": VIP " + shown(classes.vip[k])) }], layout(wavelengthAxis(classes.axis), axis("importance (VIP)", { tozero: true }), { limits: limit("y", 1), showlegend: false })];
  const places = classes.largest.map((_, k) => k);
  const all = { x: places.flatMap((k) => [0, classes.vip[k], null]), y: places.flatMap((k) => [k, k, null]), mode: "lines", line: { color: theme.lines[0], width: 9 }, hovertext: places.flatMap((k) => ["", classes.largest[k] + ": VIP " + shown(classes.vip[k]), ""]) };
  const y = axis("", { tickvals: places, ticktext: classes.largest.map((one) => cut(one, 16)), range: [places.length - 0.4, -0.6] });
  return [[all], layout(axis("importance (VIP)", { tozero: true }), y, { limits: limit("x", 1), showlegend: false })];
}

function drawMisclassified() {
  const x = classes.error.map((_, k) => k);
  const y = classes.error.map((v) => 100 * v);
  const all = { x: x, y: y, mode: "lines+markers", line: { color: theme.lines[1] }, hovertext: y.map((v, k) => k + " components: " + brief(v) + " % misclassified") };
  return [[all, ring(classes.chosen, y[classes.chosen])], layout(axis("number of components", { tozero: true }), axis("misclassified, %", { tozero: true }), { showlegend: false, limits: [{ x: classes.chosen, style: "dot" }] })];
}

function drawConfusion() {
  const names = classes.names.map((one) => cut(one, 12));
  const cells = classes.matrix.flatMap((line, i) => line.map((count, j) => ({ i: i, j: j, count: count }))).filter((one) => one.count);
  const of = (right) => cells.filter((one) => (one.i === one.j) === right);
  const most = Math.max(...cells.map((one) => one.count));
  const trace = (right) => ({ name: right ? "right" : "wrong", x: of(right).map((one) => one.j), y: of(right).map((one) => one.i), mode: "markers+text", marker: { symbol: right ? "circle" : "diamond", color: theme.lines[right ? 0 : 1], opacity: 0.6, size: of(right).map((one) => 8 + 30 * Math.sqrt(one.count / most)) }, text: of(right).map((one) => String(one.count)), textside: [0, 0], hovertext: of(right).map((one) => one.count + " rows of " + classes.names[one.i] + " held out are predicted as " + classes.names[one.j]) });
  const ticks = { tickvals: names.map((_, k) => k), ticktext: names, range: [-0.6, names.length - 0.4] };
  return [[trace(true), trace(false)], layout(axis("predicted", ticks), axis("true class", ticks))];
}

function drawClassScores() {
  const x = classes.scores ? classes.scores[0] : rows.number.map((_, i) => i + 1);
  const y = classes.scores ? classes.scores[1] : classes.probability;
  const names = classes.scores ? ["component 1", "component 2"] : ["row", "probability of its class"];
  const data = inGroups(classes.names, classes.of, false, x, y, names, null, false);
  return [[...data, ring(x[state.row], y[state.row])], layout(axis(names[0], { range: around(x) }), axis(names[1], { range: around(y) }), marking({}))];
}

function beginClasses() {
  [rows, content] = [classes.rows, undefined];
  state.content += 1;
  state.row = 0;
  state.marked = [];
  byId("first-title").textContent = "What the classes differ in";
  byId("first-kinds").replaceChildren(element("strong", "What the classes differ in"));
  byId("fit-title").textContent = "True and predicted class";
  byId("last-title").textContent = classes.scores ? "Scores by class" : "Probability of the class";
  byId("colours").hidden = true;
  add("bench-first", drawBars);
  add("chart-errors", drawMisclassified);
  add("chart-fit", drawConfusion);
  add("chart-distance", drawClassScores, "row", "marked");
  showMarked();
}

function clearBench() {
  charts = charts.filter((one) => !one.holder.closest("#screen-bench"));
  document.querySelectorAll(".four .chart").forEach((one) => one.replaceChildren());
  byId("sizes").replaceChildren();
  byId("folds").replaceChildren();
}

const targets = () => (state.marked.length ? state.marked : state.picked ? [state.row] : []);

function showMarked(event) {
  const found = content || classes ? targets() : [];
  byId("marked").hidden = !found.length;
  document.body.classList.toggle("marking", found.length > 0);
  if (!found.length) return;
  const names = found.slice(0, 6).map(rowName).join(", ") + (found.length > 6 ? " and " + (found.length - 6) + " more" : "");
  byId("marked-names").replaceChildren(element("strong", found.length === 1 ? "1 sample: " : found.length + " samples: "), element("bdi", cut(names, 120)));
  document.querySelectorAll("#samples input").forEach((/** @type {any} */ box) => (box.checked = state.marked.includes(Number(box.value))));
  if (event && event.detail === "line") byId("why").focus({ preventScroll: true });
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
byId("fold-samples").addEventListener("toggle", () => content && showSamples());

function showSamples() {
  if (!byId("fold-samples").open) return;
  const one = here();
  const known = MEASURES.filter(([key]) => one[key]);
  const head = ["", "Sample", "Measured", ...known.map(([, name]) => name), "Beyond the limit of"];
  const order = rows.number.map((_, i) => i).sort((a, b) => Number(one.flags[b] > 0) - Number(one.flags[a] > 0) || a - b);
  const kinds = Object.entries({ t2: "T²", q: "Q", leverage: "leverage", studentized: "residual" });
  const body = order.map((i) => {
    const box = made("input", { type: "checkbox", value: i, "aria-label": "Mark " + rowName(i) });
    box.checked = state.marked.includes(i);
    box.addEventListener("change", () => mark(box.checked ? [...state.marked, i] : state.marked.filter((k) => k !== i)));
    const why = kinds.filter(([kind]) => one.flags[i] & bit(kind)).map(([, name]) => name).join(", ");
    return [box, element("bdi", (rows.labels ? "" : "row ") + cut(rowName(i), 30)), shown(rows.observed[i]), ...known.map(([key]) => brief(one[key][i])), made("td", { className: "text" }, why)];
  });
  fillTable("samples", head, body);
}

function showExcluded() {
  const found = Object.entries(session.options.excluded || {});
  byId("away").hidden = !found.length;
  const away = content && content.excluded;
  const items = found.map(([number, why]) => {
    const k = away ? away.number.indexOf(Number(number)) : -1;
    const values = k < 0 ? "" : ", measured " + shown(away.observed[k]) + ", predicted " + shown(away.predicted[Math.min(state.place - first, away.predicted.length - 1)][k]);
    return element("li", "row " + number + ": ", element("bdi", why), values, " ", button("Back", () => send({ do: "include", rows: [Number(number)] }), { "aria-label": "Bring back row " + number }));
  });
  const all = button("Bring all back", () => send({ do: "include", rows: found.map(([number]) => Number(number)) }));
  byId("excluded").replaceChildren(made("ul", { className: "plain" }, ...items), all);
}

function showHistory() {
  const items = session.steps.map((one) => made("li", { className: one.done ? "" : "undone" }, one.words, one.why ? made("em", {}, " – ", element("bdi", one.why)) : "", made("time", { dateTime: one.at }, " " + one.at.slice(0, 16).replace("T", " ") + " UTC"), one.done ? "" : " (undone)"));
  byId("history").replaceChildren(...items);
}

// How the model is made: all changes are one step, when they are applied.
const optionNow = (name) => JSON.stringify(session.options[name] === undefined ? null : session.options[name]);

function showSettings() {
  const form = byId("settings");
  const words = (value, text) => made("option", { value: JSON.stringify(value) }, text);
  if (!form.elements.length) {
    const boxes = Object.entries(session.settings).map(([name, [label, values]]) => element("label", label + " ", made("select", { name: name }, ...values.map(([value, text]) => words(value, text)))));
    form.append(...boxes, made("button", { type: "submit" }, "Apply"));
  }
  for (const box of form.querySelectorAll("select")) {
    const now = optionNow(box.name);
    if (![...box.options].some((one) => one.value === now)) box.append(words(JSON.parse(now), now));
    box.value = now;
  }
}

byId("settings").addEventListener("submit", (event) => {
  event.preventDefault();
  const changed = [...event.target.querySelectorAll("select")].filter((box) => box.value !== optionNow(box.name));
  if (changed.length) set(Object.fromEntries(changed.map((box) => [box.name, JSON.parse(box.value)])));
});
