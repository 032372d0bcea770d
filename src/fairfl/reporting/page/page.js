"use strict";
// Shows one view at a time: the overview, a list, a paper or an artifact. What is shown, searched and filtered stands
// in the address behind '#', so that it outlives a reload and can be sent: #fedfv_table3?q=worst&differing=1
const $ = (selector, root = document) => root.querySelector(selector);
const $$ = (selector, root = document) => [...root.querySelectorAll(selector)];
const views = $$(".view"), search = $("#search"), paper = $("#paper-filter"), checks = $$("[data-filter]");
const claimFilter = $("#claim-filter"), items = $$("#artifacts li[data-search]"), tip = $("#tip"), sidebar = $("#sidebar");
// What is embedded is unpacked when it is first asked for.
const unpacked = (id) => {
  let data;
  return () => (data ??= (async () => {
    const bytes = Uint8Array.from(atob($(`#${id}`).textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  })());
};
const details = unpacked("details"), copies = unpacked("copies");
const root = document.documentElement;
const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* no storage */ } };
const say = (text) => { $("#said").textContent = text; };

// -- the address ------------------------------------------------------------------------------
let shown = "overview";
function address() {
  const state = new URLSearchParams();
  if (search.value) state.set("q", search.value);
  if (paper.value) state.set("paper", paper.value);
  if (claimFilter.value) state.set("claims", claimFilter.value);
  for (const box of checks) if (box.checked) state.set(box.dataset.filter, "1");
  return `#${shown}${state.size ? `?${state}` : ""}`;
}
function remember() {
  if (location.hash !== address()) try { history.replaceState(null, "", address()); } catch { /* a frame may forbid it */ }
}
function read() {
  const [name, query] = location.hash.slice(1).split("?");
  if (query !== undefined || !location.hash) {
    const state = new URLSearchParams(query);
    search.value = state.get("q") ?? "";
    paper.value = state.get("paper") ?? "";
    claimFilter.value = state.get("claims") ?? "";
    for (const box of checks) box.checked = state.has(box.dataset.filter);
  }
  filter();
  show(decodeURIComponent(name) || "overview");
}

// -- views ------------------------------------------------------------------------------------
function show(name) {
  const target = document.getElementById(name) ?? $("#overview");
  const view = target.closest(".view") ?? $("#overview");
  const moved = !view.classList.contains("shown");
  shown = target.closest(".view") ? target.id : "overview";
  for (const one of views) one.classList.toggle("shown", one === view);
  for (const link of $$("#artifacts a")) {
    if (link.hash === `#${view.id}`) {
      link.setAttribute("aria-current", "page");
      if (moved) link.scrollIntoView({ block: "nearest" });
    } else link.removeAttribute("aria-current");
  }
  for (let fold = target.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
  document.title = `${$("h1, h2", view).textContent.trim()} – fairfl`;
  drawer(false);
  hideTip();
  fit(view);
  if (target === view) { if (moved) scrollTo(0, 0); } else target.scrollIntoView();
  remember();
}
function step(by) {
  const links = $$("#artifacts li:not([hidden]) a"), at = links.findIndex((link) => link.hasAttribute("aria-current"));
  const next = links[Math.min(Math.max(at + by, 0), links.length - 1)];
  if (!next) return;
  location.hash = next.hash;
  show(next.hash.slice(1)); // at once: the next key may come before the event
}
const narrow = matchMedia("(max-width: 60rem)"); // the sidebar is a drawer there
function drawer(open) {
  document.body.classList.toggle("drawer", open);
  $("#menu").setAttribute("aria-expanded", String(narrow.matches ? open : !root.classList.contains("folded")));
  if (open) search.focus();
}
function fold(folded) {
  root.classList.toggle("folded", folded);
  keep("fairfl-folded", folded ? "1" : "");
  drawer(false);
  fit($(".view.shown"));
}
// A table of numbers that is wider than its box is set narrower, in two steps; a list's cells know their column's title.
function fit(view) {
  for (const table of $$("table.numbers", view)) {
    table.classList.remove("stacked", "tight");
    const scroll = table.parentElement;
    for (const step of ["stacked", "tight"]) if (scroll.scrollWidth > scroll.clientWidth) table.classList.add(step);
  }
  for (const table of $$("table.wide", view)) {
    const titles = $$("thead th", table).map((title) => title.textContent.trim());
    if (!table.labelled) for (const row of table.tBodies[0].rows) for (const cell of row.cells) cell.dataset.label = titles[cell.cellIndex];
    table.labelled = true;
  }
  // Signs have names for those who do not see them.
  for (const sign of $$(".m:not([role])", view)) sign.role = "img", sign.ariaLabel = signs[sign.textContent];
  cues(view);
}
// A table that is wider than its box shows an edge where there is more.
function cues(root) {
  for (const box of $$(".box", root)) {
    const scroll = box.firstElementChild, rest = scroll.scrollWidth - scroll.clientWidth - scroll.scrollLeft;
    box.classList.toggle("more", rest > 2);
    box.classList.toggle("less", scroll.scrollLeft > 2);
  }
}

// -- search and filters -----------------------------------------------------------------------
function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean), on = new Set();
  for (const box of checks) {
    if (box.checked) on.add(box.dataset.filter);
    document.body.classList.toggle(`only-${box.dataset.filter}`, box.checked);
  }
  const found = (text) => words.every((word) => text.includes(word));
  const fits = (data) => !paper.value || !data.paper || data.paper === paper.value;
  let count = 0;
  for (const item of items) {
    const data = item.dataset;
    item.text ??= `${data.search} ${$($("a", item).hash).textContent}`.toLowerCase(); // all that its view says
    item.hidden = !(fits(data) && found(item.text)) || (on.has("checked") && !("checked" in data))
      || (on.has("differing") && !("differing" in data)) || (on.has("stand-ins") && "standIn" in data);
    count += !item.hidden;
  }
  for (const title of $$("#artifacts .group")) title.hidden = !$("li:not([hidden])", title.nextElementSibling);
  const [side, status] = claimFilter.value.split(":");
  for (const row of $$("#farthest tr[data-paper], #claims tr[data-paper]")) {
    row.text ??= row.textContent.toLowerCase();
    row.hidden = !(fits(row.dataset) && found(row.text)) || (side && row.closest("#claims") && row.dataset[side] !== status);
  }
  for (const name of ["farthest", "claims"]) {
    $(`#artifacts a[href="#${name}"] .count`).textContent = $$(`#${name} tr[data-paper]:not([hidden])`).length;
  }
  for (const card of $$(".cards > [data-paper], .top5 [data-paper]")) card.hidden = !fits(card.dataset);
  const filtered = words.length || paper.value || on.size;
  $("#found").textContent = `${count} of ${items.length} artifacts`;
  $("#reset").hidden = !filtered;
}
const changed = () => { filter(); remember(); };
search.addEventListener("input", changed);
for (const control of [paper, claimFilter, ...checks]) control.addEventListener("change", changed);
$("form", sidebar).addEventListener("submit", (event) => {
  event.preventDefault();
  const first = items.find((item) => !item.hidden);
  if (first) location.hash = $("a", first).hash;
});
$("#reset").addEventListener("click", () => { search.value = paper.value = ""; for (const box of checks) box.checked = false; changed(); });

