// The page of a check: its data are in the page.
const content = JSON.parse(/** @type {HTMLElement} */ (document.getElementById("data")).textContent || "");
const count = (values) => values.map((_, i) => i + 1);
const PICTURES = {
  "chart-errors": (holder, width) => drawCheck(holder, content.chart, width),
  "chart-unlike": (holder, width, theme) => {
    const shares = content.checks.map((one) => 100 * one.unlike);
    const line = { name: "unusual", x: count(shares), y: shares, mode: "lines+markers", line: { color: theme.lines[0] }, marker: { color: theme.lines[0], size: 7 } };
    plot(holder, [line], { x: { title: "check", dtick: Math.ceil(shares.length / 8) }, y: { title: "unusual rows, %", tozero: true }, height: 320, width: width });
  },
  "chart-values": (holder, width, theme) => {
    const { reference, predicted } = content.columns;
    const known = reference.filter((v) => v !== null);
    const ends = [Math.min(...known), Math.max(...known)];
    const points = { name: "rows", x: reference, y: predicted, mode: "markers", marker: { color: theme.lines[0] } };
    const equal = { name: "equal", x: ends, y: ends, mode: "lines", line: { color: theme.reference, dash: "dash" } };
    plot(holder, [points, equal], { x: { title: "reference" }, y: { title: "predicted" }, height: 320, width: width, showlegend: true });
  },
  "chart-distance": (holder, width, theme) => {
    const names = { t2: "T²", q: "Q" };
    const data = Object.keys(content.limits).map((name, i) => {
      const values = content.columns[name].map((v) => v / content.limits[name]);
      return { name: names[name], x: count(values), y: values, mode: "markers", marker: { color: theme.lines[i], symbol: i ? "square" : "circle" } };
    });
    plot(holder, data, { x: { title: "row" }, y: { title: "value / limit", tozero: true }, height: 320, width: width, showlegend: true, limits: [{ y: 1, style: "dash" }] });
  },
};

function drawAll(onPaper) {
  document.documentElement.classList.toggle("on-paper", onPaper);
  Object.entries(PICTURES).forEach(([id, draw]) => {
    const holder = document.getElementById(id);
    if (holder) draw(holder, onPaper ? (holder.closest(".pair") ? 320 : 660) : undefined, themeOf());
  });
  document.documentElement.dataset.complete = "true";
}

window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawAll(false));
window.addEventListener("beforeprint", () => drawAll(true));
window.addEventListener("afterprint", () => drawAll(false));
document.querySelectorAll(".chart").forEach((one) => watchWidth(/** @type {HTMLElement} */ (one), () => drawAll(document.documentElement.classList.contains("on-paper"))));
drawAll(false);
