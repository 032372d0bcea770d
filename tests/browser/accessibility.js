// What is wrong for people who do not see the page or cannot point: [rule, element] each; a part of what axe-core checks.
const wrong = [], seen = (e) => e.checkVisibility({ visibilityProperty: true }) && e.getClientRects().length;
const say = (rule, element) => wrong.push([rule, element.outerHTML.slice(0, 160)]);
const named = (e) => (e.getAttribute("aria-label") || e.getAttribute("aria-labelledby") || e.title || e.textContent.trim() ||
  e.alt || [...(e.labels ?? [])].map((label) => label.textContent).join("").trim());
if (!document.documentElement.lang) say("the page names no language", document.documentElement);
if (!document.title) say("the page has no title", document.head);
for (const e of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=switch]"))
  if (seen(e) && !named(e)) say("a control has no name", e);
for (const e of document.querySelectorAll("img")) if (!e.hasAttribute("alt")) say("a picture has no text", e);
for (const e of document.querySelectorAll("section[aria-labelledby], [aria-controls], [aria-describedby]"))
  for (const name of ["aria-labelledby", "aria-controls", "aria-describedby"])
    for (const id of (e.getAttribute(name) ?? "").split(" ").filter(Boolean))
      if (!document.getElementById(id)) say(`${name} names nothing`, e);
const ids = new Set();
for (const e of document.querySelectorAll("[id]")) { if (ids.has(e.id)) say("an id stands twice", e); ids.add(e.id); }
let level = 1; // the name of the site stands at the top of every view
for (const e of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) if (seen(e)) {
  if (+e.tagName[1] > level + 1) say("a heading leaves out a level", e);
  level = +e.tagName[1];
}
if (document.querySelectorAll("main").length !== 1) say("there is not one main part", document.body);
for (const table of document.querySelectorAll("table")) if (seen(table) && table.rows.length > 1)
  for (const head of table.querySelectorAll("th")) if (!head.hasAttribute("scope")) { say("a head of a table has no scope", head); break; }
// Contrast of text: 4.5, of large text 3 (WCAG 2, AA).
const parts = (colour) => (colour.match(/[\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
const light = ([r, g, b]) => [r, g, b].map((c) => c / 255).map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
function ground(e) {
  for (; e; e = e.parentElement) { const [r, g, b, a = 1] = parts(getComputedStyle(e).backgroundColor); if (a === 1) return [r, g, b]; }
  return [255, 255, 255];
}
for (const e of document.querySelectorAll("body *")) {
  if (!seen(e) || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || e.closest("svg")) continue;
  const style = getComputedStyle(e), [r, g, b, a = 1] = parts(style.color);
  if (a < 1 || style.opacity < 1) continue;
  const [x, y] = [light([r, g, b]), light(ground(e))].sort((p, q) => q - p), large = parseFloat(style.fontSize) >= 24;
  if ((x + 0.05) / (y + 0.05) < (large ? 3 : 4.5)) say(`contrast ${((x + 0.05) / (y + 0.05)).toFixed(1)}`, e);
}
return wrong;