// -- sorting ----------------------------------------------------------------------------------
function sorted(button) {
  const th = button.closest("th"), table = th.closest("table"), body = table.tBodies[0];
  const corner = $$("th[rowspan]", table.tHead), last = [...table.tHead.rows].at(-1);
  const column = corner.includes(th) ? corner.indexOf(th)
    : [...last.cells].filter((cell) => !corner.includes(cell)).indexOf(th) + corner.length;
  const order = { ascending: "descending", descending: "none" }[th.getAttribute("aria-sort")] ?? "ascending";
  for (const other of $$("th[aria-sort]", table)) other.removeAttribute("aria-sort");
  if (order !== "none") th.setAttribute("aria-sort", order);
  body.rowsAsPrinted ??= [...body.rows];
  const key = (row) => {
    const cell = row.cells[column], text = cell.dataset.sort ?? cell.textContent.trim();
    const number = text === "inf" ? Infinity : parseFloat(text);
    return Number.isNaN(number) ? (/^[–·]?$/.test(text) || cell.querySelector(".n") ? null : text) : number;
  };
  const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b)));
  const keyed = body.rowsAsPrinted.map((row) => [key(row), row]);
  if (order !== "none") {
    const sign = order === "ascending" ? 1 : -1;
    keyed.sort(([a], [b]) => (a === null || b === null ? (a === null) - (b === null) : sign * compare(a, b)));
  }
  body.append(...keyed.map(([, row]) => row));
  say(`sorted by ${button.textContent.trim()}, ${order}`);
}

