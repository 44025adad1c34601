// Words and tables of one model.
function describe() {
  const place = state.place;
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
  if (models.rmsecv[place] !== null) parts.push(", RMSECV ", number("models.rmsecv." + place));
  fill("summary", [...parts, "."]);
  slider.setAttribute("aria-valuetext", models.words[place]);
}

function explain() {
  const reason = document.getElementById("reason");
  reason.textContent = details[state.place - first].reason;
  reason.hidden = !reason.textContent;
  const { assumes, sigma_assumes: noise } = details[state.place - first];
  fill("assumes-coefficients", [assumes]);
  fill("assumes-noise", [noise]);
  const beyond = document.getElementById("beyond");
  if (beyond) beyond.hidden = componentsAt(state.place) <= components.count;
}

function numbersTable() {
  const place = state.place;
  const one = "details." + (place - first) + ".";
  const facts = [
    [(byComponents ? "Components" : "Alpha") + (place === average ? ", weighted mean" : ""), "models.parameter." + place],
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
  if (models.rmsecv[place] !== null) facts.push(["RMSECV", "models.rmsecv." + place]);
  const body = facts.map(([name, path]) => element("tr", heading(name, "row"), element("td", number(path))));
  document.querySelector("#table-numbers tbody").replaceChildren(...body);
}

function meritTable() {
  const where = "details." + (state.place - first) + ".merit";
  const body = at(where).map((one, i) => {
    const cell = (key) => element("td", number(where + "." + i + "." + key));
    const cells = content.merit_headings.map(([key]) => cell(key));
    return element("tr", heading(one.name + " (" + one.error + ")", "row"), cell("n"), ...cells);
  });
  document.querySelector("#table-merit tbody").replaceChildren(...body);
}

function strongestTable() {
  const where = "details." + (state.place - first) + ".strongest";
  const body = at(where).map((one, i) => {
    const keys = ["coef", "lower", "upper", "p"].concat(one.jackknife === undefined ? [] : ["jackknife"]);
    // Smaller p-values say more than the assumptions behind them hold.
    const tiny = (key) => key === "p" && one.p !== null && one.p < 1e-4;
    const cells = keys.map((key) => element("td", tiny(key) ? "<1e-4" : number(where + "." + i + "." + key)));
    return element("tr", heading(element("bdi", one.name), "row"), ...cells);
  });
  document.querySelector("#table-strongest tbody").replaceChildren(...body);
  const apart = at(where).some((one) => one.jackknife !== undefined);
  document.querySelectorAll(".jackknife").forEach((one) => one.toggleAttribute("hidden", !apart));
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

function suspectsTable() {
  const where = "details." + (state.place - first) + ".rows.";
  const one = here();
  const columns = SUSPECT_COLUMNS.filter(([key]) => ["row", "observed"].includes(key) || one[key]);
  const heads = [...columns.map(([, name]) => name), "Beyond the limit of"].map((name) => heading(name, "col"));
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
