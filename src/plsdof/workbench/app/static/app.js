// The screens from left to right, the settings of the model, what goes out, and the start.
const SCREENS = { table: "Table", spectra: "Spectra", model: "Model", samples: "Samples", trials: "Trials", predict: "Predict", check: "Check", out: "Export" };
const FILES = { model: "Model file", report: "Report", out: "Workbook", plot: "Picture" };

function openScreen(name) {
  Object.keys(SCREENS).forEach((one) => {
    byId("screen-" + one).hidden = one !== name;
    const tab = byId("tab-" + one);
    if (one === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  });
  history.replaceState(null, "", "#" + name);
  window.scrollTo(0, 0);
  if (session) showSession();
  if (name === "table" && session && session.options.file) preview();
  if (name === "out" && (content || classes)) ask("/python").then((found) => (byId("python").textContent = found.python)).catch(complain);
  if (name === "out") listSessions();
  if (name === "predict" && session.chosen.predict) showPredictions();
  if (name === "check" && session.chosen.check) showChecks();
  page.complete = String(!content);
  if (content) refresh();
}

byId("tabs").append(...Object.entries(SCREENS).map(([name, text]) => button(text, () => openScreen(name), { id: "tab-" + name })));
const isOpen = (name) => !byId("screen-" + name).hidden;

// What depends on the session alone, then what depends on the view.
function showSession() {
  byId("undo").disabled = !session.undo;
  byId("redo").disabled = !session.redo;
  byId("welcome").hidden = Boolean(session.options.file);
  ["drop-response", "drop-test"].forEach((id) => (byId(id).hidden = !session.options.file));
  Object.keys(SCREENS).forEach((name) => (byId("tab-" + name).disabled = name !== "table" && name !== "out" && !content && !(classes && name !== "samples")));
  byId("command").textContent = session.command.map(quoted).join(" ");
  document.title = (session.options.response ? session.options.response.join(", ") + " · " : "") + "plsdof";
  showChain();
  showRanges();
  showSettings();
  showHistory();
  showExcluded();
  if (isOpen("trials")) showTrials();
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\"'\"'") + "'");

function begun() {
  showSamples();
  showExcluded();
  showMarked();
  recolourRows().catch(complain);
  const keep = byId("back");
  keep.after(button("Use this size", () => set({ components: models.parameter[state.place] }), { id: "keep-size", hidden: !byComponents || average !== null }));
}

document.addEventListener("placed", () => isOpen("samples") && (showSamples(), showExcluded()));

// How the model is made: each change is one step.
const CHOICES = [
  ["method", "Method", [["pls", "PLS"], ["pcr", "PCR"], ["ridge", "ridge"]]],
  ["criterion", "Size chosen by", [["", "cross-validation"], ["average", "weighted average of sizes"], ["bic", "BIC"], ["aic", "AIC"], ["gcv", "GCV"], ["gmdl", "gMDL"]]],
  ["cv", "Cross-validation", [["", "default"], ["loo", "leave one out"], ["5", "5 folds"], ["10", "10 folds"], ["20", "20 folds"]]],
  ["scale", "Scaling", [["", "default"], ["true", "unit variance"], ["false", "centred only"]]],
  ["split", "Test set", [["", "none"], ["random:0.3", "30 % at random"], ["kennard-stone:0.3", "30 % by Kennard-Stone"], ["spxy:0.3", "30 % by SPXY"], ["duplex:0.3", "30 % by DUPLEX"], ["last:0.3", "the last 30 %"]]],
  ["missing", "Missing values", [["", "not allowed"], ["drop", "drop the rows"], ["interpolate", "interpolate"], ["impute", "impute"]]],
  ["components", "Components", [["", "recommended"]]],
  ["max_components", "Most components", [["", "default"], ["5", "5"], ["10", "10"], ["20", "20"], ["40", "40"]]],
  ["level", "Interval level", [["", "95 %"], ["0.9", "90 %"], ["0.99", "99 %"]]],
];
const asValue = (name, text) => {
  if (text === "") return null;
  if (name === "scale") return text === "true";
  return ["method", "criterion", "cv", "split", "missing"].includes(name) ? text : Number(text);
};

