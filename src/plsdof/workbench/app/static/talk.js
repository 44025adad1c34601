// Talking to the server: events out, the session and its view in.
let session = null;
let asked = 0;
// A response of text: the page has tables and a picture of its classes, nothing to slide or mark.
let classes = false;
const byId = (id) => document.getElementById(id);

function made(name, facts, ...children) {
  const one = element(name, ...children);
  for (const [key, value] of Object.entries(facts)) {
    if (key.startsWith("on")) one.addEventListener(key.slice(2), value);
    else if (key in one && key !== "list") one[key] = value;
    else one.setAttribute(key, value);
  }
  return one;
}

const button = (text, act, facts) => made("button", Object.assign({ type: "button", onclick: act }, facts), text);

// What takes longer than a moment says what it does, for how long, and can be stopped.
let pending = 0;
let since = 0;

async function watch() {
  while (pending) {
    const seconds = Math.round((performance.now() - since) / 1000);
    if (performance.now() - since > 400) {
      byId("busy").hidden = false;
      const { doing } = await fetch("/progress").then((answer) => answer.json());
      byId("doing").textContent = (doing || "Working") + (seconds ? " … " + seconds + " s" : " …");
    }
    await new Promise((done) => setTimeout(done, 250));
  }
  byId("busy").hidden = true;
  page.idle = "true";
}

function begunWaiting() {
  pending += 1;
  page.idle = "false";
  if (pending > 1) return;
  since = performance.now();
  watch();
}

async function ask(path, options) {
  begunWaiting();
  try {
    const answer = await fetch(path, Object.assign({ headers: { "x-plsdof": "page" } }, options));
    const found = await answer.json();
    if (!answer.ok) throw Object.assign(new Error(found.error || "The server failed; see the terminal."), found);
    return found;
  } finally {
    pending -= 1;
  }
}

const post = (path, body) => ask(path, { method: "POST", body: body });

function complain(error) {
  if (!error) return;
  const box = byId("trouble");
  const ended = error instanceof TypeError && "The program has ended; start plsdof app again.";
  const text = error.stopped ? "Stopped. The page shows the last answer, which is old." : ended || error.message;
  box.replaceChildren(text, " ", button("Undo", () => send({ do: "undo" })), " ", button("Close", () => (box.hidden = true)));
  box.hidden = false;
}

// Send an event; the answer is the new session, and then the view follows.
async function send(event) {
  const before = session && session.trials.find((one) => one.key === session.trial);
  try {
    await follow(await post("/event", JSON.stringify(Object.assign({ revision: session.revision }, event))), before);
    return true;
  } catch (error) {
    if (error.changed) await follow(await ask("/state"));
    complain(error);
    return false;
  }
}

const set = (options, why) => send({ do: "set", options: options, why: why || "" });

async function follow(found, before) {
  const old = session;
  session = found;
  showSession();
  byId("trouble").hidden = true;
  if (!old || old.trial !== found.trial || !content) await look(before);
}

// Take the view of the chosen model at once, and all models after it.
async function look(before) {
  asked += 1;
  const mine = asked;
  const options = session.options;
  byId("screens").classList.add("old");
  if (!options.file) return forget();
  if (!byId("screen-table").hidden || !options.response) preview();
  if (!options.response) return forget();
  try {
    for (const models of ["chosen", "all"]) {
      const found = await ask("/view?models=" + models + "&have=" + [...blocks.keys()].join(","));
      if (mine !== asked) return;
      session = found.state;
      place(found);
      showSession();
      compareWith(before);
    }
  } catch (error) {
    if (mine === asked) complain(error);
  }
}

function forget() {
  page.complete = "true";
  byId("screens").classList.remove("old");
}

// Tables of numbers are sent once: the page keeps them by a hash of what is in them.
const blocks = new Map();
const MOST_BLOCKS = 60;

function complete(found) {
  const some = found.content ? [...(found.content.spectra ? found.content.spectra.tables.map((one) => one.values) : []), ...Object.values(found.content.components || {})] : [];
  for (const one of some.filter((block) => block && block.key)) {
    if (one.data === undefined) one.data = blocks.get(one.key);
    blocks.delete(one.key);
    blocks.set(one.key, one.data);
  }
  [...blocks.keys()].slice(0, -MOST_BLOCKS).forEach((key) => blocks.delete(key));
}

// New text around pictures that stay: their holders move into it.
function place(found) {
  complete(found);
  for (const [name, text] of Object.entries(found.parts)) {
    const holder = byId("part-" + name);
    const fresh = made("template", { innerHTML: text });
    fresh.content.querySelectorAll(".chart").forEach((one) => {
      const known = holder.querySelector("#" + one.id);
      if (known) one.replaceWith(known);
    });
    holder.replaceChildren(fresh.content);
  }
  classes = !found.content;
  if (classes) content = undefined;
  else begin(found.content);
  performance.mark("answer");
  if (!classes) begun();
  byId("screens").classList.remove("old");
  page.ready = "true";
  page.complete = String(classes);
  if (!classes) refresh();
}

// Before and after, in numbers that a person would write down.
function compareWith(before) {
  const now = session.trials.find((one) => one.key === session.trial);
  const line = byId("delta");
  line.hidden = !(before && before.summary && now && before.key !== now.key && before.summary.response === now.summary.response);
  if (line.hidden) return;
  const words = (one) => one.summary.model + ", " + errorsOf(one) + " (" + one.summary.n + " samples)";
  line.replaceChildren(element("strong", "Before: "), words(before), element("strong", " Now: "), words(now));
}

const ERRORS = { calibration: "RMSEC", "cross-validation": "RMSECV", test: "RMSEP", misclassified: "Misclassified" };
const errorsOf = (one) =>
  Object.entries(one.summary.errors).map(([kind, value]) => ERRORS[kind] + " " + brief(value)).join(", ");

async function upload(files, use, folder) {
  const form = new FormData();
  form.append("use", use);
  form.append("folder", folder || "");
  [...files].forEach((file) => form.append("files", file));
  try {
    await follow(await post("/upload", form));
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}
