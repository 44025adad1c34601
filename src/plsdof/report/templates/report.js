"use strict";
(function () {
  const content = JSON.parse(document.getElementById("data").textContent);
  const { models, details, features, rows, criterion, comparison, first, chosen } = content;
  const byComponents = content.parameter_name === "n_components";
  const slider = document.getElementById("model");
  const charts = [];

  // Text. Numbers are shown as they are in the data, so that both say the same.
  const shown = (value) => (value === null ? "not defined" : String(value));
  // Plotly reads a little HTML in its labels; names from the data must stay names.
  const label = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  const isNarrow = () => window.innerWidth < 700;
  const styles = getComputedStyle(document.documentElement);
  const color = (name) => styles.getPropertyValue("--" + name).trim();
  const LINES = [1, 2, 3, 4, 5].map((i) => color("line-" + i));
  const DASHES = ["solid", "dash", "dashdot", "dot", "longdash"];
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "x"];
  const INK = color("ink");
  const MUTED = color("muted");
  const REFERENCE = color("reference");
  const BAND = "rgba(0, 114, 178, 0.32)";
  const WIDE_BAND = "rgba(0, 114, 178, 0.13)";
  const CV_BAND = "rgba(213, 94, 0, 0.18)";

  function at(path) {
    return path.split(".").reduce((value, key) => value[key], content);
  }

  function number(path) {
    const span = document.createElement("span");
    span.dataset.number = path;
    span.textContent = shown(at(path));
    return span;
  }

  function element(name, ...children) {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  }

  function fill(id, children) {
    document.getElementById(id).replaceChildren(...children);
  }

  // Pictures.
  function axis(title, more) {
    return Object.assign(
      {
        title: { text: title, standoff: 8, font: { size: 13 } },
        automargin: true,
        fixedrange: true,
        exponentformat: "power",
        gridcolor: "#e3e6e9",
        linecolor: REFERENCE,
        zeroline: false,
        ticks: "outside",
        tickcolor: REFERENCE,
      },
      more
    );
  }

  function layout(x, y, more) {
    return Object.assign(
      {
        xaxis: x,
        yaxis: y,
        height: isNarrow() ? 280 : 330,
        margin: { l: 10, r: 12, t: 12, b: 10 },
        font: { family: "system-ui, 'DejaVu Sans', sans-serif", size: 13, color: INK },
        paper_bgcolor: color("paper"),
        plot_bgcolor: color("paper"),
        hovermode: "closest",
        dragmode: false,
        showlegend: true,
        legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 12 } },
      },
      more
    );
  }

  // Ticks of a logarithmic axis: powers of ten, with 2 and 5 between where there are few.
  function logAxis(title, values, more) {
    const known = values.filter((v) => v !== null && v > 0).map(Math.log10);
    const low = Math.floor(Math.min(...known));
    const high = Math.ceil(Math.max(...known));
    const steps = high - low > 3 ? [1] : [1, 2, 5];
    const every = Math.ceil((high - low) / 8);
    const ticks = [];
    for (let k = low; k <= high; k += every) ticks.push(...steps.map((s) => Number(s + "e" + k)));
    const text = ticks.map((v) => (high - low > 5 ? "10<sup>" + Math.log10(v) + "</sup>" : String(v)));
    return axis(title, Object.assign({ type: "log", tickvals: ticks, ticktext: text }, more));
  }

  const valueAxis = (title, isLog, values, more) => (isLog ? logAxis(title, values, more) : axis(title, more));

  function modelAxis() {
    if (byComponents) {
      return axis("number of components", { tickformat: "d", rangemode: "tozero" });
    }
    return logAxis("penalty alpha (richer models to the right)", models.parameter, { autorange: "reversed" });
  }

  function curve(name, values, style, more) {
    const text = values.map((v, i) => label(models.words[i] + ": " + name + " " + shown(v)));
    return Object.assign(
      {
        x: models.parameter,
        y: values,
        name: label(name),
        mode: models.parameter.length > 40 ? "lines" : "lines+markers",
        line: { color: LINES[style], dash: DASHES[style], width: 2 },
        marker: { symbol: SYMBOLS[style], size: 7 },
        text: text,
        hovertemplate: "%{text}<extra></extra>",
      },
      more
    );
  }

  function ring(x, y, more) {
    return Object.assign(
      {
        x: [x],
        y: [y],
        mode: "markers",
        marker: { symbol: "circle-open", size: 15, color: INK, line: { width: 2.5 } },
        hoverinfo: "skip",
        showlegend: false,
      },
      more
    );
  }

  function chosenLine() {
    const x = models.parameter[chosen];
    const line = { color: REFERENCE, width: 1.5, dash: "dot" };
    return { type: "line", x0: x, x1: x, y0: 0, y1: 1, yref: "paper", line: line };
  }

  function band(x, low, high, fillcolor, more) {
    const none = { width: 0 };
    const base = { x: x, mode: "lines", line: none, hoverinfo: "skip", showlegend: false };
    return [
      Object.assign({}, base, { y: low }, more),
      Object.assign({}, base, { y: high, fill: "tonexty", fillcolor: fillcolor }, more),
    ];
  }

  function limit(direction, value) {
    if (value === null || value === undefined) return [];
    const line = { color: REFERENCE, width: 1.5, dash: "dash" };
    if (direction === "x") {
      return [{ type: "line", x0: value, x1: value, y0: 0, y1: 1, yref: "paper", line: line }];
    }
    return [{ type: "line", y0: value, y1: value, x0: 0, x1: 1, xref: "paper", line: line }];
  }

  function drawDof(place) {
    const differs = models.dof.some((v, i) => v !== models.naive_dof[i]);
    const data = [curve("exact", models.dof, 0)];
    if (differs) data.push(curve("naive: components + 1", models.naive_dof, 1));
    data.push(ring(models.parameter[place], models.dof[place]));
    const y = axis("Degrees of Freedom", { rangemode: "tozero" });
    return [data, layout(modelAxis(), y, { shapes: [chosenLine()], showlegend: differs })];
  }

  function drawCriterion(place) {
    const other = criterion.same_axis || !criterion.name ? {} : { yaxis: "y2" };
    const data = [];
    if (models.cv_error.some((v) => v !== null)) {
      const known = models.cv_error.map((v, i) => (v === null ? -1 : i)).filter((i) => i >= 0);
      const spread = (i) => models.cv_std_error[i] || 0;
      const floor = Math.min(...known.map((i) => models.cv_error[i])) / 10;
      const low = known.map((i) => Math.max(models.cv_error[i] - spread(i), floor));
      const high = known.map((i) => models.cv_error[i] + spread(i));
      data.push(...band(known.map((i) => models.parameter[i]), low, high, CV_BAND, other));
      data.push(curve("cross-validation", models.cv_error, 1, other));
    }
    if (criterion.name) {
      data.push(curve(criterion.name, models.score, 0));
      data.push(ring(models.parameter[place], models.score[place]));
    } else {
      data.push(ring(models.parameter[place], models.cv_error[place]));
    }
    const squared = criterion.same_axis || !criterion.name ? " (response²)" : "";
    const title = (criterion.same_axis && data.length > 2 ? "mean squared error" : criterion.name || "cross-validated error") + squared;
    const values = criterion.same_axis ? [...models.score, ...models.cv_error] : criterion.name ? models.score : models.cv_error;
    const y = valueAxis(title, criterion.log, values);
    const more = { shapes: [chosenLine()] };
    if (other.yaxis) {
      const right = { overlaying: "y", side: "right", showgrid: false };
      more.yaxis2 = valueAxis("cross-validated error (response²)", criterion.cv_log, models.cv_error, right);
    }
    return [data, layout(modelAxis(), y, more)];
  }

  function drawCoefficients(place) {
    const one = details[place - first];
    const between = (j) =>
      one.lower ? " [" + shown(one.lower[j]) + ", " + shown(one.upper[j]) + "]" : "";
    const text = one.coef.map((v, j) => label(features.names[j] + ": " + shown(v) + between(j)));
    const base = { text: text, hovertemplate: "%{text}<extra></extra>", name: "coefficient" };
    const per = isNarrow() && features.layout === "names" ? "response per sd" : "response per " + features.per;
    return features.layout === "names" ? namedBars(one, base, per) : bandCurve(one, base, per);
  }

  // Limits that hold for all predictors at once: further from the coefficients by one factor.
  const widened = (one, limits) => limits.map((v, j) => one.coef[j] + one.widening * (v - one.coef[j]));
  const ONE_BY_ONE = content.level + "%, one at a time";
  const AT_ONCE = content.level + "%, all at once";

  function bandCurve(one, base, per) {
    const x = features.positions;
    const data = [];
    if (one.lower) {
      data.push(...band(x, widened(one, one.lower), widened(one, one.upper), WIDE_BAND));
      data.push(...band(x, one.lower, one.upper, BAND));
      Object.assign(data[1], { showlegend: true, name: AT_ONCE });
      Object.assign(data[3], { showlegend: true, name: ONE_BY_ONE });
    }
    const line = { color: LINES[0], width: 1.6 };
    data.push(Object.assign({ x: x, y: one.coef, mode: "lines", line: line }, base));
    const wide = window.matchMedia("(pointer: fine)").matches && !isNarrow();
    const xaxis = axis(features.title, { fixedrange: !wide });
    const yaxis = axis(per, { zeroline: true, zerolinecolor: REFERENCE });
    const more = { dragmode: wide ? "zoom" : false };
    return [data, layout(xaxis, yaxis, more)];
  }

  function namedBars(one, base, per) {
    const places = one.coef.map((_, j) => j);
    const data = [];
    // One broken line holds all intervals.
    const bars = (low, high, width, name) => {
      const x = [].concat(...places.map((j) => [low[j], high[j], null]));
      const y = [].concat(...places.map((j) => [j, j, null]));
      const line = { color: LINES[0], width: width };
      data.push({ x: x, y: y, mode: "lines", line: line, hoverinfo: "skip", name: name });
    };
    if (one.lower) {
      bars(widened(one, one.lower), widened(one, one.upper), 1.2, AT_ONCE);
      bars(one.lower, one.upper, 4, ONE_BY_ONE);
    }
    const marker = { color: LINES[0], size: 9 };
    data.push(Object.assign({ x: one.coef, y: places, mode: "markers", marker: marker }, base));
    const names = features.names.map((name) => label(cut(name, isNarrow() ? 16 : 40)));
    const y = axis("", { tickvals: places, ticktext: names, range: [places.length - 0.5, -0.5] });
    const x = axis(per, { zeroline: true, zerolinecolor: REFERENCE });
    return [data, layout(x, y, { height: 90 + 24 * Math.max(4, places.length) })];
  }

  const rowName = (i) => (rows.labels ? rows.labels[i] : String(rows.number[i]));
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = "12px system-ui, 'DejaVu Sans', sans-serif";
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
      const size = { w: ruler.measureText(name).width / 2 + 3, h: 8 };
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

  // Rows beyond a limit of the picture (bits of flags) are diamonds; a few also carry their name.
  // The frame has the ranges of the axes and the width of the picture.
  function points(one, x, y, names, bits, frame) {
    const beyond = one.flags.map((flag) => (flag & bits) > 0);
    const few = beyond.filter(Boolean).length <= 8;
    const describe = (i) =>
      (rows.labels ? "" : "row ") + label(rowName(i)) + "<br>" +
      names[0] + " " + shown(x[i]) + "<br>" + names[1] + " " + shown(y[i]);
    // Axes and their titles take about so many pixels.
    const [width, height] = [frame.width - 80, isNarrow() ? 210 : 260];
    const spot = (i) => ({
      x: (width * (x[i] - frame.x[0])) / (frame.x[1] - frame.x[0]),
      y: (height * (frame.y[1] - y[i])) / (frame.y[1] - frame.y[0]),
      width: width,
    });
    const group = (wanted, style) => {
      const kept = beyond.map((flag, i) => (flag === wanted ? i : -1)).filter((i) => i >= 0);
      const labels = wanted && few;
      const short = kept.map((i) => cut(rowName(i), 14));
      const places = labels ? placeNames(kept.map(spot), short) : [];
      return Object.assign(
        {
          x: kept.map((i) => x[i]),
          y: kept.map((i) => y[i]),
          customdata: kept.map(describe),
          text: places.map((place, k) => (place ? label(short[k]) : "")),
          mode: labels ? "markers+text" : "markers",
          textposition: places.map((place) => place || "top center"),
          textfont: { size: 12, color: INK },
          cliponaxis: false,
          hovertemplate: "%{customdata}<extra></extra>",
        },
        style
      );
    };
    return [
      group(false, { marker: { color: LINES[0], size: 7, symbol: "circle-open" } }),
      group(true, { marker: { color: LINES[1], size: 9, symbol: "diamond" } }),
    ];
  }

  function around(values) {
    const known = values.filter((v) => v !== null && v !== undefined);
    if (!known.length) return [-1, 1];
    const ends = known.reduce((e, v) => [Math.min(e[0], v), Math.max(e[1], v)], [Infinity, -Infinity]);
    const edge = 0.05 * (ends[1] - ends[0]) || 0.5;
    return [ends[0] - edge, ends[1] + edge];
  }

  const bit = (kind) => 1 << ["t2", "q", "leverage", "studentized"].indexOf(kind);
  const here = (place) => details[place - first].rows;
  const bare = { showlegend: false };

  // The same window for all models, so that the points move and not the axes.
  const range = around([].concat(rows.observed, ...details.map((one) => one.rows.fitted)));

  function drawFit(place, width) {
    const one = here(place);
    const line = { color: REFERENCE, width: 1.5 };
    const frame = { x: range, y: range, width: width };
    const equal = { x: range, y: range, mode: "lines", line: line, hoverinfo: "skip" };
    const data = [equal, ...points(one, one.fitted, rows.observed, ["fitted", "observed"], bit("studentized"), frame)];
    const name = label(cut(content.response, isNarrow() ? 20 : 30));
    return [data, layout(axis("fitted " + name, { range: range }), axis("observed " + name, { range: range }), bare)];
  }

  function drawResiduals(place, width) {
    const one = here(place);
    const frame = { x: range, y: around(one.residual), width: width };
    const data = points(one, one.fitted, one.residual, ["fitted", "residual"], bit("studentized"), frame);
    const name = label(cut(content.response, isNarrow() ? 20 : 30));
    const y = axis("observed − fitted", { zeroline: true, zerolinecolor: REFERENCE, range: frame.y });
    return [data, layout(axis("fitted " + name, { range: range }), y, bare)];
  }

  function drawLeverage(place, width) {
    const one = here(place);
    const scaled = Boolean(one.studentized);
    const values = scaled ? one.studentized : one.residual;
    const title = scaled ? "studentised residual" : "observed − fitted";
    const bits = bit("leverage") | (scaled ? bit("studentized") : 0);
    const beyond = scaled ? one.limits.studentized : null;
    const frame = {
      x: around([...one.leverage, one.limits.leverage]),
      y: around([...values, beyond, beyond === null ? null : -beyond]),
      width: width,
    };
    const data = points(one, one.leverage, values, ["leverage", title], bits, frame);
    const shapes = [
      ...limit("x", one.limits.leverage),
      ...limit("y", beyond),
      ...limit("y", beyond === null ? null : -beyond),
    ];
    const y = axis(title, { zeroline: true, zerolinecolor: REFERENCE, range: frame.y });
    const x = axis("leverage", { range: frame.x });
    return [data, layout(x, y, { showlegend: false, shapes: shapes })];
  }

  function drawDistance(place, width) {
    const one = here(place);
    const frame = {
      x: around([0, ...one.t2, one.limits.t2]),
      y: around([0, ...one.q, one.limits.q]),
      width: width,
    };
    const data = points(one, one.t2, one.q, ["T²", "Q"], bit("t2") | bit("q"), frame);
    const shapes = [...limit("x", one.limits.t2), ...limit("y", one.limits.q)];
    const x = axis("T² (within the model)", { range: frame.x });
    const y = axis("Q (beside the model)", { range: frame.y });
    return [data, layout(x, y, { showlegend: false, shapes: shapes })];
  }

  function drawComparison() {
    const data = comparison.methods.map((one, i) => ({
      x: one.dof,
      y: one.value,
      name: label(one.name),
      mode: "lines+markers",
      line: { color: LINES[i % 5], dash: DASHES[i % 5], width: 2 },
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

  // Every picture remembers which model it shows; 'fixed' ones show the same for all.
  function add(id, draw, fixed) {
    const holder = document.getElementById(id);
    if (holder) charts.push({ holder: holder, draw: draw, fixed: fixed, shows: null });
  }

  function render(chart, width) {
    const place = current();
    const [data, plan] = chart.draw(place, width || chart.holder.clientWidth);
    if (width) Object.assign(plan, { width: width, height: Math.min(plan.height, width < 400 ? 235 : 300) });
    Plotly.react(chart.holder, data, plan, { displayModeBar: false, responsive: !width });
    chart.shows = place;
  }

  const isOld = (chart) => chart.shows === null || (!chart.fixed && chart.shows !== current());

  function isNear(chart) {
    const box = chart.holder.getBoundingClientRect();
    return box.bottom > -100 && box.top < window.innerHeight + 100;
  }

  // Words and tables of one model.
  function describe(place) {
    const where = "models.";
    const parts = [
      element("strong", models.words[place] + (place === chosen ? " (chosen)" : "")),
      ": ",
      number(where + "dof." + place),
      " Degrees of Freedom, noise ",
      number(where + "sigma." + place),
      ", explains ",
      number(where + "explained." + place),
      models.explained[place] === null ? "" : "%",
    ];
    if (models.cv_rmse[place] !== null) parts.push(", error on new rows ", number(where + "cv_rmse." + place));
    fill("summary", [...parts, "."]);
    slider.setAttribute("aria-valuetext", models.words[place]);
  }

  function numbersTable(place) {
    const one = "details." + (place - first) + ".";
    const facts = [
      [byComponents ? "Components" : "Alpha", "models.parameter." + place],
      ["Degrees of Freedom", "models.dof." + place],
      ["Naive Degrees of Freedom", "models.naive_dof." + place],
      ["Residual sum of squares", "models.rss." + place],
      ["Variance explained, %", "models.explained." + place],
      ...(models.x_explained[place] === null ? [] : [["… of the predictors, %", "models.x_explained." + place]]),
      ["Noise standard deviation", "models.sigma." + place],
      ["… lower limit", one + "sigma_low"],
      ["… upper limit", one + "sigma_high"],
      ["Intervals without zero, one at a time", one + "distinct"],
      ["… all at once", one + "distinct_at_once"],
    ];
    if (criterion.name) facts.push([criterion.name, "models.score." + place]);
    if (models.cv_error.some((v) => v !== null)) {
      facts.push(["Cross-validated error", "models.cv_error." + place]);
      facts.push(["… its square root (RMSECV)", "models.cv_rmse." + place]);
    }
    const body = facts.map(([name, path]) => {
      const head = element("th", name);
      head.scope = "row";
      return element("tr", head, element("td", number(path)));
    });
    document.querySelector("#table-numbers tbody").replaceChildren(...body);
  }

  function strongestTable(place) {
    const where = "details." + (place - first) + ".strongest";
    const body = at(where).map((one, i) => {
      const head = element("th", element("bdi", one.name));
      head.scope = "row";
      const cells = ["coef", "lower", "upper", "p"].map((key) =>
        element("td", number(where + "." + i + "." + key))
      );
      return element("tr", head, ...cells);
    });
    document.querySelector("#table-strongest tbody").replaceChildren(...body);
  }

  const SUSPECT_COLUMNS = [
    ["row", "Row"],
    ["observed", "Observed"],
    ["fitted", "Fitted"],
    ["residual", "Residual"],
    ["studentized", "Studentised"],
    ["leverage", "Leverage"],
    ["t2", "T²"],
    ["q", "Q"],
  ];

  function suspectsTable(place) {
    const where = "details." + (place - first) + ".rows.";
    const one = here(place);
    const columns = SUSPECT_COLUMNS.filter(([key]) => ["row", "observed"].includes(key) || one[key]);
    const heads = [...columns.map(([, name]) => name), "Beyond the limit of"].map((name) => {
      const head = element("th", name);
      head.scope = "col";
      return head;
    });
    document.querySelector("#table-suspects thead tr").replaceChildren(...heads);
    const body = one.suspects.map((row, i) => {
      const cells = columns.map(([key]) =>
        element("td", key === "row" && rows.labels ? element("bdi", row.label) : number(where + "suspects." + i + "." + key))
      );
      const why = element("td", row.why);
      why.className = "text";
      return element("tr", ...cells, why);
    });
    document.querySelector("#table-suspects tbody").replaceChildren(...body);
    const counts = [];
    Object.entries(rows.kinds).forEach(([kind, name], i) => {
      const bound = one.limits[kind];
      counts.push(i ? "; " : "", name + " ");
      if (bound === null) counts.push("has no limit");
      else counts.push("above ", number(where + "limits." + kind), ": ", number(where + "counts." + kind));
    });
    const more = one.flagged > one.suspects.length ? "; those with most signs are listed" : "";
    const all = number(where + "flagged");
    fill("counts", ["Number of rows with ", ...counts, ". Beyond at least one limit: ", all, more, "."]);
    fill("row-notes", one.notes.map((note) => element("li", note)));
  }

  function explain(place) {
    const reason = document.getElementById("reason");
    reason.textContent = details[place - first].reason;
    reason.hidden = !reason.textContent;
  }

  // Words change at once, pictures in sight with the next frame, the others when there is time.
  const current = () => first + Number(slider.value);
  const whenIdle = (act) =>
    window.requestIdleCallback ? requestIdleCallback(act, { timeout: 200 }) : setTimeout(act, 30);
  const state = document.documentElement.dataset;
  let waiting = false;

  function tell() {
    const place = current();
    [describe, explain, numbersTable, strongestTable, suspectsTable].forEach((act) => act(place));
  }

  function drawRest() {
    const next = charts.find(isOld);
    state.complete = String(!next);
    if (!next) return;
    render(next);
    whenIdle(drawRest);
  }

  function drawInSight() {
    charts.filter((chart) => isOld(chart) && isNear(chart)).forEach((chart) => render(chart));
  }

  function refresh() {
    if (waiting || state.ready !== "true") return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      drawInSight();
      whenIdle(drawRest);
    });
  }

  function show() {
    state.complete = "false";
    tell();
    refresh();
  }

  function step(change) {
    slider.value = String(Number(slider.value) + change);
    show();
  }

  add("chart-dof", drawDof);
  add("chart-criterion", drawCriterion);
  add("chart-coefficients", drawCoefficients);
  add("chart-fit", drawFit);
  add("chart-residuals", drawResiduals);
  add("chart-leverage", drawLeverage);
  add("chart-distance", drawDistance);
  if (comparison) add("chart-comparison", drawComparison, true);

  slider.addEventListener("input", show);
  document.getElementById("less").addEventListener("click", () => step(-1));
  document.getElementById("more").addEventListener("click", () => step(1));
  document.getElementById("back").addEventListener("click", () => step(chosen - current()));
  window.addEventListener("scroll", refresh, { passive: true });

  // Paper is narrower than most screens: draw for its width, then for the screen again.
  const paper = (chart) => (chart.holder.closest(".pair") ? 320 : 660);
  window.addEventListener("beforeprint", () => charts.forEach((chart) => render(chart, paper(chart))));
  window.addEventListener("afterprint", () => charts.forEach((chart) => render(chart)));

  tell();
  // The library is the last script of the page.
  document.addEventListener("DOMContentLoaded", () => {
    drawInSight();
    state.ready = "true";
    performance.mark("ready");
    whenIdle(drawRest);
  });
})();
