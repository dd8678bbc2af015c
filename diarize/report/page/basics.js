/* What all parts share: the data, the state that a reader changes, and small helpers. */

const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);

/** What a reader changes; `tell` lets the parts that show it know. */
const state = {
  names: [...data.speakers],
  shown: data.speakers.map(() => true),
  time: data.start, // seconds into the recording
};
const changes = new EventTarget();

/** Act now, and whenever something ("names", "shown", "time", "theme") has changed. */
function on(what, act) {
  changes.addEventListener(what, act);
  act();
}

function tell(what) {
  changes.dispatchEvent(new Event(what));
}

/** Make an element; text and attributes are set as such, never as markup. */
function make(tag, { text, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  element.append(...children);
  return element;
}

const HUES = 6;
const ROUNDS = 4;

/** The classes that give an element a speaker's colour and pattern. */
function looks(number) {
  return `hue-${number % HUES} round-${Math.floor(number / HUES) % ROUNDS}`;
}

function swatch(number) {
  return make("i", { class: `swatch ${looks(number)}` });
}

/** Show one of several names so that, where there is too little room, what tells it apart stays. */
function showName(element, names, number) {
  const letters = [...names[number]];
  let common = 0; // letters that it begins with, and so does another
  names.forEach((other, i) => {
    const others = [...other];
    let same = 0;
    while (i !== number && same < letters.length - 1 && others[same] === letters[same]) same += 1;
    common = Math.max(common, same);
  });
  const begin = make("span", { class: "begin", text: letters.slice(0, common).join("") });
  element.replaceChildren(begin, make("span", { text: letters.slice(common).join("") }));
}

/** 75.24 is "1:15", or "1:15.2" with a decimal. */
function clock(seconds, decimals = 0) {
  const unit = 10 ** decimals;
  const whole = Math.round(Math.max(0, seconds) * unit);
  const minutes = Math.floor(whole / unit / 60);
  const rest = ((whole - minutes * 60 * unit) / unit).toFixed(decimals);
  const tail = rest.padStart(decimals ? 3 + decimals : 2, "0");
  if (minutes < 60) return `${minutes}:${tail}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${tail}`;
}

function percent(share, decimals = 0) {
  return share === null ? "–" : `${(100 * share).toFixed(decimals)} %`;
}

function count(number, one, several = `${one}s`) {
  return `${number} ${number === 1 ? one : several}`;
}

const sum = (numbers) => numbers.reduce((total, number) => total + number, 0);

/** The value of a colour of the style sheet, for those who draw on a canvas. */
function colour(name) {
  const probe = make("span");
  probe.style.color = `var(${name})`;
  document.body.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
