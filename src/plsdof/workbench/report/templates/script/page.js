// The report: its data are in the page.
begin(JSON.parse(byId("data").textContent));
drawPage();
