// A line chart: mean and interval over seeds; each seed on hover, touch or arrow keys.

function element(name, attributes = {}, parent = null, text = "") {
  return fill(document.createElement(name), attributes, parent, text);
}

function shape(name, attributes = {}, parent = null, text = "") {
  return fill(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, parent, text);
}

function fill(node, attributes, parent, text) {
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  if (text) node.textContent = text;
  if (parent) parent.append(node);
  return node;
}

function millions(steps) {
  return steps >= 999500 ? `${+(steps / 1e6).toFixed(2)} M` : `${Math.round(steps / 1e3)} k`;
}

function figures(value) {
  if (value === null) return "–";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en");
  return Math.abs(value) >= 0.1 || value === 0 ? value.toFixed(2) : value.toPrecision(2);
}

function present(values) {
  return values.filter((value) => value !== null);
}

// Round steps: 1, 2 or 5 times a power of ten.
function ticks(low, high, about) {
  const rough = (high - low) / about;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough);
  const first = Math.ceil(low / step - 1e-9);
  return Array.from({ length: Math.floor(high / step + 1e-9) - first + 1 }, (_, index) => (first + index) * step);
}

function powers(low, high) {
  const first = Math.ceil(Math.log10(low)), last = Math.floor(Math.log10(high));
  return Array.from({ length: Math.max(last - first + 1, 0) }, (_, index) => 10 ** (first + index));
}

// The given range, or that of all means and seeds.
function domain(series, options) {
  const all = series.flatMap((one) => present([...one.mean, ...one.seeds.flatMap((seed) => seed.values)]));
  const usable = options.log ? all.filter((value) => value > 0) : all;
  if (options.range) return options.range;
  if (!usable.length) return options.log ? [0.1, 1] : [0, 1];
  const low = usable.reduce((a, b) => Math.min(a, b)), high = usable.reduce((a, b) => Math.max(a, b));
  if (options.log) return [low / 1.1, high * 1.1];
  return [Math.min(0, low), high > 0 ? high * 1.05 : 1];
}

function path(steps, values, toX, toY) {
  let text = "", pen = "M";
  values.forEach((value, index) => {
    if (value === null) { pen = "M"; return; }
    text += `${pen}${toX(steps[index]).toFixed(1)},${toY(value).toFixed(1)}`;
    if (pen === "M") text += "h0"; // with round caps, a point without neighbours is a dot
    pen = "L";
  });
  return text;
}

function band(steps, one, toX, toY) {
  const known = steps.map((_, index) => index).filter((index) => one.low[index] !== null);
  if (!known.length) return "";
  const upper = known.map((index) => `${toX(steps[index]).toFixed(1)},${toY(one.high[index]).toFixed(1)}`);
  const lower = known.map((index) => `${toX(steps[index]).toFixed(1)},${toY(one.low[index]).toFixed(1)}`);
  return `M${upper.join("L")}L${lower.reverse().join("L")}Z`;
}

function drawChart(host, steps, end, series, options) {
  const width = Math.max(host.clientWidth, 160), height = options.height || 210;
  const left = 38, right = 8, top = 8, bottom = 34;
  const [low, high] = domain(series, options);
  const scale = options.log ? Math.log10 : (value) => value;
  const toX = (value) => left + (width - left - right) * value / end;
  const toY = (value) => {
    const place = (scale(Math.max(value, options.log ? low : value)) - scale(low)) / (scale(high) - scale(low));
    return height - bottom - (height - top - bottom) * Math.min(Math.max(place, 0), 1);
  };
  const svg = shape("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": options.describe });
  const rungs = options.log ? powers(low, high) : ticks(low, high, 4);
  for (const value of rungs.length > 1 ? rungs : options.log ? [low * 1.1, high / 1.1] : rungs) {
    shape("line", { class: "gridline", x1: left, x2: width - right, y1: toY(value), y2: toY(value) }, svg);
    const label = options.log ? String(+value.toPrecision(1)) : (+value.toPrecision(3)).toLocaleString("en");
    shape("text", { x: left - 6, y: toY(value) + 4, "text-anchor": "end" }, svg, label);
  }
  shape("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }, svg);
  for (const value of ticks(0, end, width > 330 ? 5 : 3)) {
    const anchor = toX(value) > width - 24 ? "end" : "middle";
    shape("text", { x: toX(value), y: height - bottom + 16, "text-anchor": anchor }, svg, value ? millions(value) : "0");
  }
  shape("text", { x: (left + width - right) / 2, y: height - 3, "text-anchor": "middle" }, svg, options.unit);
  for (const one of series) shape("path", { d: band(steps, one, toX, toY), fill: one.colour, opacity: 0.11 }, svg);
  for (const one of series) for (const seed of one.seeds)
    shape("path", { class: "seed", d: path(steps, seed.values, toX, toY), fill: "none", stroke: one.colour, "stroke-width": 1 }, svg);
  for (const one of series)
    shape("path", { class: "mean", d: path(steps, one.mean, toX, toY), fill: "none", stroke: one.colour, "stroke-width": 2.2, "stroke-linejoin": "round", "stroke-linecap": "round" }, svg);
  const cross = shape("g", { visibility: "hidden" }, svg);
  return { svg, cross, toX, toY, top, base: height - bottom, width };
}

