// The table: what was read, the role of every column, and what was guessed.
const ROLES = ["id", "response", "groups", "predictor", "left out"];
let columns = [];

async function preview() {
  try {
    const found = await ask("/table");
    columns = found.columns;
    showTable(found);
    showColours();
  } catch (error) {
    byId("preview").replaceChildren(made("p", { className: "note bad" }, error.message));
  }
}

function showTable(found) {
  const facts = [found.rows + " rows", found.total + " columns", found.predictors + " of them predictors", found.described];
  const parts = [made("p", { className: "facts" }, element("bdi", found.file), " · " + facts.join(" · "))];
  if (!session.options.response)
    parts.push(made("p", { className: "note" }, "Which column is to be predicted? Choose “response” above it."));
  else parts.push(made("p", {}, "Predict ", element("strong", element("bdi", session.options.response.join(", "))), " from " + found.predictors + " columns. Use the box above a column to change its role."));
  if (found.unmatched.length) {
    const names = made("strong", { className: "bad" }, element("bdi", found.unmatched.join(", ")));
    parts.push(made("p", { className: "note" }, "Without a reference value: ", names, ". ", button("Leave these rows out", () => set({ missing: "drop" }, "no reference value"))));
  }
  if (found.error) parts.push(made("p", { className: "note bad" }, found.error, " ", ...remedies(found)));
  parts.push(...found.doubts.map((text) => made("p", { className: "note doubt" }, text)));
  parts.push(sheetPicker(found), referencePicker(found), tablePreview(found), readingOptions());
  if (found.notes.length)
    parts.push(made("details", {}, element("summary", "What was guessed and noticed (" + found.notes.length + ")"), made("ul", { className: "plain" }, ...found.notes.map((text) => element("li", text)))));
  byId("preview").replaceChildren(...parts);
}

function remedies(found) {
  const missing = /--missing drop/.test(found.error);
  return missing ? [button("Leave out rows with missing values", () => set({ missing: "drop" }))] : [];
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
  const box = made("select", { onchange: (event) => set({ response: [event.target.value] }) }, ...found.reference.map((name) => made("option", { value: name, selected: name === now }, cut(name, 40))));
  return made("p", { className: "row" }, element("label", "Predict, of ", element("bdi", session.options.response_file), ": ", box));
}

function tablePreview(found) {
  const head = found.columns.map((one) => {
    const box = made("select", { "aria-label": "Role of " + one.name, onchange: (event) => changeRole(one, event.target.value) }, ...ROLES.map((role) => made("option", { value: role, selected: role === one.role }, role)));
    const cell = made("th", { scope: "col" }, box, element("bdi", cut(one.name, 40)));
    cell.dataset.role = one.role;
    return cell;
  });
  const body = found.numbers.map((number, i) => {
    const cells = found.columns.map((one) => {
      const cell = element("td", one.values[i]);
      cell.dataset.role = one.role;
      return cell;
    });
    return element("tr", heading(String(number), "row"), ...cells);
  });
  const more = found.total - found.columns.length;
  const predictors = found.predictors - found.columns.filter((one) => one.role === "predictor").length;
  const hidden = more > predictors ? more + " more columns are not shown here, " + predictors + " of them predictors." : more ? more + " more predictors are not shown here." : "";
  const table = made("table", { className: "roles" }, element("thead", element("tr", heading("row", "col"), ...head)), element("tbody", ...body));
  const rest = made("p", { className: "assumes" }, (found.rows > body.length ? "The first " + body.length + " of " + found.rows + " rows. " : "") + hidden);
  return made("div", {}, made("div", { className: "scroll", tabIndex: 0, role: "region", ariaLabel: "First rows of the table" }, table), rest);
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
  if (role === "response") change.response = [name];
  else if (role === "id") change.label = name;
  else if (role === "groups") change.groups = name;
  else if (role === "left out") change.exclude = [...without(now.exclude), name];
  else if (!(now.exclude || []).includes(name) && content) {
    // Columns beside a spectrum are predictors only by name.
    const ends = [features.positions[0], features.positions[features.positions.length - 1]];
    change.features = [...(now.features || [isNamed ? "*" : ends.join(":")]), name];
  }
  if ((now.features || []).includes(name) && role !== "predictor") change.features = without(now.features);
  set(change, name + ": " + role);
}

// How the file is read, if the guess was wrong.
function readingOptions() {
  const now = session.options;
  const given = (name, text, kind) => {
    const read = (box) => (kind === "checkbox" ? box.checked || null : box.value === "" ? null : kind === "number" ? Number(box.value) : box.value);
    const box = made("input", { type: kind, onchange: (event) => set({ [name]: read(event.target) }) });
    if (kind === "checkbox") box.checked = Boolean(now[name]);
    else box.value = now[name] === undefined ? "" : now[name];
    return kind === "checkbox" ? element("label", box, " " + text) : element("label", text + " ", box);
  };
  const rows = [
    given("header_row", "Line with the names", "number"),
    given("transpose", "Names are in the first column", "checkbox"),
    given("by_row_order", "Join by the order of the rows", "checkbox"),
  ];
  const joined = now.response_file ? [element("span", "Joined with ", element("bdi", now.response_file)), button("Not joined", () => set({ response_file: null, by_row_order: null }))] : [];
  return made("details", {}, element("summary", "How the file is read"), made("p", { className: "row" }, ...rows, ...joined));
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

document.querySelectorAll(".drop").forEach((zone) => {
  const { use } = zone.dataset;
  const input = zone.querySelector("input");
  const take = async (files, folder) => {
    if (!files.length) return;
    // The response of another file has to be named: it is asked for when the file is there.
    const together = files.length > 1 && !folder ? "table" : folder;
    const done = await upload(files, use, together);
    if (done && use === "predict") showPredictions();
    if (done && use === "check") showChecks();
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
