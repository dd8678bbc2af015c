/* Speakers: their names, who is shown, how long each talks, and the result under these names. */

const mostTalk = Math.max(...data.talk, 0);
const allTalk = sum(data.talk);

function addSpeaker(_, speaker) {
  const box = make("input", { type: "checkbox" });
  const name = make("input", { type: "text", maxlength: 80, spellcheck: "false", value: data.speakers[speaker] });
  const talk = data.talk[speaker];
  const alone = make("i");
  const together = make("i", { class: "together" });
  alone.style.width = `${(100 * data.alone[speaker]) / mostTalk}%`;
  together.style.width = `${(100 * (talk - data.alone[speaker])) / mostTalk}%`;
  const said = `${clock(talk)} · ${percent(talk / allTalk)} · ${count(data.turns.filter((turn) => turn[2] === speaker).length, "turn")}`;
  const meter = make("div", { class: `meter ${looks(speaker)}` }, alone, together);
  meter.title = `${clock(data.alone[speaker], 1)} alone, ${clock(talk - data.alone[speaker], 1)} while others speak`;
  const only = make("button", { class: "plain", type: "button", text: "Only" });
  const play = make("button", { class: "plain", type: "button", text: "Hear" });
  const item = make("li", {}, box, swatch(speaker), name, meter, make("span", { class: "quiet said", text: said }), only, play);
  byId("speakers").append(item);

  box.addEventListener("change", () => show(speaker, box.checked));
  name.addEventListener("input", () => rename(speaker, name.value));
  name.addEventListener("change", () => (name.value = state.names[speaker]));
  name.addEventListener("keydown", (event) => {
    if (event.key === "Enter" || event.key === "Escape") name.blur();
  });
  only.addEventListener("click", () => showOnly(speaker));
  // What is said alone and at length says best whose voice it is.
  play.addEventListener("click", () => playTurn(clearestTurn(speaker)));
  on("shown", () => {
    box.checked = state.shown[speaker];
    item.classList.toggle("off-card", !state.shown[speaker]);
  });
  on("names", () => {
    box.ariaLabel = `Show ${state.names[speaker]}`;
    name.ariaLabel = `Name of ${data.speakers[speaker]}`;
    only.ariaLabel = `Show only ${state.names[speaker]}`;
    play.ariaLabel = play.title = `Hear ${state.names[speaker]}`;
  });
}

/** A name without text is no name: the old one comes back. */
function rename(speaker, name) {
  state.names[speaker] = name.trim() || data.speakers[speaker];
  tell("names");
}

function show(speaker, shown) {
  state.shown[speaker] = shown;
  tell("shown");
}

function showOnly(speaker) {
  state.shown.forEach((_, other) => (state.shown[other] = other === speaker));
  tell("shown");
}

function showAll() {
  state.shown.fill(true);
  tell("shown");
}

/** The turn of a speaker with most time in which nobody else speaks. */
function clearestTurn(speaker) {
  const shared = ([start, end]) =>
    sum(data.overlap.map((part) => Math.max(0, Math.min(end, part[1]) - Math.max(start, part[0]))));
  const clear = (turn) => turn[1] - turn[0] - shared(turn);
  const turns = data.turns.filter((turn) => turn[2] === speaker);
  return turns.reduce((best, turn) => (clear(turn) > clear(best) ? turn : best));
}

/** The turns as RTTM, as the toolkit writes it: a field has no white space. */
function rttm() {
  const field = (text) => text.replace(/\s/gu, "_");
  const line = ([start, end, speaker]) =>
    `SPEAKER ${field(data.uri)} 1 ${start.toFixed(3)} ${(end - start).toFixed(3)} <NA> <NA> ${field(state.names[speaker])} <NA> <NA>\n`;
  return data.turns.map(line).join("");
}

function download() {
  const link = make("a", { download: `${data.uri}.rttm` });
  link.href = URL.createObjectURL(new Blob([rttm()], { type: "text/plain;charset=utf-8" }));
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** How many there may be, where that is in doubt; in the title, how probable each number is. */
function drawPossible() {
  const [low, high] = data.possible;
  if (low < high) byId("possible").textContent = `${low} to ${high} possible`;
  byId("possible").title = data.number.map(([number, share]) => `${count(number, "speaker")}: ${percent(share)}`).join(", ");
}

data.speakers.forEach(addSpeaker);
drawPossible();
