"use strict";
// The control charts of a check.
(function () {
  const content = JSON.parse(document.getElementById("data").textContent);
  const styles = () => getComputedStyle(document.documentElement);
  const color = (name) => styles().getPropertyValue("--" + name).trim();
  // On paper, pictures have a fixed width: half a page in pairs.
  let onPaper = false;
  const count = (values) => values.map((_, i) => i + 1);

  function axis(title, more) {
    return Object.assign(
      { title: { text: title }, automargin: true, fixedrange: true, gridcolor: color("grid"), zerolinecolor: color("reference") },
      more
    );
  }

  function draw(id, traces, x, y, limits) {
    const where = document.getElementById(id);
    if (!where) return;
    const shapes = limits.map((value) => ({
      type: "line", xref: "paper", x0: 0, x1: 1, y0: value, y1: value,
      line: { color: color("reference"), width: 1.5, dash: "dash" },
    }));
    const layout = {
      xaxis: x, yaxis: y, shapes: shapes, height: 320, width: onPaper ? (where.closest(".pair") ? 320 : 660) : undefined, margin: { l: 10, r: 12, t: 12, b: 10 },
      font: { family: "system-ui, 'DejaVu Sans', sans-serif", size: 13, color: color("ink") },
      paper_bgcolor: color("paper"), plot_bgcolor: color("paper"), dragmode: false, separators: ".",
      showlegend: traces.length > 1, legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom" },
    };
    Plotly.react(where, traces, layout, { displayModeBar: false, responsive: true });
  }

  function points(name, x, y, index, more) {
    return Object.assign({ name: name, x: x, y: y, mode: "markers", marker: { color: color("line-" + index), size: 7 } }, more);
  }

  function errors() {
    const chart = content.chart;
    const at = count(chart.errors);
    const broken = at.filter((i) => Object.values(chart.alarms).some((where) => where[i - 1]));
    const traces = [
      points("error", at, chart.errors, 1),
      points("alarm", broken, broken.map((i) => chart.errors[i - 1]), 2, { marker: { color: color("line-2"), size: 12, symbol: "circle-open", line: { width: 2 } } }),
      { name: "moving average", x: at, y: chart.ewma, mode: "lines", line: { color: color("line-3"), width: 2 } },
    ];
    const limits = [0, chart.warning, -chart.warning, chart.action, -chart.action];
    draw("chart-errors", traces, axis("control sample", { zeroline: false }), axis("predicted − reference"), limits);
  }

  function unlike() {
    const shares = content.checks.map((one) => 100 * one.unlike);
    draw("chart-unlike", [points("unusual", count(shares), shares, 1, { mode: "lines+markers" })], axis("check", { dtick: Math.ceil(shares.length / 8) }), axis("unusual rows, %", { rangemode: "tozero" }), []);
  }

  function values() {
    const rows = content.columns;
    const known = rows.reference.filter((v) => v !== null);
    const ends = [Math.min(...known), Math.max(...known)];
    const line = { name: "equal", x: ends, y: ends, mode: "lines", line: { color: color("reference"), dash: "dash" } };
    draw("chart-values", [points("rows", rows.reference, rows.predicted, 1), line], axis("reference"), axis("predicted"), []);
  }

  function distance() {
    const names = { t2: "T²", q: "Q" };
    const traces = Object.keys(content.limits).map((name, i) =>
      points(names[name], count(content.columns[name]), content.columns[name].map((v) => v / content.limits[name]), i + 1)
    );
    draw("chart-distance", traces, axis("row"), axis("value / limit", { rangemode: "tozero" }), [1]);
  }

  function drawAll() {
    errors();
    unlike();
    if (content.n) values();
    distance();
    document.documentElement.dataset.complete = "true";
  }

  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  function print(now) {
    onPaper = now;
    document.documentElement.classList.toggle("on-paper", now);
    drawAll();
  }
  window.addEventListener("beforeprint", () => print(true));
  window.addEventListener("afterprint", () => print(false));
  drawAll();
})();