// -- what is behind a number ------------------------------------------------------------------
let asked = null, pinned = false;
async function showTip(of, pin, focus) {
  hideTip();
  asked = of, pinned = pin;
  const data = await details(), [texts, runs] = data.numbers[of.dataset.i];
  if (asked !== of) return; // another one has been asked since
  tip.replaceChildren(...texts.map((text, n) => Object.assign(document.createElement(n ? "p" : "strong"), { textContent: text })));
  const list = document.createElement("ul");
  for (const [id, url] of runs.map((run) => [run, data.runs[run]])) {
    const item = list.appendChild(document.createElement("li"));
    item.append(url ? Object.assign(document.createElement("a"), { href: url, textContent: id }) : id);
  }
  if (runs.length) tip.append(list);
  tip.hidden = false;
  tip.classList.toggle("pinned", pin);
  of.setAttribute("aria-describedby", "tip");
  of.setAttribute("aria-expanded", String(pin));
  place();
  if (focus) $("a", tip)?.focus();
}
function place() {
  const at = asked.getBoundingClientRect(), gap = 6, size = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - size.width - 8))}px`;
  const below = at.bottom + gap + size.height < innerHeight || at.top < size.height + gap;
  tip.style.top = `${Math.max(8, below ? Math.min(at.bottom + gap, innerHeight - size.height - 8) : at.top - size.height - gap)}px`;
}
function hideTip() {
  if (!asked) return;
  asked.removeAttribute("aria-describedby");
  asked.setAttribute("aria-expanded", "false");
  tip.hidden = true;
  asked = null, pinned = false;
}
const cellOf = (event) => event.target.closest?.("[data-i]");
document.addEventListener("pointerover", (event) => {
  if (event.pointerType !== "mouse" || pinned) return;
  const cell = cellOf(event) ?? event.target.closest?.("td")?.querySelector("[data-i]");
  if (cell && cell !== asked) showTip(cell, false);
  else if (!cell && !tip.contains(event.target)) hideTip();
});
document.addEventListener("focusin", (event) => {
  const cell = cellOf(event);
  if (cell && cell.matches(":focus-visible") && cell !== asked) showTip(cell, false);
  else if (!cell && !tip.contains(event.target)) hideTip();
});
addEventListener("scroll", (event) => {
  if (!asked || event.target === tip) return;
  if (pinned || asked === document.activeElement) place(); else hideTip();
}, true);

// -- clicks and keys --------------------------------------------------------------------------
async function copy(button) {
  const text = (await copies())[button.dataset.artifact][button.dataset.format];
  try {
    await navigator.clipboard.writeText(text);
  } catch { // no permission, or an old browser
    const area = document.body.appendChild(Object.assign(document.createElement("textarea"), { value: text }));
    area.select();
    document.execCommand("copy");
    area.remove();
    button.focus();
  }
  const label = (button.label ??= button.textContent);
  button.textContent = "Copied";
  say(`${label}: copied`);
  setTimeout(() => { button.textContent = label; }, 1500);
}
const zoomed = $("#zoomed");
document.addEventListener("click", (event) => {
  const cell = cellOf(event), button = event.target.closest("button"), picture = event.target.closest("a.zoom");
  if (cell) {
    if (asked === cell && pinned) hideTip(); else showTip(cell, true, event.detail === 0); // a key opens it: on to the runs
    return;
  }
  if (!tip.contains(event.target)) hideTip();
  if (picture && !event.ctrlKey && !event.metaKey && !event.shiftKey) {
    event.preventDefault();
    const image = $("img", zoomed), small = $("img", picture);
    [image.src, image.alt] = [picture.href, small.alt];
    image.style.width = `${Math.max(small.naturalWidth, 1.5 * small.width)}px`; // its full size, wherever it is shown
    zoomed.showModal();
  } else if (button?.matches(".sort")) sorted(button);
  else if (button?.matches(".copy")) copy(button);
  else if (button?.id === "menu") narrow.matches ? drawer(!document.body.classList.contains("drawer")) : fold(!root.classList.contains("folded"));
  else if (button?.id === "theme") theme(dark() ? "light" : "dark");
  else if (event.target === zoomed || button?.matches(".close")) zoomed.close();
  else if (document.body.classList.contains("drawer") && !sidebar.contains(event.target)) drawer(false);
  const link = event.target.closest('a[href^="#"]');
  if (link?.matches(".skip")) { event.preventDefault(); $("#main").focus(); }
  else if (link && link.hash === `#${shown}`) { event.preventDefault(); show(shown); } // hashchange stays away
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || zoomed.open) return;
  if (event.key === "Escape") {
    if (asked) { if (tip.contains(document.activeElement)) asked.focus(); hideTip(); }
    else if (document.body.classList.contains("drawer")) { drawer(false); $("#menu").focus(); }
    else if (document.activeElement === search) search.blur();
    else if (shown !== "overview") location.hash = "#overview";
    return;
  }
  if (event.target.matches("input[type=search], select, textarea")) return;
  const by = { j: 1, k: -1 }[event.key] ?? ($("#artifacts").contains(event.target) && { ArrowDown: 1, ArrowUp: -1 }[event.key]);
  if (event.key === "/") {
    event.preventDefault();
    if (narrow.matches) drawer(true);
    else if (root.classList.contains("folded")) fold(false);
    search.focus();
    search.select();
  } else if (by) {
    event.preventDefault();
    step(by);
  }
});

// -- light and dark ---------------------------------------------------------------------------
const system = matchMedia("(prefers-color-scheme: dark)");
const dark = () => (root.dataset.theme || (system.matches ? "dark" : "light")) === "dark";
function theme(chosen) {
  if (chosen) {
    root.dataset.theme = chosen;
    keep("fairfl-theme", chosen);
  }
  $("#theme").setAttribute("aria-checked", String(dark()));
}
system.addEventListener("change", () => theme());

for (const scroll of $$(".scroll")) scroll.addEventListener("scroll", () => cues(scroll.closest(".view")), { passive: true });
document.addEventListener("toggle", (event) => fit(event.target), true);
addEventListener("resize", () => fit($(".view.shown")));
addEventListener("hashchange", read);
theme();
read();
