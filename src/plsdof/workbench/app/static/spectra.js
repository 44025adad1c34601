// Preprocessing as a chain of steps, ranges of the spectrum, and colours of the rows.
const PREPARATIONS = {
  snv: ["Standard normal variate (snv)"],
  msc: ["Multiplicative scatter correction (msc)"],
  savgol: ["Savitzky-Golay derivative (savgol)", ["window", 11], ["degree", 2], ["derivative", 1]],
  smooth: ["Savitzky-Golay smoothing (smooth)", ["window", 11], ["degree", 2]],
  detrend: ["Detrending (detrend)"],
  baseline: ["Baseline correction (baseline)"],
  center: ["Centring of every spectrum (center)"],
  autoscale: ["Autoscaling of the columns (autoscale)"],
  auto: ["Compare the usual ones and choose (auto)"],
};
const chain = () => session.options.chain || [];
const prepare = (steps) => send({ do: "prepare", chain: steps });
let ranges = [];

function showChain() {
  const steps = chain();
  const moved = (i, j) => steps.map((one, k) => (k === i ? steps[j] : k === j ? steps[i] : one));
  const items = steps.map(([text, on], i) => {
    const box = made("input", { type: "checkbox", checked: on, onchange: () => prepare(steps.map((one, k) => (k === i ? [text, !on] : one))) });
    const name = (what) => ({ "aria-label": what + " " + text });
    return element(
      "li",
      element("label", box, " " + text),
      button("↑", () => prepare(moved(i, i - 1)), Object.assign({ disabled: i === 0 }, name("Earlier:"))),
      button("↓", () => prepare(moved(i, i + 1)), Object.assign({ disabled: i === steps.length - 1 }, name("Later:"))),
      button("Remove", () => prepare(steps.filter((_, k) => k !== i)), name("Remove"))
    );
  });
  byId("chain").replaceChildren(...(items.length ? items : [made("li", { className: "none" }, "none: the spectra as they were measured")]));
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
  // The automatic choice is among whole chains, so it stands alone.
  prepare([step, ...chain()].some(([text]) => text === "auto") ? [step] : [...chain(), step]);
});

// Ranges are gathered first, then kept or left out.
function showRanges() {
  const chips = ranges.map((one, i) => button(one + " ×", () => { ranges.splice(i, 1); showRanges(); }, { className: "chip", "aria-label": "Remove the range " + one }));
  const { features: kept, exclude } = session.options;
  const now = (kept ? "Kept: " + kept.join(", ") + ". " : "") + (exclude ? "Left out: " + exclude.join(", ") + "." : "");
  byId("ranges").replaceChildren(...(chips.length ? chips : ["No range chosen. "]), " " + now);
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
document.addEventListener("brushed", (event) => addRange(...event.detail));
byId("range-add").addEventListener("click", () => addRange(byId("range-low").valueAsNumber, byId("range-high").valueAsNumber));
byId("range-keep").addEventListener("click", () => useRanges({ features: ranges }));
byId("range-drop").addEventListener("click", () => useRanges({ exclude: [...(session.options.exclude || []), ...ranges] }));
byId("range-all").addEventListener("click", () => useRanges({ features: null, exclude: null }));

// Colours by any column that is not a predictor; the response without a choice.
let colouring = "";

function showColours() {
  const names = columns.filter((one) => one.role !== "predictor").map((one) => one.name);
  const box = byId("colour");
  box.replaceChildren(made("option", { value: "" }, "the response"), ...names.map((name) => made("option", { value: name }, cut(name, 40))));
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
