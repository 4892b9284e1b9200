"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const page = JSON.parse(find("page-data").textContent);
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const bins = Math.round((page.until - page.since) / page.step);
  const state = { chosen: null, since: page.since, until: page.until, scenario: "less" };
  const group = find("group"), from = find("from"), to = find("to"), reset = find("reset");
  const views = {};
  window.assignorViews = views; // for the developer tools: the Vega view of each chart

  const utc = (ms) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);
  const count = (number, noun) => number.toLocaleString("en-US") + " " + noun + (number === 1 ? "" : "s");
  const wholeTime = () => state.since === page.since && state.until === page.until;

  function optionsOf(name) {
    const labelWidth = Math.min(page.labelWidth, find("chart-" + name).clientWidth < 560 ? 104 : 230);
    return { ...state, labelWidth };
  }

  async function setSignals(name) {
    const view = views[name];
    if (!view) return;
    const known = view.getState({ signals: (signal) => signal in optionsOf(name), data: () => false }).signals;
    for (const [signal, value] of Object.entries(optionsOf(name))) if (signal in known) view.signal(signal, value);
    await view.runAsync();
    await setHeight(name);
  }

  // A chart with a row per group is as high as its rows.
  async function setHeight(name) {
    const { rowHeight } = page.charts[name].usermeta || {};
    if (!rowHeight) return;
    const height = rowHeight * Math.max(1, views[name].scale("y").domain().length);
    if (views[name].height() !== height) await views[name].height(height).runAsync();
  }

  async function draw() {
    for (const name of Object.keys(page.charts)) {
      const values = optionsOf(name);
      const spec = structuredClone(page.charts[name]);
      spec.datasets = structuredClone(page.datasets);
      spec.config = page.themes[isDark.matches ? "dark" : "light"];
      for (const param of spec.params) if (param.name in values) param.value = values[param.name];
      if (views[name]) views[name].finalize();
      const options = { actions: false, ast: true, renderer: "svg", logLevel: 1, tooltip: { disableDefaultStyle: true } };
      const { view } = await vegaEmbed(find("chart-" + name), spec, options);
      views[name] = view;
      await setHeight(name);
      if (name === "overview") followBrush(view);
    }
    showBrush();
    document.documentElement.dataset.drawn = isDark.matches ? "dark" : "light";
  }

  // The brush and the two sliders choose the same time range, in whole time bins.
  let isSetting = false;
  function followBrush(view) {
    view.addSignalListener("brush", (_, brush) => {
      if (isSetting) return;
      const [start, end] = brush.start || [page.since, page.until];
      const bin = (ms) => Math.min(bins, Math.max(0, Math.round((ms - page.since) / page.step)));
      from.value = Math.min(bin(start), bins - 1);
      to.value = Math.max(bin(end), Number(from.value) + 1);
      apply(false);
    });
  }

  function showBrush() {
    const view = views.overview;
    if (!view) return;
    isSetting = true;
    const x = view.scale("x");
    view.signal("brush_x", wholeTime() ? [0, 0] : [x(state.since), x(state.until)]);
    view.runAsync().then(() => { isSetting = false; });
  }

  function apply(movesBrush = true) {
    const number = group.value;
    state.chosen = number === "" ? null : page.groups[Number(number)];
    state.since = page.since + Number(from.value) * page.step;
    state.until = page.since + Number(to.value) * page.step;
    const chosen = document.querySelector("input[name=scenario]:checked");
    if (chosen) state.scenario = chosen.value;
    find("from-value").textContent = utc(state.since);
    find("to-value").textContent = utc(state.until);
    from.setAttribute("aria-valuetext", utc(state.since) + " UTC");
    to.setAttribute("aria-valuetext", utc(state.until) + " UTC");
    filterTables(number);
    if (movesBrush) showBrush();
    return Promise.all(Object.keys(views).map(setSignals)).then(() => { document.documentElement.dataset.applied = JSON.stringify(state); });
  }

  function filterTables(number) {
    let rebalances = 0;
    const causes = {};
    const groups = new Set();
    for (const table of document.querySelectorAll("table[data-name]")) {
      let shown = 0;
      const rows = table.tBodies[0].rows;
      for (const row of rows) {
        const { group, start, end } = row.dataset;
        // The first and the last time bin include all that is before and after them.
        const isLater = start !== undefined && state.until < page.until && Number(start) >= state.until;
        const isEarlier = end !== undefined && state.since > page.since && Number(end) <= state.since;
        row.hidden = (number !== "" && group !== number) || isLater || isEarlier;
        if (row.hidden) continue;
        shown += 1;
        if (table.dataset.name === "rebalances") {
          const number = Number(row.querySelector("data[data-column=rebalances]").value);
          rebalances += number;
          causes[row.dataset.cause] = (causes[row.dataset.cause] || 0) + number;
          groups.add(group);
        }
      }
      const name = table.dataset.name;
      find("count-" + name).textContent = shown === rows.length ? count(shown, "row") : shown + " of " + count(rows.length, "row");
      find("none-" + name).hidden = shown > 0;
    }
    for (const item of document.querySelectorAll("li[data-cause]")) {
      const number = causes[item.dataset.cause] || 0;
      item.hidden = number === 0;
      const shown = item.querySelector("data");
      shown.value = number;
      shown.textContent = number.toLocaleString("en-US");
    }
    find("status").textContent = "Shown: " + count(rebalances, "rebalance") + " of " + count(groups.size, "group") + ", "
      + utc(state.since) + " to " + utc(state.until) + " UTC.";
  }

  from.max = to.max = bins;
  to.value = bins;
  from.addEventListener("input", () => { from.value = Math.min(Number(from.value), Number(to.value) - 1); apply(); });
  to.addEventListener("input", () => { to.value = Math.max(Number(to.value), Number(from.value) + 1); apply(); });
  group.addEventListener("change", () => apply());
  for (const each of document.querySelectorAll("input[name=scenario]")) each.addEventListener("change", () => apply());
  reset.addEventListener("click", () => { group.value = ""; from.value = 0; to.value = bins; apply(); });
  addEventListener("resize", () => { for (const name of Object.keys(views)) setSignals(name); showBrush(); });
  isDark.addEventListener("change", draw);
  for (const each of document.querySelectorAll(".needs-script")) each.hidden = false;
  apply();
  draw();
})();
