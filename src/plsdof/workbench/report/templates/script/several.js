const pages = JSON.parse(document.getElementById("pages").textContent);
const frames = Array.from(document.querySelectorAll("iframe"));
const buttons = Array.from(document.querySelectorAll("nav button"));
function load(i) {
  if (!frames[i].srcdoc) frames[i].srcdoc = pages.pages[i];
}
function show(i) {
  load(i);
  buttons.forEach((one, j) => one.setAttribute("aria-pressed", String(i === j)));
  frames.forEach((one, j) => one.classList.toggle("shown", i === j));
}
buttons.forEach((one, i) => one.addEventListener("click", () => show(i)));
// The others follow one after the other, so that all of them can be printed.
const next = (i) => i + 1 < frames.length && load(i + 1);
frames.forEach((one, i) => one.addEventListener("load", () => next(i)));
// Frames would be cut at the edge of a sheet: on paper their pages stand one after the other.
function printed(frame) {
  frame.contentWindow.dispatchEvent(new Event("beforeprint"));
  const page = frame.contentDocument.body.cloneNode(true);
  const lists = frame.contentDocument.querySelectorAll("select");
  page.querySelectorAll("select").forEach((one, i) => one.replaceWith(lists[i].selectedOptions[0]?.text || ""));
  page.querySelectorAll("script").forEach((one) => one.remove());
  const section = document.createElement("section");
  section.className = "sheet";
  section.append(...page.childNodes);
  return section;
}
window.addEventListener("beforeprint", () => {
  document.documentElement.classList.add("on-paper");
  document.body.append(...frames.map(printed));
});
window.addEventListener("afterprint", () => {
  document.documentElement.classList.remove("on-paper");
  document.querySelectorAll(".sheet").forEach((one) => one.remove());
  frames.forEach((one) => one.contentWindow.dispatchEvent(new Event("afterprint")));
});
show(0);
