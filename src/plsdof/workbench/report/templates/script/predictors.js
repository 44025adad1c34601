// Pictures over the predictors: coefficients, importance, loadings and weights, spectra.
const canZoom = () => !window.matchMedia("(pointer: coarse)").matches && !isNarrow();
/** @returns {Partial<Plan>} */
const zooming = () => ({ drag: canZoom() ? "zoom" : false });
/** @returns {Axis} */
const featureAxis = () => wavelengthAxis(features.title);

// Names of the predictors down the side, in the order of the columns.
function nameAxis(places, most) {
  const names = places.map((j) => cut(features.names[j], isNarrow() ? 16 : most));
  return axis("", { tickvals: names.map((_, k) => k), ticktext: names, range: [names.length - 0.5, -0.5] });
}

const namedHeight = (count) => 90 + 24 * Math.max(4, count);

// So many predictors with names are drawn, those of the largest values.
const MOST_BARS = 30;
const inOrder = (sizes) => sizes.map((_, k) => k);
const largest = (sizes, most) => (sizes.length > most ? inOrder(sizes).sort((j, k) => sizes[k] - sizes[j]).slice(0, most) : inOrder(sizes));
const ofAll = (title, count, total) => title + (count < total ? " (" + count + " of " + total + ")" : "");

// One or more values per predictor. 'places' tells which predictors the values belong to.
function overFeatures(all, title, given, bound) {
  const sizes = given.map((_, k) => Math.max(0, ...all.map((one) => Math.abs(one.values[k]))));
  const kept = isNamed ? largest(sizes, MOST_BARS) : inOrder(sizes);
  const places = kept.map((k) => given[k]);
  const series = all.map((one) => Object.assign({}, one, { values: kept.map((k) => one.values[k]) }));
  const data = series.map((one) => {
    const color = theme.lines[one.style];
    const text = one.values.map((v, k) => features.names[places[k]] + ": " + one.name + " " + brief(v));
    const base = { hovertext: text, name: one.name };
    if (isNamed) {
      const marker = { color: color, size: 9, symbol: SYMBOLS[one.style] };
      return Object.assign({ x: one.values, y: places.map((_, k) => k), mode: "markers", marker: marker }, base);
    }
    const style = { color: color, width: 1.6, dash: DASHES[one.dash === undefined ? one.style : one.dash] };
    const x = places.map((j) => features.positions[j]);
    return Object.assign({ x: x, y: one.values, mode: "lines", line: style, fill: one.fill }, base);
  });
  /** @type {Partial<Plan>} */
  const more = { showlegend: series.length > 1, limits: limit(isNamed ? "x" : "y", bound) };
  if (!series.length) {
    more.note = { text: ["not defined without components"], middle: true };
  }
  if (isNamed) {
    return [data, layout(zeroAxis(ofAll(title, places.length, given.length)), nameAxis(places, 20), Object.assign(more, { height: namedHeight(places.length) }))];
  }
  const limits = [0, bound === null || bound === undefined ? (series.length ? null : 1) : bound];
  const y = limits[1] === null ? {} : { range: around([...limits, ...[].concat(...series.map((one) => one.values))]) };
  const x = featureAxis();
  if (!series.length) x.range = [Math.min(...features.positions), Math.max(...features.positions)];
  return [data, layout(x, zeroAxis(title, y), Object.assign(more, zooming()))];
}

// Coefficients: a curve, or bars of predictors with names.
function drawCoefficients(most) {
  const one = details[state.place - first];
  const places = isNamed ? largest(one.coef.map(Math.abs), most) : everyFeature;
  const between = (j) => (one.lower ? " [" + shown(one.lower[j]) + ", " + shown(one.upper[j]) + "]" : "");
  const text = places.map((j) => features.names[j] + ": " + shown(one.coef[j]) + between(j));
  const base = { hovertext: text, name: "coefficient" };
  const per = responseName() + " per " + (isNarrow() && isNamed ? "sd" : features.per);
  return isNamed ? namedBars(one, base, ofAll(per, places.length, everyFeature.length), places) : bandCurve(one, base, per);
}

// Limits that hold for all predictors at once: further from the coefficients by one factor.
const widened = (one, limits) => limits.map((v, j) => one.coef[j] + one.widening * (v - one.coef[j]));
const oneByOne = () => content.level + "%, one at a time";
const atOnce = () => content.level + "%, all at once";

