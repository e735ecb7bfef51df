// Unpacks the data and fills the sections.

const CHARTS = [
  { metric: "noise_dwell", about: "share of its time", range: [0, 1] },
  { metric: "error_on_noise", title: "Error on noise", about: "what is left to predict there", log: true },
  { metric: "error_elsewhere", title: "Error elsewhere", about: "the same, without noise in view", log: true },
  { metric: "prediction_error", title: "Prediction error", about: "without hindsight", log: true },
  { metric: "reconstruction_error", title: "Reconstruction error", about: "with hindsight", log: true },
  { metric: "contrastive_value", title: "Contrastive value", about: "information of the hindsight vector about the past, estimate in nats" },
  { metric: "hindsight_only_error", title: "Hindsight-only error", about: "from the hindsight vector alone", log: true },
  { metric: "target_variance", title: "Variance of the targets", about: "the error of knowing nothing", log: true },
  { metric: "entropy", title: "Policy entropy", about: "nats; of a uniform choice, the logarithm of the number of actions" },
  { metric: "intrinsic_reward", title: "Intrinsic reward", about: "mean per step" },
  { metric: "steps_per_second", title: "Throughput", about: "steps a second" },
];

function bytesOf(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

async function unpack(text) {
  const stream = new Blob([bytesOf(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

function choose(host, name, options, first, changed) {
  if (!host || !options.length) return;
  const start = options.find((option) => option.id === first) || options[0];
  const set = element("fieldset", { class: "choose" }, host);
  element("legend", {}, set, "Setting");
  for (const option of options) {
    const label = element("label", {}, set);
    const radio = element("input", { type: "radio", name, value: option.id }, label);
    radio.checked = option === start;
    radio.addEventListener("change", () => changed(option.id));
    label.append(option.id);
  }
  changed(start.id);
}

function seriesOf(data, metric, setting) {
  const found = data.curves[metric]?.[setting] || {};
  const drawn = (method) => found[method.id] && present(found[method.id].mean).length;
  return data.methods.filter(drawn).map((method) => ({ ...method, ...found[method.id] }));
}

function describe(what, setting, series) {
  const last = (values) => figures(present(values).at(-1) ?? null);
  return `Line chart: ${what} in ${setting}. At the end: ${series.map((one) => `${one.title} ${last(one.mean)}`).join(", ")}.`;
}

function addChart(data, host, metric, setting, title, about, options) {
  const series = seriesOf(data, metric, setting);
  if (!series.length) return;
  const card = element("div", { class: "card" }, host);
  element("h3", {}, card, title);
  element("p", { class: "note" }, card, about);
  chart(card, data.steps, data.end, series, { ...options, unit: data.unit, title: `${title}, ${setting}`, describe: describe(title, setting, series) });
}

// A row of panels for each score, with a title if there are several.
function figureSection(data, host) {
  for (const { metric, title, range } of data.scores) {
    if (data.scores.length > 1) element("h3", {}, host, title[0].toUpperCase() + title.slice(1));
    const panels = element("div", { class: "panels" }, host);
    for (const setting of data.settings)
      addChart(data, panels, metric, setting.id, setting.id, setting.about, { range, height: 230 });
  }
}

function curvesSection(data, section) {
  const host = section.querySelector("[data-curves]");
  choose(section.querySelector("[data-choose]"), "curve-setting", data.settings, data.focus, (setting) => {
    host.replaceChildren();
    for (const { metric, title = data.noise, about, ...options } of CHARTS) addChart(data, host, metric, setting, title, about, options);
  });
}

function decodeMaps(data) {
  for (const methods of Object.values(data.maps)) for (const maps of Object.values(methods)) {
    maps.was = bytesOf(maps.was);
    maps.wanted = bytesOf(maps.wanted);
  }
}

async function main() {
  const data = await unpack(document.getElementById("payload").textContent);
  decodeMaps(data);
  figureSection(data, document.querySelector("[data-figure]"));
  mapsSection(data, document.getElementById("maps"));
  filmsSection(data, document.getElementById("films"));
  curvesSection(data, document.getElementById("curves"));
  document.body.dataset.ready = "yes";
}

main();
