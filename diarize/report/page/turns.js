/* The turns as a list: click one to play it. */

const items = new Map(); // the element of each turn

for (const turn of data.turns) {
  const [start, end, speaker, confidence] = turn;
  const name = make("span", { class: "name" });
  const button = make(
    "button",
    { type: "button" },
    make("span", { class: "number", text: clock(start, 1) }),
    swatch(speaker),
    name,
    make("span", { class: "number quiet", text: `${(end - start).toFixed(1)} s` }),
    make("span", {
      class: "number quiet sure",
      text: confidence === null ? "" : `${percent(confidence)} sure`,
    }),
  );
  const item = make("li", {}, button);
  button.addEventListener("click", () => playTurn(turn));
  items.set(turn, { item, name });
  byId("turns").append(item);
}

on("names", () => {
  for (const [turn, { name }] of items) name.textContent = state.names[turn[2]];
});
on("shown", () => {
  let shown = 0;
  for (const [turn, { item }] of items) {
    item.hidden = !isShown(turn);
    shown += isShown(turn);
  }
  const all = data.turns.length;
  byId("turns-count").textContent = shown === all ? count(all, "turn") : `${shown} of ${all} turns`;
});

let marked = [];

/** Mark the turns that are heard now, in the list and on the timeline. */
on("time", () => {
  const now = data.turns.filter((turn) => turn[0] <= state.time && state.time < turn[1]);
  if (now.length === marked.length && now.every((turn, i) => turn === marked[i])) return;
  for (const turn of marked) markTurn(turn, false);
  for (const turn of now) markTurn(turn, true);
  marked = now;
  tell("speaking");
  const first = now.length && items.get(now[0]).item;
  if (first && player.isPlaying()) keepInSight(first);
});

function markTurn(turn, heard) {
  items.get(turn).item.classList.toggle("now", heard);
  blocks.get(turn).classList.toggle("now", heard);
}

/** Scroll the list, and nothing but the list. */
function keepInSight(item) {
  const list = byId("turns");
  const top = item.offsetTop - list.offsetTop;
  if (top < list.scrollTop || top + item.offsetHeight > list.scrollTop + list.clientHeight) {
    list.scrollTop = top - list.clientHeight / 3;
  }
}
