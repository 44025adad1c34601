// New rows: predictions with intervals and status.
async function showPredictions() {
  try {
    const { file, released, found } = await ask("/predictions");
    const by = released ? "by the released model" : "by the model at hand; release a trial to fix it";
    const parts = [element("p", element("bdi", file), ", " + by + ". ", made("a", { className: "button", href: "/file?kind=predictions", download: "" }, "Save as Excel"))];
    const names = Object.keys(found);
    const one = found[names[0]].columns;
    const head = ["Sample", ...names.flatMap((name) => [name, "from", "to", ...(found[name].columns.observed ? ["measured"] : []), "status"])];
    const body = one.row.slice(0, 500).map((row, i) => {
      const cells = names.flatMap((name) => predictionCells(found[name], i));
      return element("tr", made("th", { scope: "row" }, element("bdi", one.id ? cut(String(one.id[i]), 30) : "row " + row)), ...cells);
    });
    parts.push(made("div", { className: "scroll tall", tabIndex: 0, role: "region", ariaLabel: "Predictions" }, made("table", { id: "predictions" }, element("thead", element("tr", ...head.map((name) => heading(name, "col")))), element("tbody", ...body))));
    if (one.row.length > 500) parts.push(element("p", "The first 500 of " + one.row.length + " samples; the Excel file has all."));
    for (const name of names) {
      if (found[name].assumptions) parts.push(made("p", { className: "assumes" }, found[name].assumptions));
      parts.push(...found[name].notes.map((text) => made("p", { className: "note" }, text)));
    }
    byId("predicted").replaceChildren(...parts);
  } catch (error) {
    complain(error);
  }
}

function predictionCells(found, i) {
  const { columns: one } = found;
  const value = (name) => element("td", one[name] === undefined || one[name][i] === null ? "" : Number(one[name][i].toPrecision(6)));
  const word = one.prediction[i] === null ? "no prediction" : one.unusual && one.unusual[i] ? "unlike the calibration" : "ok";
  const status = made("td", { className: "text " + (word === "ok" ? "" : "bad") }, word);
  return [value("prediction"), value("lower"), value("upper"), ...(one.observed ? [value("observed")] : []), status];
}
