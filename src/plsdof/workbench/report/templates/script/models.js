// Curves over the models: Degrees of Freedom, cross-validated errors, criterion.
function modelAxis() {
  if (byComponents) {
    // Of a few models each has a tick; half components would look like whole ones.
    const steps = models.parameter.length > 15 ? {} : { dtick: 1 };
    return axis("number of components", Object.assign({ tozero: true }, steps));
  }
  return logAxis("penalty alpha (richer models to the right)", models.parameter, { reversed: true });
}

function curve(name, all, style, more) {
  const values = all.slice(0, single);
  const base = { x: models.parameter.slice(0, single), y: values, name: name, mode: single > 40 ? "lines" : "lines+markers" };
  const look = { line: { color: theme.lines[style], dash: DASHES[style], width: 2 }, marker: { symbol: SYMBOLS[style], size: 7 } };
  return Object.assign(base, look, { hovertext: values.map((v, i) => models.words[i] + ": " + name + " " + shown(v)) }, more);
}

// Curves over the models, with the chosen one and a ring at the one on the slider.
function overModels(curves, values, y, more) {
  const plan = { limits: [{ x: models.parameter[chosen], style: "dot" }] };
  return [[...curves, ring(models.parameter[state.place], values[state.place])], layout(modelAxis(), y, Object.assign(plan, more))];
}

function drawDof() {
  const differs = models.dof.some((v, i) => v !== models.naive_dof[i]);
  const naive = differs ? [curve("naive: components + 1", models.naive_dof, 1)] : [];
  return overModels([curve("exact", models.dof, 0), ...naive], models.dof, axis("Degrees of Freedom", { tozero: true }), { showlegend: differs });
}

function drawCriterion() {
  const y = valueAxis(criterion.name + criterion.unit, criterion.log, models.score);
  return overModels([curve(criterion.name, models.score, 0)], models.score, y, { showlegend: false });
}

// Errors of the rows of the fit, of held-out rows with a band of one standard error, of a test.
function drawErrors() {
  const values = models.rmsecv;
  const known = values.map((v, i) => (v === null || i >= single ? -1 : i)).filter((i) => i >= 0);
  const spread = (i) => models.rmsecv_std_error[i] || 0;
  // A logarithmic axis has no place for zero.
  const floor = Math.min(...known.map((i) => values[i])) / 10;
  const low = known.map((i) => Math.max(values[i] - spread(i), floor));
  const high = known.map((i) => values[i] + spread(i));
  const data = band(known.map((i) => models.parameter[i]), low, high, theme["cv-band"]);
  const bare = { mode: "lines", line: { color: theme.lines[0], dash: DASHES[1], width: 1.5 } };
  const positive = models.rmsec.map((v) => (content.errors_log && v < floor ? null : v));
  data.push(curve("RMSEC", positive, 0, bare), curve("RMSECV", values, 1));
  if (models.rmsep.some((v) => v !== null)) data.push(curve("RMSEP", models.rmsep, 2));
  return overModels(data, values, valueAxis("error (" + responseName() + ")", content.errors_log, values));
}

// Variance explained of the response, fitted and of held-out rows, and of the predictors.
function drawExplained() {
  const data = [curve("of the response", models.explained, 0)];
  const has = (values) => values.some((v) => v !== null);
  // What held-out rows do not confirm at all would take the whole picture.
  const floor = models.q2.map((v) => (v === null ? null : Math.max(v, -20)));
  if (has(models.q2)) data.push(curve("of held-out rows", floor, 1));
  if (has(models.x_explained)) data.push(curve("of the predictors", models.x_explained, 2));
  return overModels(data, models.explained, axis("variance explained, %"));
}

// Recipes by components: discs have the area of weights, diamonds are where errors are smallest.
function drawRecipes() {
  const { names, rmsecv, best, weights, shares, average: mixed } = content.recipes;
  const rank = names.map((_, i) => names.length - 1 - i);
  const discs = weights.flatMap((own, i) => own.map((w, m) => [i, m, w]).filter((one) => one[2] > 0));
  const said = ([i, m, w]) => names[i] + ", " + m + " components: " + (mixed ? "weight " + shown(w) + ", " : "") + "RMSECV " + shown(rmsecv[i][m]);
  const data = [
    {
      x: discs.map(([, m]) => m),
      y: discs.map(([i]) => rank[i]),
      mode: "markers",
      name: mixed ? "weight" : "chosen",
      marker: { size: discs.map((one) => 6 + 34 * Math.sqrt(one[2])), color: theme.lines[0], opacity: 0.75 },
      hovertext: discs.map(said),
    },
    {
      x: best,
      y: rank,
      mode: "markers+text",
      name: "smallest RMSECV",
      marker: { symbol: "diamond-open", size: 13, color: theme.lines[1], width: 2.5 },
      text: best.map((m, i) => "\u2002\u2002" + brief(rmsecv[i][m])),
      textside: [1, 0],
      hovertext: best.map((m, i) => said([i, m, weights[i][m]])),
    },
  ];
  const ticks = names.map((name, i) => cut(name, 24) + (mixed ? "  " + shown(Math.round(100 * shares[i])) + "%" : ""));
  const y = axis("", { tickvals: rank, ticktext: ticks, range: [-0.7, names.length - 0.3] });
  const most = Math.max(...best, ...discs.map((one) => one[1]));
  return [data, layout(axis("number of components", { range: [-0.7, most + 2] }), y, { height: namedHeight(names.length) })];
}

// Bars as one outline.
function drawPermutation() {
  const { edges, counts, score } = content.permutation;
  const x = [edges[0], ...counts.flatMap((_, k) => [edges[k], edges[k + 1]]), edges[counts.length]];
  const y = [0, ...counts.flatMap((v) => [v, v]), 0];
  const outline = { color: theme.lines[0], width: 1.5 };
  const bars = { x: x, y: y, mode: "lines", line: outline, fill: "zero", name: "permuted responses" };
  const style = { color: theme.lines[1], width: 3 };
  const mine = { x: [score, score], y: [0, Math.max(...counts)], mode: "lines", line: style, name: "the data", hovertext: ["the data: " + shown(score), "the data: " + shown(score)] };
  const plan = layout(axis("best score over all models (response²)", { tozero: true }), axis("number of permutations", { tozero: true }));
  return [[bars, mine], plan];
}

// The model on the slider in words, and what its intervals suppose.
function describe() {
  const { place } = state;
  const parts = [
    element("strong", models.words[place] + (place === chosen ? " (chosen)" : "")),
    ": ",
    number("models.dof." + place),
    " Degrees of Freedom, noise ",
    number("models.sigma." + place),
    ", explains ",
    number("models.explained." + place),
    models.explained[place] === null ? "" : "%",
  ];
  if (models.rmsecv[place] !== null) parts.push(", RMSECV of this size ", number("models.rmsecv." + place));
  byId("summary").replaceChildren(...parts, ".");
  slider.setAttribute("aria-valuetext", models.words[place]);
}

function explain() {
  const { reason, assumes, sigma_assumes: noise } = details[state.place - first];
  byId("reason").textContent = reason;
  byId("reason").hidden = !reason;
  byId("assumes-coefficients").textContent = assumes;
  byId("assumes-noise").textContent = noise;
  if (byId("beyond")) byId("beyond").hidden = componentsAt(state.place) <= components.count;
}
