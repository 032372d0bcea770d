"use strict";
// Shows the run that the address names behind '#', or the list of all.
const $ = (selector) => document.querySelector(selector);
const packed = Uint8Array.from(atob($("#data").textContent), (letter) => letter.charCodeAt(0));
const runs = new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).json();

function made(name, text, attributes = {}) {
  const element = document.createElement(name);
  if (text !== "") element.textContent = text;
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}
function pairs(entries) {
  const list = made("dl", "");
  for (const [name, value] of entries) list.append(made("dt", name), made("dd", value));
  return list;
}
// hyperparameters.alpha: 0.1, one line for each value
function flat(value, prefix = "") {
  if (value === null || typeof value !== "object" || Array.isArray(value)) return [[prefix, typeof value === "string" ? value : JSON.stringify(value)]];
  return Object.entries(value).flatMap(([key, inner]) => flat(inner, prefix ? `${prefix}.${key}` : key));
}
// Round numbers, about five, that span an axis.
function ticks(low, high) {
  const raw = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5, 10].find((factor) => factor * power >= raw) ?? 10);
  const found = [];
  for (let tick = Math.ceil(low / step) * step; tick <= high + step / 1e6; tick += step) found.push(+tick.toPrecision(6));
  return found;
}
function drawing({ curve, measure }) {
  const [width, height, left, bottom, top] = [640, 300, 60, 40, 12];
  const last = Math.max(...curve.map((point) => point[0])) || 1;
  const low = Math.min(...curve.map((point) => point[2])), high = Math.max(...curve.map((point) => point[3]));
  const x = (round) => left + (width - left - 16) * round / last;
  const y = (value) => height - bottom - (height - bottom - top) * (value - low) / (high - low || 1);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const name = `${measure} by round: mean over the clients, and from the smallest to the largest`;
  svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", name);
  const line = (points) => points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" ");
  const band = [...curve.map((p) => [p[0], p[3]]), ...curve.map((p) => [p[0], p[2]]).reverse()];
  const axes = [
    ...ticks(0, last).map((tick) => `<line x1="${x(tick)}" x2="${x(tick)}" y1="${height - bottom}" y2="${height - bottom + 4}" stroke="currentColor"/>` +
      `<text x="${x(tick)}" y="${height - bottom + 17}" text-anchor="middle">${tick.toLocaleString("en")}</text>`),
    ...ticks(low, high).map((tick) => `<line x1="${left - 4}" x2="${width - 16}" y1="${y(tick)}" y2="${y(tick)}" stroke="currentColor" opacity="0.2"/>` +
      `<text x="${left - 8}" y="${y(tick) + 4}" text-anchor="end">${tick}</text>`),
  ];
  svg.innerHTML = `<polygon points="${line(band)}" fill="currentColor" opacity="0.15"/>` +
    `<polyline points="${line(curve)}" fill="none" stroke="currentColor" stroke-width="2"/>${axes.join("")}` +
    `<text x="${(left + width) / 2}" y="${height - 6}" text-anchor="middle">round</text>` +
    `<text transform="translate(14 ${height / 2}) rotate(-90)" text-anchor="middle">${measure}</text>`;
  const figure = made("figure", "");
  figure.append(svg, made("figcaption", name, { class: "soft small" }));
  return figure;
}
async function show() {
  const all = await runs, id = decodeURIComponent(location.hash.slice(1)), run = all[id], place = $("#run");
  place.replaceChildren();
  $("#list").hidden = Boolean(run);
  if (!run) {
    document.title = "fairfl: runs";
    if (id) place.append(made("p", `There is no run ${id} here.`));
    return;
  }
  document.title = `${id} – fairfl`;
  place.append(made("h1", id));
  if (run.curve.length) place.append(made("h2", "Curve"), drawing(run));
  place.append(made("h2", "Run"), pairs(flat(run.facts)), made("h2", "Spec"), pairs(flat(run.spec)));
  const links = made("p", "");
  if (run.log && !run.facts.recorded) links.append(made("a", "log", { href: run.log }), " · ");
  if (run.files) links.append(made("a", "its files", { href: run.files }), " · ");
  links.append(made("a", "all runs", { href: "#" }));
  place.append(links);
  scrollTo(0, 0);
}
addEventListener("hashchange", show);
show();
