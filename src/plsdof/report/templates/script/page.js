// The report: its data are in the page, and the library that draws is its last script.
begin(JSON.parse(document.getElementById("data").textContent));
document.addEventListener("DOMContentLoaded", () => {
  drawInSight();
  page.ready = "true";
  performance.mark("ready");
  whenIdle(drawRest);
});
