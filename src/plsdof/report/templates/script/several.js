const pages = JSON.parse(document.getElementById("pages").textContent);
const frames = Array.from(document.querySelectorAll("iframe"));
const buttons = Array.from(document.querySelectorAll("nav button"));
function load(i) {
  if (!frames[i].srcdoc) frames[i].srcdoc = pages.pages[i].split(pages.token).join(pages.shared);
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
const whole = (one) => one.contentDocument.documentElement.scrollHeight + "px";
const stretch = (height) => frames.forEach((one) => (one.style.height = height(one)));
window.addEventListener("beforeprint", () => stretch(whole));
window.addEventListener("afterprint", () => stretch(() => ""));
show(0);
