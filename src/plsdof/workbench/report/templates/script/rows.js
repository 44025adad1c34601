// Pictures of the rows: predictions, residuals, leverage, distances, scores, contributions.
const rowName = (i) => (rows.labels ? rows.labels[i] : String(rows.number[i]));
const rowWords = (i) => (rows.labels ? "" : "row ") + rowName(i);
const here = () => details[state.place - first].rows;
const bit = (kind) => 1 << ["t2", "q", "leverage", "studentized"].indexOf(kind);
// Rows are marked by drawing a line around them, where there is a mouse.
const marking = (more) => Object.assign({ drag: canZoom() ? "lasso" : false }, more);
const bare = { showlegend: false };

// Sides of a point where its name may stand: across and down, in halves of the name's size.
const SIDES = { middle: 0, center: 0, top: -1, bottom: 1, left: -1, right: 1 };
const PLACES = ["top center", "bottom center", "middle right", "middle left"].concat(
  ["top right", "top left", "bottom right", "bottom left"]
);

// Stand each name where it covers no diamond and no other name, or leave it to the hover text.
function placeNames(spots, names) {
  const apart = (a, b) => Math.abs(a.x - b.x) >= a.w + b.w || Math.abs(a.y - b.y) >= a.h + b.h;
  const taken = spots.map((spot) => ({ x: spot.x, y: spot.y, w: 6, h: 6 }));
  return names.map((name, k) => {
    const size = { w: widthOf(name, 12) / 2 + 3, h: 8 };
    for (const place of PLACES) {
      const [down, across] = place.split(" ").map((word) => SIDES[word]);
      const box = { x: spots[k].x + across * (size.w + 6), y: spots[k].y + down * (size.h + 6), ...size };
      const inside = box.x - box.w >= 0 && box.x + box.w <= spots[k].width;
      if (inside && taken.every((other) => apart(box, other))) {
        taken.push(box);
        return place;
      }
    }
    return "";
  });
}

// Points of the rows where 'kept' is true; those of a few carry their name.
// The frame has the ranges of the axes, what they are called, and the width of the picture.
function pointsOf(kept, x, y, frame, style, named) {
  // Axes and their titles take about so many pixels.
  const [width, height] = [frame.width - 80, isNarrow() ? 210 : 260];
  const spot = (i) => ({
    x: (width * (x[i] - frame.x[0])) / (frame.x[1] - frame.x[0]),
    y: (height * (frame.y[1] - y[i])) / (frame.y[1] - frame.y[0]),
    width: width,
  });
  const short = kept.map((i) => cut(rowName(i), 14));
  const places = named ? placeNames(kept.map(spot), short) : [];
  const chosenOnes = state.marked.length ? { marked: where(kept.map((i) => state.marked.includes(i)), true) } : {};
  return Object.assign(
    chosenOnes,
    {
      x: kept.map((i) => x[i]),
      y: kept.map((i) => y[i]),
      rows: kept,
      hovertext: kept.map((i) => rowWords(i) + "\n" + frame.names[0] + " " + brief(x[i]) + "\n" + frame.names[1] + " " + brief(y[i])),
      text: places.map((place, k) => (place ? short[k] : "")),
      mode: named ? "markers+text" : "markers",
      textposition: places.map((place) => place || "top center"),
    },
    style
  );
}

const where = (flags, wanted) => flags.map((flag, i) => (flag === wanted ? i : -1)).filter((i) => i >= 0);
const FEW = 8;

// Rows beyond a limit of the picture (bits of flags) are diamonds; the row in view has a ring.
function points(one, x, y, bits, frame) {
  const beyond = one.flags.map((flag) => (flag & bits) > 0);
  const far = where(beyond, true);
  return [
    pointsOf(where(beyond, false), x, y, frame, { name: "calibration", marker: { color: theme.lines[0], size: 7, symbol: "circle-open" } }, false),
    pointsOf(far, x, y, frame, { name: "beyond a limit", marker: { color: theme.lines[1], size: 9, symbol: "diamond" } }, far.length <= FEW),
    ring(x[state.row], y[state.row]),
  ];
}

