/* The head of the page, the buttons that are always at hand, keys, dark and light. */

function drawHead() {
  byId("title").textContent = document.title = data.uri;
  byId("title").title = data.file;
  const speech = sum(data.atOnce.slice(1));
  const overlap = sum(data.atOnce.slice(2));
  const facts = [clock(data.end - data.start), count(data.speakers.length, "speaker")];
  facts.push(speech ? `${clock(speech)} of speech, ${percent(overlap / speech)} of it overlap` : "no speech");
  byId("summary").textContent = facts.join(" · ");
}

function skip(seconds) {
  seek(state.time + seconds);
}

function playAgain() {
  const turn = lastTurn();
  if (turn) playTurn(turn);
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  tell("theme");
}

function toggleSpeaker(key) {
  const speaker = Number(key) - 1;
  if (speaker < state.shown.length) show(speaker, !state.shown[speaker]);
}

const KEYS = {
  " ": ["space", "play or pause", togglePlay],
  ArrowLeft: ["←", "5 seconds back (with shift 1)", (event) => skip(event.shiftKey ? -1 : -5)],
  ArrowRight: ["→", "5 seconds on (with shift 1)", (event) => skip(event.shiftKey ? 1 : 5)],
  n: ["n", "next turn", nextTurn],
  p: ["p", "previous turn", previousTurn],
  r: ["r", "play this turn again", playAgain],
  "+": ["+", "see less time", () => zoomBy(2)],
  "-": ["-", "see more time", () => zoomBy(0.5)],
  a: ["a", "show all speakers", showAll],
  d: ["d", "dark or light", switchTheme],
};

for (const [label, what] of Object.values(KEYS)) {
  byId("keys").append(make("dt", {}, make("kbd", { text: label })), make("dd", { text: what }));
}
byId("keys").append(make("dt", {}, make("kbd", { text: "1" }), " … ", make("kbd", { text: "9" })), make("dd", { text: "show or hide a speaker" }));

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.closest("input[type=text], input[type=file], select")) return;
  if (event.key >= "1" && event.key <= "9") return toggleSpeaker(event.key);
  const key = KEYS[event.key === "=" ? "+" : event.key];
  if (!key) return;
  event.preventDefault(); // space would press the button that was clicked last
  key[2](event);
});

const ACTIONS = {
  play: togglePlay,
  next: nextTurn,
  previous: previousTurn,
  in: () => zoomBy(2),
  out: () => zoomBy(0.5),
  theme: switchTheme,
  all: showAll,
  download,
};
for (const [id, act] of Object.entries(ACTIONS)) byId(id).addEventListener("click", act);
byId("speed").addEventListener("change", (event) => player.setPlaybackRate(Number(event.target.value)));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => tell("theme"));

on("playing", () => {
  byId("play").classList.toggle("on", player.isPlaying());
  byId("play").ariaLabel = player.isPlaying() ? "Pause" : "Play";
});
on("time", () => {
  byId("clock").textContent = `${clock(state.time, 1)} / ${clock(data.end)}`;
});

function drawNow() {
  const speakers = [...new Set(marked.map((turn) => turn[2]))];
  const chip = (i) => make("span", { class: "chip" }, swatch(i), state.names[i]);
  byId("now").replaceChildren(...speakers.map(chip));
}
on("speaking", drawNow);
on("names", drawNow);

drawHead();
