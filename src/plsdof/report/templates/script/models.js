// Curves over the models: Degrees of Freedom, criterion, errors on new rows, other methods.
function modelAxis() {
  if (byComponents) {
    // Of a few models each has a tick; half components would look like whole ones.
    const steps = models.parameter.length > 15 ? {} : { dtick: 1 };
    return axis("number of components", Object.assign({ tickformat: "d", rangemode: "tozero" }, steps));
  }
  return logAxis("penalty alpha (richer models to the right)", models.parameter, { autorange: "reversed" });
}

function curve(name, all, style, more) {
  const values = all.slice(0, single);
  const text = values.map((v, i) => label(models.words[i] + ": " + name + " " + shown(v)));
  return Object.assign(
    {
      x: models.parameter.slice(0, single),
      y: values,
      name: label(name),
      mode: single > 40 ? "lines" : "lines+markers",
      line: { color: theme.lines[style], dash: DASHES[style], width: 2 },
      marker: { symbol: SYMBOLS[style], size: 7 },
      text: text,
      hovertemplate: "%{text}<extra></extra>",
    },
    more
  );
}

function chosenLine() {
  const x = models.parameter[chosen];
  const style = { color: theme.reference, width: 1.5, dash: "dot" };
  return { type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: style };
}

function drawDof() {
  const differs = models.dof.some((v, i) => v !== models.naive_dof[i]);
  const data = [curve("exact", models.dof, 0)];
  if (differs) data.push(curve("naive: components + 1", models.naive_dof, 1));
  data.push(ring(models.parameter[state.place], models.dof[state.place]));
  const y = axis("Degrees of Freedom", { rangemode: "tozero" });
  return [data, layout(modelAxis(), y, { shapes: [chosenLine()], showlegend: differs })];
}

// Values up to the top of an axis, and its range if there are others above.
function below(top, log, values) {
  const known = values.filter((v) => v !== null);
  const inside = known.filter((v) => top === null || v <= top);
  if (!inside.length || inside.length === known.length) return [values, {}];
  const least = Math.min(...inside);
  return [inside, { range: log ? [Math.log10(0.8 * least), Math.log10(top)] : [Math.min(0, least), top] }];
}

function drawCriterion() {
  const other = criterion.same_axis || !criterion.name ? {} : { yaxis: "y2" };
  const data = [];
  if (models.cv_error.some((v) => v !== null)) {
    const known = models.cv_error.map((v, i) => (v === null ? -1 : i)).filter((i) => i >= 0);
    const spread = (i) => models.cv_std_error[i] || 0;
    const floor = Math.min(...known.map((i) => models.cv_error[i])) / 10;
    const low = known.map((i) => Math.max(models.cv_error[i] - spread(i), floor));
    const high = known.map((i) => models.cv_error[i] + spread(i));
    data.push(...band(known.map((i) => models.parameter[i]), low, high, theme["cv-band"], other));
    data.push(curve("cross-validation", models.cv_error, 1, other));
  }
  const drawn = criterion.name ? models.score : models.cv_error;
  if (criterion.name) data.push(curve(criterion.name, models.score, 0));
  data.push(ring(models.parameter[state.place], drawn[state.place]));
  const squared = criterion.same_axis || !criterion.name ? " (response²)" : "";
  const title = (criterion.same_axis && data.length > 2 ? "mean squared error" : criterion.name || "cross-validated error") + squared;
  const values = criterion.same_axis ? [...models.score, ...models.cv_error] : drawn;
  const [known, ends] = below(criterion.top, criterion.log, values);
  const y = valueAxis(title, criterion.log, known, ends);
  const more = { shapes: [chosenLine()] };
  if (other.yaxis) {
    const right = { overlaying: "y", side: "right", showgrid: false };
    more.yaxis2 = valueAxis("cross-validated error (response²)", criterion.cv_log, models.cv_error, right);
  }
  return [data, layout(modelAxis(), y, more)];
}

// Where leave-one-out by its first-order formula cannot be relied on, its markers are open.
function drawErrors() {
  const data = content.errors.map((one, i) => {
    const more = {};
    if (one.std_error) {
      more.error_y = { type: "data", array: one.std_error, thickness: 1.2, width: 4, color: theme.lines[i] };
    }
    if (one.reliable) {
      more.marker = { size: 7, symbol: one.reliable.map((good) => SYMBOLS[i] + (good ? "" : "-open")) };
    }
    return curve(one.name, one.value, i, more);
  });
  const [main] = content.errors;
  data.push(ring(models.parameter[state.place], main.value[state.place]));
  const { log, top } = content.errors_axis;
  const [values, ends] = below(top, log, [].concat(...content.errors.map((one) => one.value)));
  const y = valueAxis("error on new rows (" + responseName() + ")", log, values, ends);
  return [data, layout(modelAxis(), y, { shapes: [chosenLine()] })];
}

// Bars as one outline: the library is started without bar charts.
function drawPermutation() {
  const { edges, counts, score } = content.permutation;
  const x = [edges[0], ...counts.flatMap((_, k) => [edges[k], edges[k + 1]]), edges[counts.length]];
  const y = [0, ...counts.flatMap((v) => [v, v]), 0];
  const outline = { color: theme.lines[0], width: 1.5 };
  const bars = { x: x, y: y, mode: "lines", line: outline, fill: "tozeroy", name: "permuted responses", hoverinfo: "skip" };
  const style = { color: theme.lines[1], width: 3 };
  const mine = { x: [score, score], y: [0, Math.max(...counts)], mode: "lines", line: style, name: "the data", hovertemplate: "the data: " + shown(score) + "<extra></extra>" };
  const plan = layout(axis("best score over all models (response²)", { rangemode: "tozero" }), axis("number of permutations", { rangemode: "tozero" }));
  return [[bars, mine], plan];
}

function drawComparison() {
  const data = comparison.methods.map((one, i) => ({
    x: one.dof,
    y: one.value,
    name: label(one.name),
    mode: "lines+markers",
    line: { color: theme.lines[i % 5], dash: DASHES[i % 5], width: 2 },
    marker: { symbol: SYMBOLS[i % 5], size: 7 },
    text: one.value.map((v, k) =>
      label(one.name + ", " + one.words[k] + ": DoF " + shown(one.dof[k]) + ", error " + shown(v))
    ),
    hovertemplate: "%{text}<extra></extra>",
  }));
  const y = valueAxis(comparison.title, comparison.log, [].concat(...comparison.methods.map((one) => one.value)));
  const shape = Object.assign(chosenLine(), { x0: models.dof[chosen], x1: models.dof[chosen] });
  return [data, layout(axis("Degrees of Freedom"), y, { shapes: [shape] })];
}