function bandCurve(one, base, per) {
  const x = features.positions;
  const data = [];
  if (one.lower) {
    data.push(...band(x, widened(one, one.lower), widened(one, one.upper), theme["wide-band"]));
    data.push(...band(x, one.lower, one.upper, theme.band));
    Object.assign(data[1], { showlegend: true, name: atOnce() });
    Object.assign(data[3], { showlegend: true, name: oneByOne() });
  }
  const style = { color: theme.lines[0], width: 1.6 };
  data.push(Object.assign({ x: x, y: one.coef, mode: "lines", line: style }, base));
  return [data, layout(featureAxis(), zeroAxis(per), zooming())];
}

function namedBars(one, base, per, places) {
  const data = [];
  // One broken line holds all intervals.
  const bars = (low, high, width, name) => {
    const x = [].concat(...places.map((j) => [low[j], high[j], null]));
    const y = [].concat(...places.map((_, k) => [k, k, null]));
    const style = { color: theme.lines[0], width: width };
    data.push({ x: x, y: y, mode: "lines", line: style, name: name });
  };
  if (one.lower) {
    bars(widened(one, one.lower), widened(one, one.upper), 1.2, atOnce());
    bars(one.lower, one.upper, 4, oneByOne());
  }
  const marker = { color: theme.lines[0], size: 9 };
  data.push(Object.assign({ x: places.map((j) => one.coef[j]), y: places.map((_, k) => k), mode: "markers", marker: marker }, base));
  return [data, layout(zeroAxis(per), nameAxis(places, 40), { height: namedHeight(places.length) })];
}

// Importance of the predictors in the model on the slider.
function drawVip() {
  const one = details[state.place - first];
  const series = one.vip ? [{ name: "VIP", values: line(one.vip, 0), style: 0 }] : [];
  return overFeatures(series, "VIP", everyFeature, 1);
}

function drawSelectivity() {
  const one = details[state.place - first];
  const series = one.selectivity ? [{ name: "ratio", values: line(one.selectivity, 0), style: 0 }] : [];
  return overFeatures(series, "selectivity ratio", everyFeature, one.selectivity_limit);
}

// Loadings and weights of the two components that the scores are drawn of.
function drawLoadings(what, title) {
  const numbers = state.across === state.up ? [state.across] : [state.across, state.up];
  const series = numbers.map((k, i) => ({ name: "component " + k, values: column(components[what], k - 1), style: i }));
  const [data, plan] = overFeatures(series, title, components.picked, null);
  return [data, Object.assign(plan, { showlegend: true })];
}

// Spectra, coloured by the class of the response; a row that was picked is thick.
// The rows of a class are one line with gaps, which is much faster to draw than many lines.
function drawSpectra(table) {
  const gap = [null];
  const data = spectra.classes.map(([low, high], kind) => {
    const members = spectra.class_of.map((k, i) => (k === kind ? i : -1)).filter((i) => i >= 0);
    const perPoint = (value) => [].concat(...members.map((i) => new Array(table.positions.length + 1).fill(value(spectra.row[i]))));
    return {
      x: [].concat(...members.map(() => [...table.positions, ...gap])),
      y: [].concat(...members.map((i) => [...line(table.values, i), ...gap])),
      mode: "lines",
      line: { color: theme.classes[classColor(kind, spectra.classes.length)], width: 1 },
      opacity: 0.8,
      name: low === high ? shown(low) : shown(low) + " to " + shown(high),
      rows: perPoint((row) => row),
      hovertext: perPoint((row) => rowWords(row) + "\n" + responseName() + " " + shown(rows.observed[row])),
    };
  });
  state.marked.forEach((row) => {
    const i = spectra.row.indexOf(row);
    const style = { color: theme.marked, width: 2 };
    if (i >= 0) data.push({ x: table.positions, y: line(table.values, i), mode: "lines", line: style, showlegend: false });
  });
  const mine = spectra.row.indexOf(state.row);
  if (state.picked && mine >= 0) {
    const style = { color: theme.ink, width: 2.5 };
    data.push({ x: table.positions, y: line(table.values, mine), mode: "lines", line: style, name: rowWords(state.row) });
  }
  const x = wavelengthAxis(table.title);
  /** @type {Partial<Plan>} */
  const drag = { drag: canZoom() ? state.drag : false };
  return [data, layout(x, axis(table.kind === "raw" ? "value" : "preprocessed value"), drag)];
}

// Few classes take the ends of the scale.
const classColor = (kind, count) => (count < 2 ? 0 : Math.round((kind * 4) / (count - 1)));
