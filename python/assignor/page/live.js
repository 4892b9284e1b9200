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
    if (row) return [section.id, row.cells[0].textContent, details.querySelector("summary").textContent].join("\n");
    return section.id + "\n" + [...section.querySelectorAll("details")].filter((each) => !each.closest("tr")).indexOf(details);
  }

  function keep() {
    sessionStorage.setItem(storage, JSON.stringify({
      search: search.value,
      group: group.value === "" ? null : groups[Number(group.value)],
      from: from.value === from.min ? null : timeOf(from),
      to: to.value === to.max ? null : timeOf(to),
      refresh: refresh.checked,
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
    refresh.checked = kept.refresh;
    const bin = (time) => Math.min(Math.max(Math.round((time - since) / step), 0), Number(to.max));
    if (kept.from !== null && kept.from < until) from.value = Math.min(bin(kept.from), Number(to.max) - 1);
    if (kept.to !== null && kept.to > since) to.value = Math.max(bin(kept.to), Number(from.value) + 1);
    changed(from, "input"); // fills the list of groups by the search
    if (groups.includes(kept.group)) {
      group.value = String(groups.indexOf(kept.group));
      changed(group, "change");
    }
    const open = new Set(kept.open);
    for (const each of inSections()) if (open.has(keyOf(each))) each.open = true;
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
