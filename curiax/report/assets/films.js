// A typical episode of each agent; all methods of a setting are played in step.

const RATE = 20; // steps a second at speed 1
const NOWHERE = 65535;

function decodeFilm(film) {
  const wide = (name, Type) => new Type(bytesOf(film[name]).buffer);
  return {
    length: bytesOf(film.noise).length,
    cell: wide("cell", Uint16Array), pixels: wide("pixels", Uint32Array), blocks: wide("blocks", Uint16Array),
    coins: wide("coins", Uint16Array), reward: wide("reward", Float32Array),
    noise: bytesOf(film.noise), trackers: bytesOf(film.trackers),
  };
}

function drawScene(canvas, layout, film, step, colour, top) {
  const context = canvas.getContext("2d"), size = canvas.width / layout.columns;
  const square = (cell, inset = 0) => context.fillRect((cell % layout.columns) * size + inset, Math.floor(cell / layout.columns) * size + inset, size - 2 * inset, size - 2 * inset);
  const disc = (cell, radius) => {
    context.beginPath();
    context.arc((cell % layout.columns + 0.5) * size, (Math.floor(cell / layout.columns) + 0.5) * size, radius, 0, 7);
    context.fill();
  };
  context.fillStyle = theme("--wall");
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = theme("--floor");
  for (const cell of layout.floor) square(cell);
  context.fillStyle = theme("--blank");
  for (const cell of layout.doorways.flat()) square(cell);
  context.fillStyle = theme("--coin");
  for (let coin = 0; coin < 2; coin++) if (film.coins[2 * step + coin] !== NOWHERE) disc(film.coins[2 * step + coin], size * 0.26);
  context.fillStyle = theme("--block");
  for (let block = 0; block < 4; block++) square(film.blocks[4 * step + block]);
  drawView(context, layout, film, step, size);
  const cell = film.cell[step];
  context.fillStyle = colour;
  context.globalAlpha = 0.28;
  disc(cell, size * (0.5 + 1.6 * Math.min(film.reward[step] / top, 1)));
  context.globalAlpha = 1;
  disc(cell, size * 0.46);
}

// The 5×5 cells that the agent sees, with the noise on them.
function drawView(context, layout, film, step, size) {
  const cell = film.cell[step], reach = (layout.view - 1) / 2;
  const left = cell % layout.columns - reach, above = Math.floor(cell / layout.columns) - reach;
  if (film.pixels[step]) {
    context.fillStyle = "rgb(255 255 255 / 0.7)";
    context.fillRect(left * size, above * size, layout.view * size, layout.view * size);
  }
  context.fillStyle = "#15181c";
  for (let index = 0; index < layout.view ** 2; index++)
    if (film.pixels[step] >>> index & 1)
      context.fillRect((left + index % layout.view) * size, (above + Math.floor(index / layout.view)) * size, size, size);
  context.strokeStyle = theme("--soft");
  context.setLineDash([4, 4]);
  context.lineWidth = 1.5;
  context.strokeRect(left * size, above * size, layout.view * size, layout.view * size);
  context.setLineDash([]);
}

// Bars of intrinsic reward so far; under them a line at the steps with noise.
function drawTrace(canvas, film, step, colour, top) {
  const context = canvas.getContext("2d"), base = canvas.height - 12;
  const width = canvas.width / film.length;
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = theme("--line");
  context.fillRect(0, base, canvas.width, 2);
  for (let index = 0; index <= step; index++) {
    context.fillStyle = colour;
    const tall = Math.min(film.reward[index] / top, 1) * (base - 4);
    context.fillRect(index * width, base - tall, Math.max(width, 1), tall);
    if (!film.noise[index]) continue;
    context.fillStyle = theme("--mark");
    context.fillRect(index * width, base + 5, Math.max(width, 1), 5);
  }
}

function filmTiles(data, setting, host) {
  host.replaceChildren();
  const present = data.methods.filter((method) => data.films[setting]?.[method.id]);
  host.style.setProperty("--columns", Math.max(present.length, 3));
  const tiles = present.map((method) => {
    const film = decodeFilm(data.films[setting][method.id]);
    const tile = element("div", { class: "tile" }, host), title = element("header", {}, tile);
    element("span", { class: "swatch", style: `background:${method.colour}` }, element("span", {}, title)).after(method.title);
    const lamps = element("span", { class: "lamps" }, title);
    const regions = [1, 2, 3, 4].map((number) => element("span", {}, lamps, `R${number}`));
    const { columns, rows } = data.layout;
    const total = film.noise.reduce((sum, noise) => sum + noise, 0) / film.length;
    const touched = [0, 1, 2, 3].filter((bit) => film.trackers[film.length - 1] >> bit & 1).length;
    const words = `touches ${touched} of 4 regions, noise in view ${Math.round(100 * total)} % of the steps`;
    const scene = element("canvas", { width: columns * 20, height: rows * 20, role: "img", "aria-label": `Film: a typical episode of ${method.title} in ${setting}; ${words}` }, tile);
    const trace = element("canvas", { class: "trace", width: 500, height: 100, role: "img", "aria-label": `Intrinsic reward of ${method.title} step by step` }, tile);
    element("p", {}, tile, words);
    return { film, method, scene, trace, regions };
  });
  const rewards = tiles.flatMap((tile) => [...tile.film.reward]).sort((a, b) => a - b);
  const top = Math.max(rewards[Math.floor(0.99 * (rewards.length - 1))] || 0, 1e-6);
  return tiles.map((tile) => ({ ...tile, top }));
}

function filmsSection(data, section) {
  const host = section.querySelector("[data-films]");
  if (!host) return;
  const slider = section.querySelector("input[type=range]"), output = section.querySelector("output");
  const play = section.querySelector("button"), speed = section.querySelector("select");
  let tiles = [], step = 0, playing = false, before = 0;

  const length = () => Math.max(...tiles.map((tile) => tile.film.length));
  const draw = () => {
    const now = Math.floor(step);
    slider.value = now;
    output.textContent = `step ${now + 1} of ${length()}`;
    slider.setAttribute("aria-valuetext", output.textContent);
    for (const { film, method, scene, trace, regions, top } of tiles) {
      const at = Math.min(now, film.length - 1);
      drawScene(scene, data.layout, film, at, method.colour, top);
      drawTrace(trace, film, at, method.colour, top);
      regions.forEach((lamp, bit) => lamp.classList.toggle("on", Boolean(film.trackers[at] >> bit & 1)));
    }
  };
  const run = (wanted) => {
    playing = wanted;
    play.textContent = playing ? "Pause" : "Play";
    before = performance.now();
    if (playing) requestAnimationFrame(tick);
  };
  const tick = (now) => {
    if (!playing) return;
    step = Math.min(step + Math.max(now - before, 0) / 1000 * RATE * Number(speed.value), length() - 1);
    before = now;
    draw();
    if (step >= length() - 1) run(false);
    else requestAnimationFrame(tick);
  };
  const open = (setting) => {
    tiles = filmTiles(data, setting, host);
    slider.max = length() - 1;
    step = Math.min(step, length() - 1);
    draw();
  };
  play.addEventListener("click", () => {
    if (step >= length() - 1) step = 0;
    run(!playing);
  });
  slider.addEventListener("input", () => { run(false); step = Number(slider.value); draw(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
  const filmed = data.settings.filter((setting) => data.films[setting.id]);
  step = 60; // a still that shows something
  choose(section.querySelector("[data-choose]"), "film-setting", filmed, data.focus, open);
}