function showSettings() {
  const boxes = CHOICES.map(([name, text, options]) => {
    const now = session.options[name] === undefined ? "" : String(session.options[name]);
    const all = options.some(([value]) => value === now || (name === "method" && now === "")) ? options : [...options, [now, now]];
    const box = made("select", { name: name, onchange: () => set({ [name]: asValue(name, box.value) }) }, ...all.map(([value, words]) => made("option", { value: value }, words)));
    box.value = now === "" ? all[0][0] : now;
    return element("label", text + " ", box);
  });
  byId("settings").replaceChildren(...boxes);
}

byId("files").append(...Object.entries(FILES).map(([kind, text]) => button(text, () => save(kind))));

async function save(kind) {
  try {
    begunWaiting();
    const answer = await fetch("/file?kind=" + kind);
    if (!answer.ok) throw new Error((await answer.json()).error);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))[1];
    const link = made("a", { href: URL.createObjectURL(await answer.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  } catch (error) {
    complain(error);
  } finally {
    pending -= 1;
  }
}

// Undo and redo, also by keyboard.
byId("undo").addEventListener("click", () => send({ do: "undo" }));
byId("redo").addEventListener("click", () => send({ do: "redo" }));
byId("stop").addEventListener("click", () => fetch("/stop", { method: "POST", headers: { "x-plsdof": "page" } }));
document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input[type=text], input[type=number], textarea");
  if (!(event.ctrlKey || event.metaKey) || typing) return;
  if (event.key === "z" && session.undo) send({ do: "undo" });
  else if (event.key === "y" && session.redo) send({ do: "redo" });
  else return;
  event.preventDefault();
});

async function restart(path, body) {
  try {
    content = undefined;
    await follow(await post(path, body));
    openScreen("table");
  } catch (error) {
    complain(error);
  }
}

// Sessions of other days: opened or removed by whom they belong to, and by nobody else.
async function listSessions() {
  try {
    showSessions(await ask("/sessions"));
  } catch (error) {
    complain(error);
  }
}

function showSessions(found) {
  const others = found.filter((one) => !one.here);
  const named = (one) => "?name=" + encodeURIComponent(one.name);
  const body = others.map((one) => {
    const words = [one.table || "empty", one.response].filter(Boolean).join(", ");
    const gone = button("Remove", async () => {
      if (!window.confirm("Remove the session " + words + " with its files? This cannot be undone.")) return;
      showSessions(await post("/remove" + named(one)));
    }, { "aria-label": "Remove the session " + words });
    const again = button("Open", () => restart("/reopen" + named(one)), { "aria-label": "Open the session " + words });
    return element("tr", heading(one.used.slice(0, 16).replace("T", " "), "row"), made("td", { className: "text" }, element("bdi", cut(words, 60))), made("td", { className: "acts" }, again, gone));
  });
  const head = ["Used last (UTC)", "Table, response", ""].map((text) => heading(text, "col"));
  byId("sessions").replaceChildren(...(body.length ? [element("h3", "Other sessions on this machine"), element("table", element("thead", element("tr", ...head)), element("tbody", ...body))] : []));
}

byId("demo").addEventListener("click", async () => {
  await restart("/demo");
  openScreen("spectra");
});
byId("new-session").addEventListener("click", () => restart("/new"));
byId("open-session").addEventListener("change", (event) => {
  const form = new FormData();
  form.append("use", "session");
  form.append("files", event.target.files[0]);
  event.target.value = "";
  restart("/upload", form);
});

// Another tab may have changed the session.
document.addEventListener("visibilitychange", async () => {
  if (document.visibilityState !== "visible" || !session) return;
  const found = await ask("/state").catch(complain);
  if (found && found.revision !== session.revision) follow(found);
});

async function start() {
  const wanted = location.hash.slice(1);
  openScreen(wanted in SCREENS ? wanted : "table");
  try {
    await follow(await ask("/state"));
    if (session.remark) complain({ message: session.remark });
    if (wanted in SCREENS && wanted !== "table") openScreen(wanted);
  } catch (error) {
    complain(error);
  }
}

start();
