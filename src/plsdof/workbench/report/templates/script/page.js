// The report: its data are in the page.
begin(JSON.parse(document.getElementById("data").textContent));
drawInSight();
page.ready = "true";
performance.mark("ready");
whenIdle(drawRest);
