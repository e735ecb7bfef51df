// The map from above, coloured by where an agent was or what it wanted, in slices of training.

const PIXELS = 10; // of a cell

function theme(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

function mixColours(from, to, share) {
  const parse = (hex) => [1, 3, 5].map((start) => parseInt(hex.slice(start, start + 2), 16));
  const [a, b] = [parse(from), parse(to)];
  return `rgb(${a.map((value, channel) => Math.round(value + (b[channel] - value) * share)).join(" ")})`;
}

// 256 colours: blank, then from the floor's colour over a middle tone to the strongest.
function ramp(kind) {
  const [floor, middle, strong] = [theme("--floor"), theme(`--${kind}-mid`), theme(`--${kind}`)];
  const colour = (share) => share < 0.5 ? mixColours(floor, middle, 2 * share) : mixColours(middle, strong, 2 * share - 1);
  return Array.from({ length: 256 }, (_, level) => level ? colour(level / 255) : theme("--blank"));
}

function mapCanvas(host, layout) {
  return element("canvas", { width: layout.columns * PIXELS, height: layout.rows * PIXELS, role: "img" }, host);
}

function drawMap(canvas, layout, levels, colours) {
  const context = canvas.getContext("2d");
  context.fillStyle = theme("--wall");
  context.fillRect(0, 0, canvas.width, canvas.height);
  layout.floor.forEach((cell, index) => {
    context.fillStyle = colours[levels[index]];
    context.fillRect((cell % layout.columns) * PIXELS, Math.floor(cell / layout.columns) * PIXELS, PIXELS, PIXELS);
  });
  context.strokeStyle = theme("--mark");
  context.globalAlpha = 0.55;
  for (const cell of layout.blocks)
    context.strokeRect((cell % layout.columns) * PIXELS + 1.5, Math.floor(cell / layout.columns) * PIXELS + 1.5, PIXELS - 3, PIXELS - 3);
  context.globalAlpha = 1;
}

// A description of the map, shown below it and for screen readers.
function mapWords(data, kind, levels, dwell) {
  const top = levels.reduce((best, level, index) => level > levels[best] ? index : best, 0);
  if (!levels[top]) return "no run has got this far";
  const where = data.layout.places[top];
  const share = 100 * 10 ** (data.decades * (levels[top] / 255 - 1));
  const strongest = kind === "was"
    ? `at most ${share < 10 ? share.toFixed(1) : Math.round(share)} % of its time in one cell, in ${where}`
    : `at most ${(data.topReward * (levels[top] - 1) / 254).toFixed(1)} per visit, in ${where}`;
  return `${strongest}; ${data.noise.toLowerCase()} ${dwell === null ? "–" : Math.round(100 * dwell) + " %"}`;
}

function mapsSection(data, section) {
  const host = section.querySelector("[data-maps]");
  if (!host) return;
  const slider = section.querySelector("input[type=range]"), output = section.querySelector("output");
  const scale = section.querySelector("[data-scale]"), play = section.querySelector("button");
  const count = data.slices.length - 1;
  let kind = "was", timer = null;

  const tiles = [];
  for (const setting of data.settings) {
    const methods = data.methods.filter((method) => data.maps[setting.id]?.[method.id]);
    if (!methods.length) continue;
    const row = element("div", { class: "row" }, host);
    element("small", {}, element("h3", {}, row, setting.id + " "), setting.about);
    const grid = element("div", { class: "grid", style: `--columns:${Math.max(data.methods.length, 3)}` }, row);
    for (const method of methods) {
      const tile = element("div", { class: "tile" }, grid);
      const title = element("header", {}, tile);
      element("span", { class: "swatch", style: `background:${method.colour}` }, element("span", {}, title)).after(method.title);
      tiles.push({ setting, method, maps: data.maps[setting.id][method.id], canvas: mapCanvas(tile, data.layout), words: element("p", {}, tile) });
    }
  }
  const draw = () => {
    const slice = Number(slider.value), colours = ramp(kind), cells = data.layout.floor.length;
    const span = `${millions(data.slices[slice])} to ${millions(data.slices[slice + 1])} steps`;
    output.textContent = span;
    slider.setAttribute("aria-valuetext", span);
    for (const { setting, method, maps, canvas, words } of tiles) {
      const levels = maps[kind].subarray(slice * cells, (slice + 1) * cells);
      drawMap(canvas, data.layout, levels, colours);
      const middle = (data.slices[slice] + data.slices[slice + 1]) / 2;
      const text = mapWords(data, kind, levels, valueAt(data, setting.id, method.id, "noise_dwell", middle));
      words.textContent = text;
      canvas.setAttribute("aria-label", `Map: ${kind === "was" ? "where" : "what"} ${method.title} ${kind} in ${setting.id}, ${span}: ${text}`);
    }
    drawScale(scale, kind, data, colours);
  };
  const stop = () => { clearInterval(timer); timer = null; play.textContent = "Play"; };
  const advance = () => {
    if (Number(slider.value) >= count - 1) { stop(); return; }
    slider.value = Number(slider.value) + 1;
    draw();
  };
  slider.max = count - 1;
  slider.value = count - 1;
  slider.addEventListener("input", () => { stop(); draw(); });
  play.addEventListener("click", () => {
    if (timer) { stop(); return; }
    if (Number(slider.value) >= count - 1) slider.value = 0;
    play.textContent = "Pause";
    timer = setInterval(advance, 220);
    draw();
  });
  for (const radio of section.querySelectorAll("input[name=kind]"))
    radio.addEventListener("change", () => { kind = radio.value; draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  draw();
}

function valueAt(data, setting, method, metric, step) {
  const curve = data.curves[metric]?.[setting]?.[method];
  if (!curve) return null;
  const gaps = data.steps.map((value) => Math.abs(value - step));
  return curve.mean[gaps.indexOf(Math.min(...gaps))];
}

function drawScale(host, kind, data, colours) {
  host.replaceChildren();
  const stops = colours.slice(1).filter((_, index) => index % 32 === 0 || index === 254);
  const [low, high, name] = kind === "was"
    ? [`${100 * 10 ** -data.decades} % or less`, "100 %", "share of its time, logarithmic"]
    : ["0", data.topReward.toFixed(1) + " or more", "intrinsic reward per visit; blank: hardly ever there"];
  element("span", {}, host, low);
  element("i", { style: `background:linear-gradient(90deg, ${stops.join(", ")})` }, host);
  element("span", {}, host, `${high} — ${name}`);
}
