// The control chart of a check, for its page and for the app.
/** Errors in the order of the rows, with warning and action limits. @param {any} chart */
function drawCheck(chart) {
  const at = count(chart.errors);
  const words = chart.errors.map((v, i) => "control sample " + at[i] + "\nerror / expected size " + brief(v));
  const broken = at.filter((i) => Object.values(chart.alarms || {}).some((where) => where[i - 1]));
  const data = [
    { name: "error / expected size", x: at, y: chart.errors, mode: "markers", marker: { color: theme.lines[0], size: 7 }, hovertext: words },
    { name: "against a rule of the chart", x: broken, y: broken.map((i) => chart.errors[i - 1]), mode: "markers", marker: { color: theme.lines[1], size: 13, symbol: "circle-open", width: 2.5 } },
    ...(chart.ewma.length ? [{ name: "moving average", x: at, y: chart.ewma, mode: "lines", line: { color: theme.lines[2] } }] : []),
  ];
  const bounds = [chart.warning, chart.action].filter((v) => v !== null).flatMap((v) => [v, -v]);
  const edge = 1.05 * Math.max(...[...chart.errors, ...bounds].filter((v) => v !== null).map(Math.abs), 1e-300);
  return [data, layout(axis("control sample"), zeroAxis("error / expected size", { range: [-edge, edge] }), { limits: bounds.map((v) => ({ y: v, style: "dash" })) })];
}

const count = (values) => values.map((_, i) => i + 1);
