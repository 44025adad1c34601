// Pictures of the rows: predictions, residuals, leverage, distances, scores, contributions.
const rowName = (i) => (rows.labels ? rows.labels[i] : String(rows.number[i]));
const rowWords = (i) => (rows.labels ? "" : "row ") + rowName(i);
const here = () => details[state.place - first].rows;
const bit = (kind) => 1 << ["t2", "q", "leverage", "studentized"].indexOf(kind);
// Rows are marked by drawing a line around them, where there is a mouse.
const marking = (more) => Object.assign({ drag: canZoom() ? "lasso" : false }, more);
const where = (flags, wanted) => flags.map((flag, i) => (flag === wanted ? i : -1)).filter((i) => i >= 0);
const FEW = 8;

// What a pointer shows: the name of a row, and what the axes say about it.
const hover = (name, names, x, y) => name + "\n" + names[0] + " " + brief(x) + "\n" + names[1] + " " + brief(y);

// Points of the rows that are kept; 'names' is what the axes are called. Those of a few carry their name.
function pointsOf(kept, x, y, names, style, named) {
  return Object.assign(
    {
      x: kept.map((i) => x[i]),
      y: kept.map((i) => y[i]),
      rows: kept,
      hovertext: kept.map((i) => hover(rowWords(i), names, x[i], y[i])),
      text: named ? kept.map((i) => cut(rowName(i), 14)) : [],
      mode: named ? "markers+text" : "markers",
    },
    state.marked.length ? { marked: where(kept.map((i) => state.marked.includes(i)), true) } : {},
    style
  );
}

// Rows beyond a limit of the picture (bits of flags) are diamonds; the row in view has a ring.
function points(one, x, y, bits, names) {
  const beyond = one.flags.map((flag) => (flag & bits) > 0);
  const far = where(beyond, true);
  return [
    pointsOf(where(beyond, false), x, y, names, { name: "calibration", marker: { color: theme.lines[0], size: 7, symbol: "circle-open" } }, false),
    pointsOf(far, x, y, names, { name: "beyond a limit", marker: { color: theme.lines[1], size: 9, symbol: "diamond" } }, far.length <= FEW),
    ring(x[state.row], y[state.row]),
  ];
}

// Rows of the test, which took no part in the fit.
function testPoints(x, y, names) {
  const name = (i) => "test " + (test.labels ? test.labels[i] : "row " + test.number[i]);
  const marker = { color: theme.lines[2], size: 8, symbol: "triangle-up" };
  return { x: x, y: y, mode: "markers", marker: marker, name: "test", hovertext: test.number.map((_, i) => hover(name(i), names, x[i], y[i])) };
}

const testHere = () => (test && details[state.place - first].test.t2 ? details[state.place - first].test : null);

// Predicted against measured: rows of the fit, left out in cross-validation, kept for a test.
function drawFit() {
  const one = here();
  const left = one.left_out || [];
  const tested = test ? details[state.place - first].test.predicted : [];
  const away = content.excluded;
  const ends = around([...range, ...left, ...tested, ...(test ? test.observed : []), ...(away ? away.observed : [])]);
  const names = ["measured", "predicted"];
  /** @type {Trace[]} */
  const data = [{ x: ends, y: ends, mode: "lines", line: { color: theme.reference, width: 1.5 }, showlegend: false }];
  const [inside, beyond, mine] = points(one, rows.observed, one.fitted, bit("studentized"), names);
  data.push(inside, Object.assign(beyond, { name: "calibration", showlegend: false }));
  if (left.length) {
    const marker = { color: theme.lines[4], size: 7, symbol: "square-open" };
    data.push(pointsOf(left.map((_, i) => i), rows.observed, left, names, { marker: marker, name: "cross-validation" }, false));
  }
  if (test) data.push(Object.assign(testPoints(test.observed, tested, names), { bars: testBars(tested) }));
  data.push(fittedLine(ends));
  if (away) data.push(crosses(away.observed, away.predicted[state.place - first]));
  data.push(mine);
  const name = responseName();
  const plan = { note: { text: statistics() }, height: isNarrow() ? 360 : 400 };
  return [data, layout(axis("measured " + name, { range: ends }), axis("predicted " + name, { range: ends }), marking(plan))];
}