// Predicted against measured: rows of the fit, left out in cross-validation, kept for a test.
function drawFit(width) {
  const one = here();
  const style = { color: theme.reference, width: 1.5 };
  const left = one.left_out || [];
  const tested = test ? details[state.place - first].test.predicted : [];
  const away = content.excluded ? content.excluded.observed : [];
  const ends = around([...range, ...left, ...tested, ...(test ? test.observed : []), ...away]);
  const frame = { x: ends, y: ends, width: width, names: ["measured", "predicted"] };
  /** @type {Trace[]} */
  const data = [{ x: ends, y: ends, mode: "lines", line: style, showlegend: false }];
  const [inside, beyond, mine] = points(one, rows.observed, one.fitted, bit("studentized"), frame);
  data.push(inside, Object.assign(beyond, { name: "calibration", showlegend: false }));
  if (left.length) {
    const marker = { color: theme.lines[4], size: 7, symbol: "square-open" };
    const everybody = left.map((_, i) => i);
    const drawn = pointsOf(everybody, rows.observed, left, frame, { marker: marker, name: "cross-validation" }, false);
    data.push(drawn);
  }
  if (test) data.push(Object.assign(testPoints(test.observed, tested, frame), { bars: testBars(tested) }));
  data.push(fittedLine(ends));
  if (content.excluded) data.push(crosses(content.excluded.observed, content.excluded.predicted[state.place - first]));
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
const lastMerit = () => details[state.place - first].merit.slice(-1)[0];

function fittedLine(ends) {
  const { name, slope, intercept } = lastMerit();
  const style = { color: theme.ink, width: 1.5, dash: "dash" };
  const y = ends.map((v) => (slope === null ? null : intercept + slope * v));
  return { x: ends, y: y, mode: "lines", line: style, name: "line of " + name };
}

function statistics() {
  return details[state.place - first].merit.map((one) => one.error + " " + shown(one.rmse) + ", R² " + shown(one.r2) + ", bias " + brief(one.bias) + ", n " + one.n);
}

// Rows of the test, which took no part in the fit.
function testPoints(x, y, frame) {
  const name = (i) => (test.labels ? test.labels[i] : "row " + test.number[i]);
  const words = (i) => "test " + name(i) + "\n" + frame.names[0] + " " + brief(x[i]) + "\n" + frame.names[1] + " " + brief(y[i]);
  const marker = { color: theme.lines[2], size: 8, symbol: "triangle-up" };
  return { x: x, y: y, mode: "markers", marker: marker, name: "test", hovertext: test.number.map((_, i) => words(i)) };
}

const testHere = () => (test && details[state.place - first].test.t2 ? details[state.place - first].test : null);

// Prediction intervals are those of the chosen model.
function testBars(predicted) {
  if (!test.lower || state.place !== chosen) return undefined;
  const above = predicted.map((v, i) => test.upper[i] - v);
  const below = predicted.map((v, i) => v - test.lower[i]);
  return { above: above, below: below };
}

function drawResiduals(width) {
  const one = here();
  const frame = { x: range, y: around(one.residual), width: width, names: ["fitted", "residual"] };
  const data = points(one, one.fitted, one.residual, bit("studentized"), frame);
  const y = zeroAxis("measured − fitted", { range: frame.y });
  return [data, layout(axis("fitted " + responseName(), { range: range }), y, marking(bare))];
}

function drawLeverage(width) {
  const one = here();
  const scaled = Boolean(one.studentized);
  const values = scaled ? one.studentized : one.residual;
  const title = scaled ? "studentised residual" : "measured − fitted";
  const bits = bit("leverage") | (scaled ? bit("studentized") : 0);
  const beyond = scaled ? one.limits.studentized : null;
  const tested = scaled ? testHere() : null;
  const frame = {
    x: around([...one.leverage, one.limits.leverage, ...(tested ? tested.leverage : [])]),
    y: around([...values, beyond, beyond === null ? null : -beyond, ...(tested ? tested.studentized : [])]),
    width: width,
    names: ["leverage", title],
  };
  const data = points(one, one.leverage, values, bits, frame);
  if (tested) data.push(testPoints(tested.leverage, tested.studentized, frame));
  const shapes = [
    ...limit("x", one.limits.leverage),
    ...limit("y", beyond),
    ...limit("y", beyond === null ? null : -beyond),
  ];
  const y = zeroAxis(title, { range: frame.y });
  return [data, layout(axis("leverage", { range: frame.x }), y, marking({ showlegend: Boolean(tested), limits: shapes }))];
}

function drawDistance(width) {
  const one = here();
  const tested = testHere();
  const frame = {
    x: around([0, ...one.t2, one.limits.t2, ...(tested ? tested.t2 : [])]),
    y: around([0, ...one.q, one.limits.q, ...(tested ? tested.q : [])]),
    width: width,
    names: ["T²", "Q"],
  };
  const data = points(one, one.t2, one.q, bit("t2") | bit("q"), frame);
  if (tested) data.push(testPoints(tested.t2, tested.q, frame));
  const shapes = [...limit("x", one.limits.t2), ...limit("y", one.limits.q)];
  const x = axis("T² (within the model)", { range: frame.x });
  const y = axis("Q (beside the model)", { range: frame.y });
  return [data, layout(x, y, marking({ showlegend: Boolean(tested), limits: shapes }))];
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

// O-PLS: scores coloured as those of the components, and an S-plot of the predictors.
const classOf = (g, count) => (components.ordered ? theme.classes[classColor(g, count)] : theme.lines[g % 5]);

function drawRotated(width) {
  const { predictive: x, beside: y } = content.opls;
  const frame = { x: around(x), y: around(y), width: width, names: ["predictive", "orthogonal"] };
  const data = components.groups.map((name, g) => {
    const marker = { color: classOf(g, components.groups.length), size: 8, symbol: SYMBOLS[g % 5] + (g < 5 ? "-open" : "") };
    return pointsOf(where(components.group_of, g), x, y, frame, { marker: marker, name: cut(name, 40) }, false);
  });
  data.push(ring(x[state.row], y[state.row]));
  const zero = (title, ends) => zeroAxis(title, { range: ends });
  return [data, layout(zero("predictive score", frame.x), zero("orthogonal score", frame.y), marking({}))];
}

function drawSPlot() {
  const { covariance: x, correlation: y } = content.opls;
  const words = features.names.map((name, j) => name + ": covariance " + brief(x[j]) + ", correlation " + brief(y[j]));
  const marker = { color: theme.lines[0], size: 7, symbol: "circle-open" };
  const data = [{ x: x, y: y, mode: "markers", marker: marker, hovertext: words }];
  return [data, layout(zeroAxis("covariance"), zeroAxis("correlation", { range: [-1.05, 1.05] }), bare)];
}

// Scores of two components: groups differ in colour and symbol, rows beyond the ellipse have names.
function drawScores(width) {
  const [a, b] = [state.across - 1, state.up - 1];
  const [x, y] = [column(components.scores, a), column(components.scores, b)];
  const [ra, rb] = [components.half_axes[a], components.half_axes[b]];
  const [tx, ty] = test && test.scores ? [column(test.scores, a), column(test.scores, b)] : [[], []];
  const frame = {
    x: around([...x, ...tx, ra, ra === null ? null : -ra]),
    y: around([...y, ...ty, rb, rb === null ? null : -rb]),
    width: width,
    names: ["component " + (a + 1), "component " + (b + 1)],
  };
  const data = [];
  if (ra !== null && rb !== null && a !== b) {
    const angles = Array.from({ length: 121 }, (_, k) => (k * Math.PI) / 60);
    const style = { color: theme.reference, width: 1.5, dash: "dash" };
    const circle = { x: angles.map((u) => ra * Math.cos(u)), y: angles.map((u) => rb * Math.sin(u)) };
    data.push(Object.assign(circle, { mode: "lines", line: style, name: "T² of these two, " + content.level + "%" }));
  }
  const outside = x.map((v, i) => ra !== null && rb !== null && (v / ra) ** 2 + (y[i] / rb) ** 2 > 1);
  const few = outside.filter(Boolean).length <= 2 * FEW;
  const names = components.groups;
  names.forEach((name, g) => {
    const member = components.group_of.map((k) => k === g);
    const symbol = SYMBOLS[g % 5] + (g < 5 ? "-open" : "");
    const marker = { color: classOf(g, names.length), size: 8, symbol: symbol };
    const style = { marker: marker, name: cut(name, isNarrow() ? 20 : 40), legendgroup: "g" + g };
    data.push(pointsOf(where(member.map((v, i) => v && !outside[i]), true), x, y, frame, style, false));
    const far = where(member.map((v, i) => v && outside[i]), true);
    if (far.length) data.push(pointsOf(far, x, y, frame, Object.assign({}, style, { showlegend: false }), few));
  });
  if (tx.length) data.push(testPoints(tx, ty, frame));
  if (content.excluded) data.push(crosses(column(content.excluded.scores, a), column(content.excluded.scores, b)));
  data.push(ring(x[state.row], y[state.row]));
  const title = (k) => "component " + (k + 1) + " (" + components.x_share[k] + "% of X, " + components.y_share[k] + "% of y)";
  const short = (k) => "component " + (k + 1) + " (" + Math.round(components.x_share[k]) + "% of X)";
  const words = isNarrow() ? short : title;
  const zero = (k, ends) => zeroAxis(words(k), { range: ends });
  return [data, layout(zero(a, frame.x), zero(b, frame.y), marking({ height: isNarrow() ? 330 : 430 }))];
}
