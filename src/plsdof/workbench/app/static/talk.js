// Talking to the server: events out, the session and its view in.
let session = null;
let asked = 0;
// What the pictures of a response of text show.
/** @type {any} */
let classes = null;

// Tables: the first cell of a line names it, unless it is something to press; words stand on the left.
function tableOf(head, body, facts) {
  const isWords = (one) => (one instanceof HTMLTableCellElement ? one.className.includes("text") : one instanceof Node || /[a-z]{2}/i.test(one));
  const cell = (one, k, cells) => {
    if (one instanceof HTMLTableCellElement) return one;
    const isName = k === 0 ? !(one instanceof HTMLInputElement) : k === 1 && cells[0] instanceof HTMLInputElement;
    return isName ? made("th", { scope: "row" }, one) : made("td", { className: isWords(one) ? "text" : "" }, one);
  };
  const lines = body.map((cells) => element("tr", ...cells.map(cell)));
  const heads = head.map((name, k) => (name ? made("th", { scope: "col", className: body.some((cells) => isWords(cells[k])) ? "text" : "" }, name) : element("td")));
  return made("table", facts || {}, element("thead", element("tr", ...heads)), element("tbody", ...lines));
}

// A table that is wider than the page is moved by itself, also by keyboard.
const scrolled = (label, table, more) => made("div", Object.assign({ className: "scroll", tabIndex: 0, role: "region", ariaLabel: label }, more), table);

const fillTable = (id, head, body) => byId(id).replaceWith(tableOf(head, body, { id: id }));

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

// A problem stays on the screen where it is, with the one step that mends it.
const troubles = new Map();
const screenNow = () => location.hash.slice(1) || "table";

function complain(error, screen, undo) {
  if (!error) return;
  const ended = error instanceof TypeError && "The program has ended; start plsdof app again.";
  const text = error.stopped ? "Stopped. The page shows the last answer, marked as old." : ended || error.message;
  troubles.set(screen || screenNow(), [text, mendButton(error.mend, text), ...(undo ? [button("Undo: " + undo, () => send({ do: "undo" }))] : []), ...(error.stopped ? [button("Go on", () => look())] : [])]);
  showTrouble();
}

function showTrouble() {
  const parts = troubles.get(screenNow());
  byId("trouble").hidden = !parts;
  if (parts) byId("trouble").replaceChildren(...parts.flatMap((one) => [one, " "]), button("Close", () => { troubles.delete(screenNow()); showTrouble(); }));
}

// Send an event; the answer is the new session, and then the view follows.
async function send(event) {
  const before = session && session.trial;
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
  troubles.clear();
  showTrouble();
  showSession();
  if (!old || old.trial !== found.trial || !(content || classes)) await look(before);
}

// The table first, then the chosen model, then all models. What somebody asked before is given up.
async function look(before) {
  asked += 1;
  const mine = asked;
  const { options } = session;
  const step = session.steps.filter((one) => one.done).pop();
  byId("screen-bench").classList.add("old");
  ["bench", "table"].forEach((screen) => troubles.delete(screen));
  if (options.file && (!byId("screen-table").hidden || !options.response || previewed !== options.file)) await preview();
  if (!options.response) return forget();
  try {
    for (const models of ["chosen", "all"]) {
      const found = await ask("/view?models=" + models + "&before=" + (before || "") + "&have=" + [...blocks.keys()].join(","));
      if (mine !== asked) return;
      session = found.state;
      place(found);
    }
  } catch (error) {
    if (mine === asked) ["bench", "table"].forEach((screen) => complain(error, screen, before && step && step.words));
  }
  showSession();
}

function forget() {
  byId("screen-bench").classList.remove("old");
  [answer, content, classes] = [null, undefined, null];
  clearBench();
  showSession();
  refresh();
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

// The four pictures and their slider stay; what else there is to say is folded below.
function place(found) {
  complete(found);
  keepingFocus(() => {
    const fresh = made("template", { innerHTML: Object.values(found.parts).join("") }).content;
    byId("sizes").replaceChildren(...fresh.querySelectorAll(".control"));
    fresh.querySelectorAll(".chart").forEach((one) => {
      const known = byId(one.id);
      if (known && known.closest(".four")) one.closest("figure").remove();
      else if (known) one.replaceWith(known);
    });
    const open = [...document.querySelectorAll("#folds > details[open]")].map((one) => one.id);
    byId("fold-samples").hidden = Boolean(found.classes);
    byId("folds").replaceChildren(...[...fresh.querySelectorAll("section")].map((one) => folded(one, open)));
  });
  answer = found.answer;
  classes = found.classes;
  if (classes) beginClasses();
  else begin(found.content);
  performance.mark("answer");
  if (!classes) begun();
  byId("screen-bench").classList.remove("old");
  showSession();
  refresh();
}

function folded(section, open) {
  const title = section.querySelector("h2");
  const id = "fold-" + section.getAttribute("aria-labelledby");
  section.removeAttribute("aria-labelledby");
  return made("details", { id: id, open: open.includes(id) }, element("summary", title), section);
}

// What is made anew has the focus that its predecessor had.
function keepingFocus(act) {
  const one = document.activeElement;
  const [id, label] = one ? [one.id, one.getAttribute("aria-label")] : [];
  act();
  if (!one || one.isConnected || one === document.body) return;
  const next = id ? byId(id) : [...document.querySelectorAll("[aria-label]")].find((other) => other.getAttribute("aria-label") === label);
  if (next) next.focus({ preventScroll: true });
}

async function upload(files, use, folder) {
  const form = new FormData();
  form.append("use", use);
  form.append("folder", folder || "");
  [...files].forEach((file) => form.append("files", file));
  try {
    await follow(await post("/upload", form), session && session.trial);
    return true;
  } catch (error) {
    complain(error);
    return false;
  }
}
