// The table: what was read, the role of every column, and what was guessed.
const ROLES = ["id", "response", "groups", "predictor", "left out"];
let columns = [];
let previewed = "";

async function preview() {
  try {
    const found = await ask("/table");
    columns = found.columns;
    previewed = found.file;
    keepingFocus(() => showTable(found));
    showColours();
  } catch (error) {
    complain(error, "table");
  }
}

function showTable(found) {
  const { response } = session.options;
  const facts = [found.rows + " rows", columns.length + " columns", ...(found.predictors ? [found.predictors + " of them predictors"] : []), found.described];
  const names = (pairs) => pairs.flatMap(([own, other], i) => [i ? ", " : "", element("bdi", own), ...(other ? [" (", element("bdi", other), " in the other file?)"] : [])]);
  const parts = [
    made("p", { className: "facts" }, element("bdi", found.file), " · " + facts.join(" · ")),
    ...(!response ? [proposal(found)] : found.error.words ? [] : [made("p", {}, "Predict ", element("strong", element("bdi", response.join(", "))), " from " + found.predictors + " columns. ", button("To the workbench", () => openScreen("bench")))]),
    ...(found.unmatched.length ? [made("p", { className: "note", id: "unmatched" }, "Without a reference value: ", ...names(found.unmatched), ". ", session.options.missing ? "" : mendButton({ missing: "drop" }))] : []),
    ...found.doubts.map((one) => made("p", { className: "note doubt" }, one.words, " ", mendButton(one.mend, one.words))),
    sheetPicker(found),
    referencePicker(found),
    ...(found.spectra ? [element("figure", element("figcaption", element("h3", "Spectra as they were read")), made("div", { className: "chart", id: "chart-table", role: "img", ariaLabel: "Spectra of the table" }))] : []),
    columnPicker(),
    readingOptions(),
    ...(found.notes.length ? [made("details", {}, element("summary", "What was guessed and noticed (" + found.notes.length + ")"), made("ul", { className: "plain" }, ...found.notes.map((text) => element("li", text))))] : []),
  ];
  byId("preview").replaceChildren(...parts);
  listColumns("");
  if (found.spectra) add("chart-table", () => drawTable(found.spectra));
  if (found.error.words) complain({ message: found.error.words, mend: found.error.mend }, "table");
  refresh();
}

function drawTable(found) {
  performance.mark("spectra");
  const gap = found.positions.concat([null]);
  const all = { x: found.values.flatMap(() => gap), y: found.values.flatMap((row) => row.concat([null])), mode: "lines", line: { color: theme.lines[0], width: 1 }, opacity: 0.5 };
  return [[all], layout(wavelengthAxis(found.title), axis("value"), { height: 240, showlegend: false })];
}

// The card that asks: predict this column?
function proposal(found) {
  const [name] = found.proposed;
  if (found.reference.includes(name)) return made("p", { className: "card", id: "proposal" }, button("Predict " + cut(name, 40), () => joined(name)), " of ", element("bdi", session.options.response_file), ".");
  const one = columns.find((column) => column.name === name);
  if (!one) return made("p", { className: "note" }, "Which column is to be predicted? Choose “response” beside its name.");
  return made("p", { className: "card", id: "proposal" }, button("Predict " + cut(one.name, 40), () => changeRole(one, "response")), " ", bars(one), " " + found.rows + " values, " + (one.missing ? one.missing + " missing" : "none missing") + (one.text ? ", classes" : "") + ". Or choose “response” beside another column.");
}

function sheetPicker(found) {
  if (!found.sheets.length) return "";
  const box = made("select", { onchange: (event) => set({ sheet: event.target.value }) }, element("option", session.options.sheet || "first"), ...found.sheets.map((name) => element("option", name)));
  return made("p", { className: "row" }, element("label", "Sheet ", box));
}

// Reference values in another file: which of its columns is to be predicted.
function referencePicker(found) {
  if (!found.reference.length) return "";
  const [now] = session.options.response || [""];
  const names = now ? found.reference : ["", ...found.reference];
  const box = made("select", { onchange: (event) => joined(event.target.value) }, ...names.map((name) => made("option", { value: name, selected: name === now }, cut(name, 40))));
  return made("p", { className: "row" }, element("label", "Predict, of ", element("bdi", session.options.response_file), ": ", box));
}

// Samples without a reference value are left out, and the workbench says which.
const joined = (name) => set({ response: [name], missing: session.options.missing || "drop" });

// Every column, with its role, its holes and its histogram; a search finds any of them.
const MOST_LISTED = 30;

function columnPicker() {
  const search = made("input", { type: "search", id: "search", "aria-label": "Search columns", placeholder: "Search " + columns.length + " columns", oninput: () => listColumns(search.value) });
  return made("div", {}, element("h3", "Columns"), search, scrolled("Columns of the table", made("table", { id: "columns" })), made("p", { className: "assumes", id: "more-columns" }));
}

