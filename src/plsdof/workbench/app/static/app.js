// The screens from left to right, the settings of the model, what goes out, and the start.
const SCREENS = { table: "Table", bench: "Workbench", trials: "Trials", predict: "Predict", check: "Check", out: "Export" };

function openScreen(name) {
  Object.keys(SCREENS).forEach((one) => {
    byId("screen-" + one).hidden = one !== name;
    const tab = byId("tab-" + one);
    if (one === name) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  });
  history.replaceState(null, "", "#" + name);
  window.scrollTo(0, 0);
  showScreen(name);
}

function showScreen(name) {
  showTrouble();
  if (!session) return;
  showSession();
  if (name === "table" && session.options.file) preview();
  if (name === "out") showExport();
  if (name === "predict") showPredictions();
  if (name === "check") showChecks();
  refresh();
}

byId("tabs").append(...Object.entries(SCREENS).map(([name, text]) => button(text, () => openScreen(name), { id: "tab-" + name })));
const isOpen = (name) => !byId("screen-" + name).hidden;

// What depends on the session alone, then what depends on the view.
function showSession() {
  keepingFocus(() => {
    // Steps belong to the table and the workbench: elsewhere there is nothing of them to undo.
    const isHere = ["table", "bench"].includes(screenNow());
    const title = (word, one, key) => word + (one ? ": " + one.words : "") + " (Ctrl+" + key + ")";
    const done = session.steps.filter((one) => one.done).length;
    Object.assign(byId("undo"), { disabled: !(session.undo && isHere), title: title("Undo", session.steps[done - 1], "Z") });
    Object.assign(byId("redo"), { disabled: !(session.redo && isHere), title: title("Redo", session.steps[done], "Y") });
    byId("welcome").hidden = Boolean(session.options.file);
    ["drop-response", "drop-test"].forEach((id) => (byId(id).hidden = !session.options.file));
    Object.keys(SCREENS).forEach((name) => (byId("tab-" + name).disabled = !["table", "out"].includes(name) && !session.trials.length && !answer));
    document.title = (session.options.response ? session.options.response.join(", ") + " · " : "") + "plsdof";
    showStanding();
    showChain();
    showRanges();
    showSettings();
    showHistory();
    showExcluded();
    showRail();
    if (isOpen("trials")) showTrials();
  });
}

// Where the work stands: file, response, trial, what is released, and that it is kept.
function showStanding() {
  const { file, response } = session.options;
  const number = session.trials.findIndex((one) => one.key === session.trial);
  const now = session.trials[number];
  const parts = [file, (response || []).join(", "), now && "trial " + (number + 1) + " (" + now.words + ")" + (now.summary && now.summary.model ? ", " + now.summary.model : "")];
  const released = session.released.map((one) => one.response + ": " + one.name).join(", ");
  byId("standing").replaceChildren(...[...parts, released ? "released " + released : "nothing released", "saved"].filter(Boolean).flatMap((text, i) => [i ? " · " : "", element("bdi", cut(text, 80))]));
  byId("standing").hidden = !file;
}

const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replace(/'/g, "'\"'\"'") + "'");

function begun() {
  addBench();
  showFirst();
  showSamples();
  showMarked();
  recolourRows().catch(complain);
}

document.addEventListener("placed", () => {
  showSamples();
  showExcluded();
});

async function save(kind, response) {
  try {
    begunWaiting();
    const answer = await fetch("/file?kind=" + kind + "&response=" + encodeURIComponent(response));
    if (!answer.ok) throw new Error((await answer.json()).error);
    const name = /filename="([^"]+)"/.exec(answer.headers.get("content-disposition"))[1];
    const link = made("a", { href: URL.createObjectURL(await answer.blob()), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  } catch (error) {
    complain(error, "out");
  } finally {
    pending -= 1;
  }
}

// Undo and redo, also by keyboard.
byId("undo").addEventListener("click", () => send({ do: "undo" }));
byId("redo").addEventListener("click", () => send({ do: "redo" }));
byId("stop").addEventListener("click", () => fetch("/stop", { method: "POST", headers: { "x-plsdof": "page" } }));
document.addEventListener("keydown", (event) => {
  const typing = /** @type {Element} */ (event.target).matches("input:not([type=checkbox], [type=range])");
  if (!(event.ctrlKey || event.metaKey) || typing) return;
  if (event.key === "z" && !byId("undo").disabled) send({ do: "undo" });
  else if (event.key === "y" && !byId("redo").disabled) send({ do: "redo" });
  else return;
  event.preventDefault();
});

async function restart(path, body) {
  try {
    [content, answer, classes] = [undefined, null, null];
    clearBench();
    await follow(await post(path, body));
    openScreen("table");
  } catch (error) {
    complain(error);
  }
}

// Sessions of other days: opened or removed by their owner only.
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
    return [one.used.slice(0, 16).replace("T", " "), element("bdi", cut(words, 60)), made("td", { className: "acts" }, again, gone)];
  });
  byId("sessions").replaceChildren(...(body.length ? [element("h3", "Other sessions on this machine"), tableOf(["Used last (UTC)", "Table, response", ""], body)] : []));
}

byId("demo").addEventListener("click", async () => {
  await restart("/demo");
  openScreen("bench");
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
  readTheme();
  page.ready = "true";
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
