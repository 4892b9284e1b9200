"use strict";
(() => {
  const find = (id) => document.getElementById(id);
  const page = JSON.parse(find("page-data").textContent);
  const isDark = matchMedia("(prefers-color-scheme: dark)");
  const bins = Math.round((page.until - page.since) / page.step);
  const mostRows = 300; // rows of a table, and groups in the list, until the reader asks for more
  // `matching` has true for each group that matches the search, by rank; it is null if all do.
  const state = { chosen: false, matching: null, since: page.since, until: page.until, scenario: "less" };
  const search = find("search"), group = find("group"), from = find("from"), to = find("to"), reset = find("reset");
  const folded = page.groups.map((name) => name.toLowerCase());
  const data = Object.fromEntries(Object.entries(page.datasets).map(([name, set]) => [name, expanded(set)]));
  for (const row of data.totals) row.end = row.start + page.step;
  for (const row of data.rebalances) {
    row.end = row.start + (row.rank < page.firstGroups ? page.step : page.otherStep);
    row.family = page.families[row.cause];
  }
  data.bins = [...data.totals, ...data.rebalances];
  const views = {};
  window.assignorViews = views; // for the developer tools: the Vega view of each chart

  const utc = (ms) => new Date(ms).toISOString().replace("T", " ").slice(0, 19);
  const digits = (number) => number.toLocaleString("en-US");
  const count = (number, noun) => digits(number) + " " + noun + (number === 1 ? "" : "s");
  const wholeTime = () => state.since === page.since && state.until === page.until;
  const isMatch = (rank) => state.matching === null || state.matching[rank] === true;

  // Rows as objects. `compact.py` writes the values of columns in which rows differ, numbers of texts and groups, and
  // times after the first one.
  function expanded({ fields, same, texts, times, rows }) {
    const valueOf = (field, value) => {
      if (value === null) return null;
      if (texts.includes(field)) return page.texts[value];
      return times.includes(field) ? value + page.since : value;
    };
    const common = Object.fromEntries(Object.entries(same).map(([field, value]) => [field, valueOf(field, value)]));
    return rows.map((values) => {
      const row = { ...common };
      fields.forEach((field, place) => { row[field] = valueOf(field, values[place]); });
      row.rank = row.group ?? -1;
      row.group = page.groups[row.rank];
      return row;
    });
  }

  // The first and the last time bin include all that is before and after them.
  function isInTime(start, end) {
    const isLater = start !== null && state.until < page.until && start >= state.until;
    const isEarlier = end !== null && state.since > page.since && end <= state.since;
    return !isLater && !isEarlier;
  }

  function element(tag, properties, ...children) {
    const found = Object.assign(document.createElement(tag), properties);
    found.append(...children);
    return found;
  }

  // Groups that match the search and have a row in a chart. A chart has rows for the first of them only.
  const withRows = {};
  function groupsOf(name) {
    const { rows, where } = page.charts[name].usermeta;
    withRows[name] ??= [...new Set(data[rows].filter((row) => !where || row[where]).map((row) => row.rank))].sort((a, b) => a - b);
    return withRows[name].filter(isMatch);
  }

  function optionsOf(name) {
    const labelWidth = Math.min(page.labelWidth, find("chart-" + name).clientWidth < 560 ? 104 : 230);
    const isCoarse = state.matching !== null && state.matching.includes(true, page.firstGroups);
    const found = { ...state, labelWidth, bin: isCoarse ? page.otherStep : page.step, visible: state.matching };
    if (page.charts[name].usermeta) {
      const ranks = groupsOf(name);
      const first = ranks.slice(0, page.firstGroups);
      const isCut = first.length < ranks.length;
      if (isCut) {
        found.visible = page.groups.map(() => false);
        for (const rank of first) found.visible[rank] = true;
      }
      const note = find("cut-" + name);
      note.hidden = !isCut;
      note.textContent = "The chart shows the first " + first.length + " of " + count(ranks.length, "group") + ". Search for the others.";
    }
    return found;
  }

  async function setSignals(name) {
    const view = views[name];
    if (!view) return;
    const values = optionsOf(name);
    const known = view.getState({ signals: (signal) => signal in values, data: () => false }).signals;
    for (const [signal, value] of Object.entries(values)) if (signal in known) view.signal(signal, value);
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

  // Vega looks names up in plain objects, in which "constructor" is always found. An invisible character prevents that.
  function copied(row) {
    const found = { ...row };
    for (const [field, value] of Object.entries(found)) {
      if (typeof value === "string" && value in Object.prototype) found[field] += "\u200b";
    }
    return found;
  }

  function dataNames(spec) {
    return [spec.data?.name, ...(spec.layer || []).flatMap(dataNames)].filter(Boolean);
  }

  async function draw() {
    for (const name of Object.keys(page.charts)) {
      const values = optionsOf(name);
      const spec = structuredClone(page.charts[name]);
      spec.datasets = Object.fromEntries(dataNames(spec).map((each) => [each, data[each].map(copied)]));
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
    dispatchEvent(new Event("drawn"));
  }

  // The brush and the two sliders choose the same time range, in whole time bins.
  let isSetting = false;
  function followBrush(view) {
    view.addSignalListener("brush", (_, brush) => {
      if (isSetting) return;
      const [start, end] = Object.values(brush)[0] || [page.since, page.until];
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

  // The list has the groups that match the search. It keeps the chosen group if that matches.
  function fillGroups() {
    const query = search.value.trim().toLowerCase();
    const ranks = [...page.groups.keys()].filter((rank) => folded[rank].includes(query));
    const chosen = ranks.includes(Number(group.value)) ? group.value : "";
    const all = query === "" ? "all groups" : "all " + count(ranks.length, "group");
    group.replaceChildren(new Option(all, ""), ...ranks.slice(0, mostRows).map((rank) => new Option(page.groups[rank], rank)));
    if (ranks.length > mostRows) {
      const more = new Option("… and " + digits(ranks.length - mostRows) + " more; search to see them", "more");
      more.disabled = true;
      group.append(more);
    }
    group.value = chosen;
    if (group.selectedIndex < 0) group.value = "";
    return query === "" ? null : ranks;
  }

  function apply(movesBrush = true) {
    const found = fillGroups();
    const ranks = group.value === "" ? found : [Number(group.value)];
    state.chosen = ranks !== null && ranks.length === 1;
    state.matching = ranks === null ? null : page.groups.map(() => false);
    for (const rank of ranks || []) state.matching[rank] = true;
    state.since = page.since + Number(from.value) * page.step;
    state.until = page.since + Number(to.value) * page.step;
    const chosen = document.querySelector("input[name=scenario]:checked");
    if (chosen) state.scenario = chosen.value;
    find("from-value").textContent = utc(state.since);
    find("to-value").textContent = utc(state.until);
    from.setAttribute("aria-valuetext", utc(state.since) + " UTC");
    to.setAttribute("aria-valuetext", utc(state.until) + " UTC");
    for (const table of tables) {
      table.most = mostRows;
      fill(table);
    }
    showCounts();
    if (movesBrush) showBrush();
    const { matching: _, ...applied } = state;
    const name = state.chosen ? page.groups[ranks[0]] : null;
    return Promise.all(Object.keys(views).map(setSignals)).then(() => {
      document.documentElement.dataset.applied = JSON.stringify({ ...applied, group: name, query: search.value });
    });
  }

  const tables = [...document.querySelectorAll("table[data-name]")].map((table) => {
    const { name, columns, start, end } = table.dataset;
    const labels = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    const rest = (data[name] || []).slice(page.datasets[name]?.skip || 0);
    const found = { name, start, end, labels, rest, rows: [...table.tBodies[0].rows], most: mostRows, isCards: table.className === "cards" };
    found.columns = JSON.parse(columns);
    if (rest.length) {
      found.body = table.createTBody();
      found.note = find("more-" + name);
      found.button = element("button", { type: "button" });
      found.button.addEventListener("click", () => { found.most += mostRows; fill(found); });
      found.note.replaceChildren(found.button);
    }
    return found;
  });

  // The first rows of a table are in the HTML. The others are made here, as many as are shown.
  function fill(table) {
    let shown = 0;
    for (const row of table.rows) {
      const { group: rank, start, end } = row.dataset;
      const isOfGroup = state.matching === null || (rank !== "" && isMatch(Number(rank)));
      row.hidden = !isOfGroup || !isInTime(start === undefined ? null : Number(start), end === undefined ? null : Number(end));
      if (!row.hidden) shown += 1;
    }
    if (table.body) {
      const found = table.rest.filter((row) => (state.matching === null || isMatch(row.rank)) && isInTime(row[table.start] ?? null, row[table.end] ?? null));
      const listed = found.slice(0, Math.max(0, table.most - shown));
      table.body.replaceChildren(...listed.map((row) => rowOf(table, row)));
      const left = found.length - listed.length;
      table.note.hidden = left === 0;
      table.button.textContent = "Show " + digits(Math.min(left, mostRows)) + " more of " + count(left, "row");
      shown += found.length;
    }
    const all = table.rows.length + table.rest.length;
    find("count-" + table.name).textContent = shown === all ? count(shown, "row") : digits(shown) + " of " + count(all, "row");
    find("none-" + table.name).hidden = shown > 0;
  }

  // The same cells as in `cells.py`.
  function rowOf(table, row) {
    return element("tr", {}, ...table.columns.map(([field, kind, missing, more], place) => {
      const cell = element(place ? "td" : "th", {});
      if (!place) cell.scope = "row";
      if (["number", "name", "long"].includes(kind)) cell.className = kind;
      if (kind === "group") cell.className = "name";
      if (table.isCards && place) cell.dataset.label = table.labels[place];
      let value = valueOf(row[field] ?? null, field, kind, missing);
      if (more && row[more]) {
        const lines = element("div", { className: "muted lines" }, row[more]);
        lines.dataset.column = more;
        value = element("details", {}, element("summary", {}, value), lines);
      }
      cell.append(value);
      return cell;
    }));
  }

  function valueOf(value, field, kind, missing) {
    if (value === null) return missing;
    if (kind === "number") {
      const found = element("data", { value }, digits(value));
      found.dataset.column = field;
      return found;
    }
    if (kind === "time") {
      const shown = new Date(value).toISOString();
      return element("time", { dateTime: shown }, shown.slice(0, -1).replace("T", " "));
    }
    if (kind === "severity") return element("span", { className: "severity " + value }, page.severities[value]);
    return value;
  }

  // Rebalances and causes of what is shown. Sums of all groups, and of the whole time, are exact. Otherwise a group with
  // long time bins counts all rebalances of a bin of which a part is shown.
  function showCounts() {
    const rows = data.rebalances.filter((row) => isMatch(row.rank) && isInTime(row.start, row.end));
    const causes = Object.create(null);
    for (const row of rows) causes[row.cause] = (causes[row.cause] || 0) + row.rebalances;
    for (const item of document.querySelectorAll("li[data-cause]")) {
      const number = causes[item.dataset.cause] || 0;
      item.hidden = number === 0;
      const shown = item.querySelector("data");
      shown.value = number;
      shown.textContent = digits(number);
    }
    const sum = (found) => found.reduce((total, row) => total + row.rebalances, 0);
    const ofGroups = data.groups.filter((row) => isMatch(row.rank) && row.rebalances);
    const groups = wholeTime() ? ofGroups.length : new Set(rows.map((row) => row.rank)).size;
    let total = sum(wholeTime() ? ofGroups : rows);
    if (state.matching === null && !wholeTime()) total = sum(data.totals.filter((row) => isInTime(row.start, row.end)));
    const matching = state.matching === null ? page.groups.length : state.matching.filter(Boolean).length;
    find("status").textContent = "Shown: " + count(total, "rebalance") + " of " + count(groups, "group") + ", "
      + utc(state.since) + " to " + utc(state.until) + " UTC. "
      + (state.matching === null ? "" : digits(matching) + " of " + count(page.groups.length, "group") + (matching === 1 ? " matches." : " match."));
  }

  from.max = to.max = bins;
  to.value = bins;
  from.addEventListener("input", () => { from.value = Math.min(Number(from.value), Number(to.value) - 1); apply(); });
  to.addEventListener("input", () => { to.value = Math.max(Number(to.value), Number(from.value) + 1); apply(); });
  let typed = 0;
  search.addEventListener("input", () => { clearTimeout(typed); typed = setTimeout(apply, 120); });
  group.addEventListener("change", () => apply());
  for (const each of document.querySelectorAll("input[name=scenario]")) each.addEventListener("change", () => apply());
  reset.addEventListener("click", () => { search.value = group.value = ""; from.value = 0; to.value = bins; apply(); });
  find("filters").addEventListener("submit", (event) => event.preventDefault());
  addEventListener("resize", () => { for (const name of Object.keys(views)) setSignals(name); showBrush(); });
  isDark.addEventListener("change", draw);
  for (const each of document.querySelectorAll(".needs-script")) each.hidden = false;
  apply();
  addEventListener("DOMContentLoaded", draw); // after other scripts of the page, which may change what is chosen
})();