function listColumns(text) {
  const wanted = columns.filter((one) => one.name.toLowerCase().includes(text.trim().toLowerCase()));
  // Those that are not one of a series, such as V1, V2, are rarely predictors.
  const order = ["response", "id", "groups", "", "left out", "predictor"];
  const rank = (one) => order.indexOf(one.role) - (one.text || one.bars.length ? 0.5 : 0) - (/\d$/.test(one.name) ? 0 : 0.2);
  const sorted = wanted.sort((one, other) => rank(one) - rank(other));
  const body = sorted.slice(0, MOST_LISTED).map((one) => {
    const box = made("select", { "aria-label": "Role of " + one.name, onchange: (event) => changeRole(one, event.target.value) }, ...[...(one.role ? [] : [""]), ...ROLES].map((role) => made("option", { value: role, selected: role === one.role }, role)));
    box.dataset.role = one.role;
    return [element("bdi", cut(one.name, 40)), made("td", { className: "text" }, box), one.missing ? String(one.missing) : "", made("td", {}, bars(one)), made("td", { className: "text" }, element("bdi", one.values.join(", ")))];
  });
  fillTable("columns", ["Column", "Role", "Missing", "", "First values"], body);
  const rest = wanted.length - body.length;
  byId("more-columns").textContent = rest ? rest + " more; type a part of a name to find them." : wanted.length ? "" : "No column is called like this.";
}

function bars(one) {
  if (!one.bars.length) return "";
  const most = Math.max(...one.bars, 1);
  const shapes = one.bars.map((count, k) => svg("rect", { x: 5 * k, y: 20 - (20 * count) / most, width: 4, height: (20 * count) / most, fill: "currentColor" }));
  return svg("svg", { width: 60, height: 20, class: "bars", "aria-hidden": "true" }, ...shapes);
}

// What a column is becomes options of the fit.
function changeRole(one, role) {
  const { name } = one;
  const now = session.options;
  const without = (list) => (list || []).filter((other) => other !== name);
  const change = {};
  if (one.role === "response") change.response = without(now.response);
  if (one.role === "groups") change.groups = null;
  if (one.role === "id" && now.label) change.label = null;
  if ((now.exclude || []).includes(name)) change.exclude = without(now.exclude);
  if (role === "response") Object.assign(change, { response: [name] }, one.missing && !now.missing ? { missing: "drop" } : {});
  else if (role === "id") change.label = name;
  else if (role === "groups") change.groups = name;
  else if (role === "left out") change.exclude = [...without(now.exclude), name];
  else if (!(now.exclude || []).includes(name) && content) {
    // Columns beside a spectrum are predictors only by name.
    const ends = [features.positions[0], features.positions[features.positions.length - 1]];
    change.features = [...(now.features || [isNamed ? "*" : ends.join(":")]), name];
  }
  if ((now.features || []).includes(name) && role !== "predictor") change.features = without(now.features);
  set(change, role === "response" && one.missing ? one.missing + " values are missing: its complete rows are used" : name + ": " + role);
}

// How the file is read, if the guess was wrong.
function readingOptions() {
  const now = session.options;
  const box = (name, type, facts) => made("input", Object.assign({ type: type, name: name }, facts));
  const form = made("form", { className: "row" },
    element("label", "Line with the names ", box("header_row", "number", { min: 1, value: now.header_row || "" })),
    element("label", box("transpose", "checkbox", { checked: Boolean(now.transpose) }), " Names are in the first column"),
    ...(now.response_file ? [element("label", box("by_row_order", "checkbox", { checked: Boolean(now.by_row_order) }), " Join by the order of the rows"), button("Do not join " + cut(now.response_file, 30), () => set({ response_file: null, by_row_order: null, response: null }))] : []),
    made("button", { type: "submit" }, "Apply"));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const boxes = [...form.querySelectorAll("input")];
    set(Object.fromEntries(boxes.map((one) => [one.name, one.type === "checkbox" ? one.checked || null : one.value === "" ? null : Number(one.value)])));
  });
  return made("details", { id: "reading" }, element("summary", "How the file is read"), form);
}

// Files are dropped or chosen; several, or a folder, become one table.
async function filesOf(items) {
  const entries = [...items].map((item) => item.webkitGetAsEntry && item.webkitGetAsEntry()).filter(Boolean);
  const folder = entries.length === 1 && entries[0].isDirectory ? entries[0] : null;
  if (!folder) return null;
  const reader = folder.createReader();
  const found = [];
  for (;;) {
    const some = await new Promise((done, fail) => reader.readEntries(done, fail));
    if (!some.length) break;
    found.push(...some.filter((one) => one.isFile));
  }
  return { name: folder.name, files: await Promise.all(found.map((one) => new Promise((done, fail) => one.file(done, fail)))) };
}

document.querySelectorAll(".drop").forEach((/** @type {any} */ zone) => {
  const { use } = zone.dataset;
  const input = zone.querySelector("input");
  const take = async (files, folder) => {
    if (!files.length) return;
    // The response of another file has to be named: it is asked for when the file is there.
    const together = files.length > 1 && !folder ? "table" : folder;
    const done = await upload(files, use, together);
    if (done && use === "predict") showPredictions();
    if (done && use === "check") showChecks();
    if (done && use === "table") openScreen("table");
  };
  input.addEventListener("change", () => take(input.files).then(() => (input.value = "")));
  zone.addEventListener("dragover", (event) => event.preventDefault());
  zone.addEventListener("drop", async (event) => {
    event.preventDefault();
    const files = [...event.dataTransfer.files];
    const folder = await filesOf(event.dataTransfer.items);
    take(folder ? folder.files : files, folder ? folder.name : "");
  });
});
window.addEventListener("dragover", (event) => event.preventDefault());
window.addEventListener("drop", (event) => event.preventDefault());