// Rows that were excluded: crosses where the models would see them.
function crosses(x, y) {
  const away = content.excluded;
  const words = away.number.map((number, k) => "excluded, row " + number + "\n" + away.why[k]);
  const marker = { color: theme.reference, size: 8, symbol: "x-thin", width: 2 };
  return { x: x, y: y, mode: "markers", marker: marker, name: "excluded", hovertext: words };
}

// The line through the most honest predictions there are, those of a test or of held-out rows.
function fittedLine(ends) {
  const [[name, { slope, intercept }]] = Object.entries(details[state.place - first].merit).slice(-1);
  const y = ends.map((v) => (slope === null ? null : intercept + slope * v));
  return { x: ends, y: y, mode: "lines", line: { color: theme.ink, width: 1.5, dash: "dash" }, name: "line of " + name };
}

const RMSE = { calibration: "RMSEC", "cross-validation": "RMSECV", test: "RMSEP" };

function statistics() {
  const merit = Object.entries(details[state.place - first].merit);
  return merit.map(([name, one]) => RMSE[name] + " " + shown(one.rmse) + ", R² " + shown(one.r2) + ", n " + one.n);
}

// Prediction intervals are those of the chosen model.
function testBars(predicted) {
  if (!test.lower || state.place !== chosen) return undefined;
  return { above: predicted.map((v, i) => test.upper[i] - v), below: predicted.map((v, i) => v - test.lower[i]) };
}

/**
 * Two numbers of every row, with their limits; a limit may hold on both sides of zero.
 * @param {any} x @param {any} y as {values, name, title, range, from, limit, both, tested} @param {number} bits
 */
function overRows(x, y, bits) {
  const ends = (of) => (of.both ? [of.limit, of.limit === null ? null : -of.limit] : [of.limit]);
  const window = (of) => of.range || around([of.from, ...of.values, ...ends(of), ...(of.tested || [])]);
  const names = [x.name, y.name];
  const data = points(here(), x.values, y.values, bits, names);
  if (x.tested) data.push(testPoints(x.tested, y.tested, names));
  const limits = [...ends(x).flatMap((v) => limit("x", v)), ...ends(y).flatMap((v) => limit("y", v))];
  const up = axis(y.title || y.name, { range: window(y), zeroline: y.from === undefined });
  return [data, layout(axis(x.title || x.name, { range: window(x) }), up, marking({ showlegend: Boolean(x.tested), limits: limits }))];
}

function drawResiduals() {
  const one = here();
  return overRows({ values: one.fitted, name: "fitted", title: "fitted " + responseName(), range: range }, { values: one.residual, name: "residual", title: "measured − fitted" }, bit("studentized"));
}

function drawLeverage() {
  const one = here();
  const across = { values: one.leverage, name: "leverage", limit: one.limits.leverage };
  if (!one.studentized) return overRows(across, { values: one.residual, name: "measured − fitted" }, bit("leverage"));
  const tested = testHere() || {};
  const up = { values: one.studentized, name: "studentised residual", limit: one.limits.studentized, both: true, tested: tested.studentized };
  return overRows(Object.assign(across, { tested: tested.leverage }), up, bit("leverage") | bit("studentized"));
}

function drawDistance() {
  const one = here();
  const tested = testHere() || {};
  const across = { values: one.t2, name: "T²", title: "T² (within the model)", from: 0, limit: one.limits.t2, tested: tested.t2 };
  return overRows(across, { values: one.q, name: "Q", title: "Q (beside the model)", from: 0, limit: one.limits.q, tested: tested.q }, bit("t2") | bit("q"));
}

// Contributions to T² and Q of the row in view, by the formulas of plsdof.chemometrics.contributions.
function contributions(m) {
  const { columns: width } = components.loadings;
  const [P, R] = [unpacked(components.loadings), unpacked(components.rotations)];
  const x = line(components.x, state.row);
  const t = line(components.scores, state.row).slice(0, m);
  const scaled = t.map((v, j) => v / components.spread[j] ** 2);
  const times = (matrix, k, vector) => vector.reduce((sum, v, j) => sum + matrix[k * width + j] * v, 0);
  // The numbers have seven digits: what is smaller is rounding.
  const least = 1e-6 * Math.max(...x.map(Math.abs));
  const residual = x.map((v, k) => v - times(P, k, t)).map((e) => (Math.abs(e) > least ? e : 0));
  return { t2: x.map((v, k) => v * times(R, k, scaled)), q: residual.map((e) => e * Math.abs(e)) };
}

