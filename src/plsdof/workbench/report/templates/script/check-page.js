// The page of a check: its data are in the page.
content = JSON.parse(byId("data").textContent);
const valuesOf = (name) => content.rows.map((row) => row[name]);

function drawUnlike() {
  const shares = content.checks.map((one) => 100 * one.unlike);
  const line = { x: count(shares), y: shares, mode: "lines+markers", line: { color: theme.lines[0] }, marker: { size: 7 } };
  return [[line], layout(axis("check", { dtick: Math.ceil(shares.length / 8) }), axis("unusual rows, %", { tozero: true }))];
}

function drawValues() {
  const [reference, predicted] = [valuesOf("reference"), valuesOf("predicted")];
  const known = reference.filter((v) => v !== null);
  const ends = [Math.min(...known), Math.max(...known)];
  const equal = { name: "equal", x: ends, y: ends, mode: "lines", line: { color: theme.reference, dash: "dash" } };
  return [[{ name: "rows", x: reference, y: predicted, mode: "markers" }, equal], layout(axis("reference"), axis("predicted"))];
}

function drawLimits() {
  const names = { t2: "T²", q: "Q" };
  const data = Object.entries(content.limits || {}).map(([name, bound], i) => {
    const values = valuesOf(name).map((v) => v / bound);
    return { name: names[name], x: count(values), y: values, mode: "markers", marker: { color: theme.lines[i], symbol: SYMBOLS[i] } };
  });
  return [data, layout(axis("row"), axis("value / limit", { tozero: true }), { limits: limit("y", 1) })];
}

readTheme();
add("chart-errors", () => drawCheck(content.chart));
add("chart-unlike", drawUnlike);
add("chart-values", drawValues);
add("chart-distance", drawLimits);
drawPage();
