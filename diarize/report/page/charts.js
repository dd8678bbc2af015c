/* Charts: how many speak at once, and who follows whom. */

function drawAtOnce() {
  const seconds = [...data.atOnce];
  seconds[0] = Math.max(0, data.end - data.start - sum(seconds.slice(1)));
  const shown = [...seconds.slice(0, 3), sum(seconds.slice(3))];
  const words = ["nobody", "one speaker", "two speakers", "three or more"];
  const total = sum(shown) || 1;
  const stack = make("div", { class: "stack", "aria-hidden": "true" });
  const list = make("div", { class: "list" });
  shown.forEach((time, level) => {
    if (!time) return;
    const part = make("i", { class: `level-${level}`, title: words[level] });
    part.style.flexGrow = time / total;
    stack.append(part);
    list.append(
      make("span", { class: `swatch level-${level}` }),
      make("span", { text: words[level] }),
      make("span", { text: clock(time) }),
      make("span", { text: percent(time / total), class: "quiet" }),
    );
  });
  byId("at-once").append(stack, list);
}

const MOST_CELLS = 20; // speakers in the matrix: more cannot be read

function drawFollows() {
  const speakers = data.speakers.map((_, i) => i).slice(0, MOST_CELLS);
  const most = Math.max(1, ...data.follows.flat());
  const heads = speakers.map((speaker) => make("th", { scope: "col" }, swatch(speaker)));
  const table = make("table", {}, make("thead", {}, make("tr", {}, make("td"), ...heads)));
  const body = make("tbody");
  const names = [];
  for (const before of speakers) {
    const name = make("th", { scope: "row" });
    names.push(name);
    const cells = speakers.map((after) => {
      const times = data.follows[before][after];
      const shade = make("i");
      shade.style.opacity = (0.9 * times) / most;
      const look = `${before === after ? "same" : ""} ${times / most > 0.55 ? "strong" : ""}`;
      return make("td", { class: look }, shade, make("span", { text: times || "" }));
    });
    body.append(make("tr", {}, name, ...cells));
  }
  table.append(body);
  byId("follows").append(table);
  on("names", () =>
    speakers.forEach((speaker) => {
      const said = state.names[speaker];
      names[speaker].replaceChildren(swatch(speaker), ` ${said}`);
      names[speaker].title = heads[speaker].title = said;
    }),
  );
}

/** The error rates, if there is a truth to compare with. */
function drawScores() {
  if (!data.truth) return;
  const { scores, protocol } = data.truth;
  const tiles = [
    ["diarization error rate", percent(scores.der, 1)],
    ["missed", percent(scores.missed_detection, 1)],
    ["false alarm", percent(scores.false_alarm, 1)],
    ["confusion", percent(scores.confusion, 1)],
    ["Jaccard error rate", percent(scores.jer, 1)],
    ["speakers found / true", `${data.speakers.length} / ${data.truth.speakers.length}`],
  ];
  const box = byId("scores");
  box.hidden = false;
  for (const [what, figure] of tiles) {
    box.append(make("div", {}, make("b", { text: figure }), make("span", { text: what })));
  }
  box.append(make("p", { class: "quiet", text: `Against the reference: ${protocol}.` }));
}

drawAtOnce();
drawFollows();
drawScores();
