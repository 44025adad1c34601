// The control charts of a check: drawn here for its page and for the app.
/** Errors in the order of the rows, with warning and action limits. @param {HTMLElement} holder @param {any} chart @param {number} [width] */
function drawCheck(holder, chart, width) {
  const theme = themeOf();
  const at = chart.errors.map((_, i) => i + 1);
  const words = chart.errors.map((v, i) => "control sample " + (i + 1) + "\nerror / expected size " + Number(v.toPrecision(3)));
  const broken = at.filter((i) => Object.values(chart.alarms || {}).some((where) => where[i - 1]));
  const mean = chart.ewma.length ? [{ name: "moving average", x: at, y: chart.ewma, mode: "lines", line: { color: theme.lines[2] } }] : [];
  const data = [
    { name: "error / expected size", x: at, y: chart.errors, mode: "markers", marker: { color: theme.lines[0], size: 7 }, hovertext: words },
    { name: "alarm", x: broken, y: broken.map((i) => chart.errors[i - 1]), mode: "markers", marker: { color: theme.lines[1], size: 13, symbol: "circle-open", width: 2.5 } },
    ...mean,
  ];
  const bounds = [chart.warning, -chart.warning, chart.action, -chart.action];
  const shown = [...chart.errors, chart.action, -chart.action].filter((v) => v !== null);
  const edge = 1.05 * Math.max(...shown.map(Math.abs), 1e-300);
  plot(holder, data, {
    x: { title: "control sample" },
    y: { title: "error / expected size", zeroline: true, range: [-edge, edge] },
    height: width ? 290 : 320, width: width, showlegend: true,
    limits: bounds.filter((v) => v !== null).map((v) => ({ y: v, style: "dash" })),
  });
}
