/* Sound and its waveform. Times are seconds into the recording; the player's begin with the sound. */

const span = Math.max(data.sound.duration, data.end - data.sound.start); // seconds that are drawn
const audio = byId("audio");

function bytes(base64) {
  return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
}

/** The peaks, with silence behind the sound where turns go on longer than it. */
function peaks() {
  const given = bytes(data.sound.peaks);
  const all = new Float32Array(Math.round((given.length * span) / data.sound.duration));
  given.forEach((peak, i) => (all[i] = peak / 255));
  return all;
}

const embedded = byId("mp3").textContent;
if (embedded) {
  audio.src = URL.createObjectURL(new Blob([bytes(embedded)], { type: "audio/mpeg" }));
  byId("mp3").remove();
} else {
  byId("open").hidden = false;
  byId("file").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) audio.src = URL.createObjectURL(file);
  });
}

const player = WaveSurfer.create({
  container: byId("wave"),
  media: audio,
  peaks: [peaks()],
  duration: span,
  height: 76,
  barWidth: 2,
  barGap: 1,
  barRadius: 2,
  normalize: true,
  hideScrollbar: true,
  dragToSeek: true,
  cspNonce: document.querySelector("style").nonce,
});

player.on("timeupdate", (seconds) => {
  state.time = data.sound.start + seconds;
  tell("time");
});
for (const event of ["play", "pause", "finish"]) player.on(event, () => tell("playing"));
on("theme", () =>
  player.setOptions({
    waveColor: colour("--wave"),
    progressColor: colour("--accent"),
    cursorColor: colour("--accent"),
  }),
);

function seek(seconds) {
  state.time = Math.min(Math.max(seconds, data.sound.start), data.sound.start + span);
  player.setTime(state.time - data.sound.start);
  tell("time"); // also while there is no sound that would
}

function togglePlay() {
  player.playPause().catch(() => {}); // there is no sound yet, or the browser wants a click first
}

/** Play a turn, and stop where it ends. */
function playTurn([start, end]) {
  player.play(start - data.sound.start, end - data.sound.start).catch(() => {});
}

const isShown = ([, , speaker]) => state.shown[speaker];

/** The turn that was begun last, of speakers who are shown. */
function lastTurn(time = state.time) {
  return data.turns.findLast((turn) => isShown(turn) && turn[0] <= time + 0.01);
}

function nextTurn() {
  const turn = data.turns.find((turn) => isShown(turn) && turn[0] > state.time + 0.01);
  if (turn) seek(turn[0]);
}

/** The turn before; or the beginning of this one, when it has gone on for a while. */
function previousTurn() {
  const turn = lastTurn(state.time - 0.75);
  if (turn) seek(turn[0]);
}