function tell(tip, steps, series, index) {
  tip.replaceChildren();
  element("b", {}, tip, `${millions(steps[index])} steps`);
  for (const one of series) {
    if (one.mean[index] === null) continue;
    const line = element("div", {}, tip);
    element("span", { class: "swatch", style: `background:${one.colour}` }, line);
    const spread = one.low[index] === null ? "" : ` [${figures(one.low[index])}, ${figures(one.high[index])}]`;
    line.append(`${one.title} `);
    element("b", {}, line, figures(one.mean[index]));
    line.append(spread);
    const seeds = one.seeds.filter((seed) => seed.values[index] !== null);
    element("span", { class: "seeds" }, line, seeds.map((seed) => `seed ${seed.seed}: ${figures(seed.values[index])}`).join(" · "));
  }
}

function chart(card, steps, end, series, options) {
  const host = element("div", { class: "chart", tabindex: 0, role: "group", "aria-label": `${options.title}: arrow keys tell the values` }, card);
  const tip = element("div", { class: "tip", role: "status", hidden: "" });
  let drawn = null, index = steps.length - 1;

  const hide = () => {
    host.classList.remove("active");
    tip.hidden = true;
    if (drawn) drawn.cross.setAttribute("visibility", "hidden");
  };
  const show = (wanted) => {
    index = Math.min(Math.max(wanted, 0), steps.length - 1);
    host.classList.add("active");
    tell(tip, steps, series, index);
    tip.hidden = false;
    const x = drawn.toX(steps[index]);
    drawn.cross.replaceChildren();
    shape("line", { class: "cross", x1: x, x2: x, y1: drawn.top, y2: drawn.base }, drawn.cross);
    for (const one of series) if (one.mean[index] !== null)
      shape("circle", { cx: x, cy: drawn.toY(one.mean[index]), r: 3.5, fill: one.colour }, drawn.cross);
    drawn.cross.setAttribute("visibility", "visible");
    placeTip(host, tip, x);
  };
  const nearest = (event) => {
    const x = event.clientX - host.getBoundingClientRect().left;
    const gaps = steps.map((step) => Math.abs(drawn.toX(step) - x));
    return gaps.indexOf(Math.min(...gaps));
  };
  const draw = () => {
    drawn = drawChart(host, steps, end, series, options);
    host.replaceChildren(drawn.svg, tip);
    hide();
  };
  host.addEventListener("pointermove", (event) => show(nearest(event)));
  host.addEventListener("pointerdown", (event) => show(nearest(event)));
  host.addEventListener("pointerleave", hide);
  host.addEventListener("blur", hide);
  host.addEventListener("keydown", (event) => {
    const move = { ArrowLeft: -1, ArrowRight: 1, Home: -steps.length, End: steps.length }[event.key];
    if (event.key === "Escape") hide();
    if (move === undefined) return;
    event.preventDefault();
    show(tip.hidden ? index : index + move);
  });
  new ResizeObserver(() => { if (!drawn || drawn.width !== Math.max(host.clientWidth, 160)) draw(); }).observe(host);
  draw();
}

// Under the cross, and never outside the window.
function placeTip(host, tip, x) {
  const room = document.documentElement.clientWidth, from = host.getBoundingClientRect().left;
  const wide = tip.offsetWidth;
  const left = Math.min(x - wide / 2, room - from - wide - 8);
  tip.style.left = `${Math.max(left, 8 - from)}px`;
  tip.style.top = `${host.clientHeight - 14}px`; // below: it must not hide the curves
}