function drawContributions(kind, title) {
  const m = componentsAt(state.place);
  const values = m > components.count ? [] : contributions(m)[kind];
  const series = [{ name: "contribution", values: values, style: kind === "q" ? 1 : 0, dash: 0, fill: isNamed ? undefined : "zero" }];
  return overFeatures(series, "part of " + title, components.picked.slice(0, values.length), null);
}

// Rows in groups, which differ in colour and symbol; those far away have names of their own.
function inGroups(names, of, ordered, x, y, axes, far, named) {
  return names.flatMap((name, g) => {
    const color = ordered ? theme.classes[classColor(g, names.length)] : theme.lines[g % 5];
    const style = { marker: { color: color, size: 8, symbol: SYMBOLS[g % 5] + (g < 5 ? "-open" : "") }, name: cut(name, isNarrow() ? 20 : 40) };
    const member = (isFar) => where(of.map((k, i) => k === g && (far ? far[i] : false) === isFar), true);
    const found = [pointsOf(member(false), x, y, axes, style, false)];
    if (far && member(true).length) found.push(pointsOf(member(true), x, y, axes, Object.assign({}, style, { showlegend: false }), named));
    return found;
  });
}

// O-PLS: scores coloured as those of the components, and an S-plot of the predictors.
function drawRotated() {
  const { predictive: x, beside: y } = content.opls;
  const data = inGroups(components.groups, components.group_of, components.ordered, x, y, ["predictive", "orthogonal"], null, false);
  return [[...data, ring(x[state.row], y[state.row])], layout(zeroAxis("predictive score", { range: around(x) }), zeroAxis("orthogonal score", { range: around(y) }), marking({}))];
}

function drawSPlot() {
  const { covariance: x, correlation: y } = content.opls;
  const words = features.names.map((name, j) => hover(name, ["covariance", "correlation"], x[j], y[j]));
  const marker = { color: theme.lines[0], size: 7, symbol: "circle-open" };
  const data = [{ x: x, y: y, mode: "markers", marker: marker, hovertext: words }];
  return [data, layout(zeroAxis("covariance"), zeroAxis("correlation", { range: [-1.05, 1.05] }), { showlegend: false })];
}

// Scores of two components: groups differ in colour and symbol, rows beyond the ellipse have names.
function drawScores() {
  const [a, b] = [state.across - 1, state.up - 1];
  const [x, y] = [column(components.scores, a), column(components.scores, b)];
  const [ra, rb] = [components.half_axes[a], components.half_axes[b]];
  const [tx, ty] = test && test.scores ? [column(test.scores, a), column(test.scores, b)] : [[], []];
  const names = ["component " + (a + 1), "component " + (b + 1)];
  const data = [];
  if (ra !== null && rb !== null && a !== b) {
    const angles = Array.from({ length: 121 }, (_, k) => (k * Math.PI) / 60);
    const style = { color: theme.reference, width: 1.5, dash: "dash" };
    const circle = { x: angles.map((u) => ra * Math.cos(u)), y: angles.map((u) => rb * Math.sin(u)) };
    data.push(Object.assign(circle, { mode: "lines", line: style, name: "T² of these two, " + content.level + "%" }));
  }
  const outside = x.map((v, i) => ra !== null && rb !== null && (v / ra) ** 2 + (y[i] / rb) ** 2 > 1);
  data.push(...inGroups(components.groups, components.group_of, components.ordered, x, y, names, outside, outside.filter(Boolean).length <= 2 * FEW));
  if (tx.length) data.push(testPoints(tx, ty, names));
  if (content.excluded) data.push(crosses(column(content.excluded.scores, a), column(content.excluded.scores, b)));
  data.push(ring(x[state.row], y[state.row]));
  const ends = (values, r) => around([...values, r, r === null ? null : -r]);
  const title = (k) => "component " + (k + 1) + " (" + Math.round(components.x_share[k]) + "% of X" + (isNarrow() ? ")" : ", " + Math.round(components.y_share[k]) + "% of y)");
  return [data, layout(zeroAxis(title(a), { range: ends([...x, ...tx], ra) }), zeroAxis(title(b), { range: ends([...y, ...ty], rb) }), marking({ height: isNarrow() ? 330 : 430 }))];
}
