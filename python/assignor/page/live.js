"use strict";
// A page from a server: it asks for newer states, and keeps what the reader chose when it is loaded again.
(() => {
  const find = (id) => document.getElementById(id);
  const bar = find("live"), state = find("live-state"), refresh = find("refresh");
  const { version, seconds } = bar.dataset;
  const { since, until, step, groups } = JSON.parse(find("page-data").textContent);
  const search = find("search"), group = find("group"), from = find("from"), to = find("to");
  const ofPage = state.textContent;
  const storage = "assignor " + location.pathname;
  const timeOf = (slider) => since + Number(slider.value) * step;
  const inSections = () => [...document.querySelectorAll("section details")];

  // What can be opened: a row of a table, or the place of a table in its section.
  function keyOf(details) {
    const row = details.closest("tr"), section = details.closest("section");
    const textOf = (place, selector) => place.querySelector(selector)?.textContent ?? "";
    if (row) return [section.id, textOf(row, ".name"), textOf(row, "time"), textOf(details, "summary")].join("\n");
    return section.id + "\n" + [...section.querySelectorAll("details")].filter((each) => !each.closest("tr")).indexOf(details);
  }

  function keep() {
    sessionStorage.setItem(storage, JSON.stringify({
      search: search.value,
      group: group.value === "" ? null : groups[Number(group.value)],
      from: from.value === from.min ? null : timeOf(from),
      to: to.value === to.max ? null : timeOf(to),
      scenario: document.querySelector("input[name=scenario]:checked")?.value ?? null,
      focus: document.activeElement?.id ?? "",
      open: inSections().filter((each) => each.open).map(keyOf),
      top: scrollY,
    }));
  }

  function changed(input, event) {
    input.dispatchEvent(new Event(event));
  }

  function restore() {
    const kept = JSON.parse(sessionStorage.getItem(storage));
    sessionStorage.removeItem(storage);
    if (!kept) return;
    search.value = kept.search;
    for (const each of document.querySelectorAll("input[name=scenario]")) each.checked = each.value === kept.scenario;
    const bin = (time) => Math.min(Math.max(Math.round((time - since) / step), 0), Number(to.max));
    if (kept.from !== null && kept.from < until) from.value = Math.min(bin(kept.from), Number(to.max) - 1);
    if (kept.to !== null && kept.to > since) to.value = Math.max(bin(kept.to), Number(from.value) + 1);
    changed(from, "input"); // fills the list of groups by the search
    const rank = groups.indexOf(kept.group);
    if (rank >= 0) {
      // The list has the first groups only; a change of the order may have moved the chosen one behind them.
      if (![...group.options].some((each) => each.value === String(rank))) group.append(new Option(kept.group, rank));
      group.value = String(rank);
      changed(group, "change");
    }
    const open = new Set(kept.open);
    for (const each of inSections()) if (open.has(keyOf(each))) each.open = true;
    if (kept.focus) find(kept.focus)?.focus({ preventScroll: true });
    addEventListener("drawn", () => scrollTo(0, kept.top), { once: true });
  }

  async function newest() {
    try {
      const answer = await fetch("version", { cache: "no-store" });
      return answer.ok ? await answer.text() : null;
    } catch {
      return null;
    }
  }

  async function look() {
    const found = document.hidden ? version : await newest();
    bar.classList.toggle("lost", found === null);
    state.textContent = found === null ? ofPage + " The watch does not answer." : ofPage;
    if (found !== null && found !== version && refresh.checked) {
      keep();
      location.reload();
      return;
    }
    setTimeout(look, seconds * 1000);
  }

  restore();
  setTimeout(look, seconds * 1000);
})();
