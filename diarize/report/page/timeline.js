/* The timeline: a lane for each speaker under one ruler, overlap behind them, errors below. */

const track = byId("track");
const scroller = byId("scroller");
const MOST_ZOOM = 200; // pixels per second
const STEPS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200];
const TICK_WIDTH = 70; // pixels between two ticks, at least

const across = (time) => `${(100 * (time - data.sound.start)) / span}%`;

function place(element, [start, end]) {
  element.style.left = across(start);
  element.style.width = `${(100 * (end - start)) / span}%`;
  return element;
}

/** A row across names and track; returns its name and its strip. */
function addRow(kind, ...label) {
  const name = make("div", { class: `row ${kind}` }, ...label);
  const strip = make("div", { class: `row ${kind}` });
  byId("labels").append(name);
  track.append(strip);
  return { name, strip };
}

/** Confidence as opacity: what is no better than a guess is faint. */
function opacity(confidence) {
  return confidence === null ? 1 : 0.3 + 0.7 * Math.min(1, Math.max(0, 2 * confidence - 1));
}

const blocks = new Map(); // the element of each turn

function addTurn(strip, turn, number, says) {
  const block = place(make("button", { type: "button", tabindex: -1, title: says }), turn);
  block.className = `turn ${looks(number)}`;
  block.addEventListener("click", () => playTurn(turn));
  strip.append(block);
  return block;
}

const ruler = addRow("ruler").strip;

data.speakers.forEach((_, speaker) => {
  const text = make("span", { class: "name" });
  const { name, strip } = addRow("lane", swatch(speaker), text);
  for (const turn of data.turns.filter((turn) => turn[2] === speaker)) {
    const block = addTurn(strip, turn, speaker, "");
    block.style.opacity = opacity(turn[3]);
    blocks.set(turn, block);
  }
  on("names", () => {
    showName(text, state.names, speaker);
    name.title = state.names[speaker];
    for (const block of strip.children) block.title = state.names[speaker];
  });
  on("shown", () => {
    for (const row of [name, strip]) row.classList.toggle("off", !state.shown[speaker]);
  });
});

for (const part of data.overlap) byId("bands").append(place(make("div", { class: "band" }), part));
for (const part of data.several) byId("bands").append(place(make("div", { class: "heard" }), part));

if (data.truth) {
  addRow("title quiet", make("span", { text: "Reference" }));
  data.truth.speakers.forEach((speaker, i) => {
    const partner = data.speakers.indexOf(data.truth.partners[i]);
    const number = partner < 0 ? data.speakers.length + i : partner;
    const text = make("span", { class: "name" });
    const { name, strip } = addRow("thin", swatch(number), text);
    showName(text, data.truth.speakers, i);
    name.title = speaker;
    for (const turn of data.truth.turns.filter((turn) => turn[2] === i)) {
      addTurn(strip, turn, number, speaker);
    }
  });
  addRow("title quiet", make("span", { text: "Errors" }));
  for (const [kind, parts] of Object.entries(data.truth.errors)) {
    const { strip } = addRow("thin", make("span", { text: kind }));
    for (const part of parts) {
      const mark = make("div", { class: `mark ${kind.replace(" ", "-")}`, title: kind });
      strip.append(place(mark, part));
    }
  }
}

/** Ticks of the part that is seen: of all of it, a long recording would have too many. */
function drawRuler() {
  const perSecond = track.clientWidth / span;
  const step = STEPS.find((step) => step * perSecond >= TICK_WIDTH) ?? STEPS.at(-1);
  const first = data.sound.start + scroller.scrollLeft / perSecond;
  const last = Math.min(first + scroller.clientWidth / perSecond, data.sound.start + span);
  const ticks = [];
  for (let i = Math.floor(first / step); i * step < last; i += 1) {
    if (i * step < data.sound.start) continue;
    const fits = (last - i * step) * perSecond > TICK_WIDTH / 2;
    const tick = make("span", { class: "tick", text: fits ? clock(i * step, step < 1 ? 1 : 0) : "" });
    tick.style.left = across(i * step);
    ticks.push(tick);
  }
  ruler.replaceChildren(...ticks);
}

let zoom = 0; // pixels per second; 0: all of it is seen

/** Show less time (`factor` > 1) or more; what is played stays in sight. */
function zoomBy(factor) {
  const fitting = scroller.clientWidth / span;
  const wanted = Math.min((zoom || fitting) * factor, Math.max(MOST_ZOOM, fitting));
  zoom = wanted <= fitting * 1.01 ? 0 : wanted;
  track.style.width = zoom ? `${Math.ceil(span * zoom)}px` : "100%";
  player.zoom(zoom);
  const played = (state.time - data.sound.start) * zoom;
  scroller.scrollLeft = zoom ? played - scroller.clientWidth / 2 : 0;
  drawRuler();
}

scroller.addEventListener("scroll", () => {
  if (Math.abs(player.getScroll() - scroller.scrollLeft) > 1) player.setScroll(scroller.scrollLeft);
  drawRuler();
});
player.on("scroll", (_start, _end, left) => {
  if (Math.abs(scroller.scrollLeft - left) > 1) scroller.scrollLeft = left;
});
track.addEventListener("click", (event) => {
  if (event.target.closest(".turn")) return;
  const box = track.getBoundingClientRect();
  seek(data.sound.start + (span * (event.clientX - box.left)) / box.width);
});
new ResizeObserver(drawRuler).observe(scroller);
on("time", () => (byId("head").style.left = across(state.time)));

function legend() {
  const parts = [];
  const add = (look, text) => parts.push(make("span", {}, make("i", { class: look }), text));
  if (data.overlap.length) add("band", "several speak");
  if (data.several.length) add("heard", "several are heard, be it known who or not");
  if (data.turns.some((turn) => turn[3] !== null)) add("sure", "fainter: less sure");
  if (data.truth) {
    add("mark missed", "missed: somebody is not heard");
    add("mark false-alarm", "false alarm: nobody is there");
    add("mark confusion", "confusion: somebody else is");
  }
  byId("legend").append(...parts);
}
legend();
