"use strict";
// Each section's words and matrix, made of the JSON in it when it comes near the window.
// A place is {i, j}: target word i and source word j, either of them null where it is not chosen.

const END = "</s>";
const SVG = "http://www.w3.org/2000/svg";
const FAINTEST = 0.15; // opacity of a line
const WORTH_TELLING = 0.05; // weights below it are neither drawn as lines nor told in words
const MOST_CELLS = 40_000; // a browser draws more of them sluggishly
const NOWHERE = { i: null, j: null };
const FROM_THE_RIGHT =
  /(?=\p{L})[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}\p{sc=Rohg}\p{sc=Mand}\p{sc=Samr}]/gu;

class AlignmentView {
  constructor(box, { source, target, alignment, languages, unknown }) {
    Object.assign(this, { source, target, alignment });
    this.pointed = this.focused = null;
    this.places = new Map(); // element to place
    const [unknownSource, unknownTarget] = unknown.map((places) => new Set(places));
    this.unknown = { source: unknownSource, target: unknownTarget };
    const rows = [
      this.wordRow(source, "Source words", languages[0], (j) => ({ i: null, j })),
      this.wordRow(target, "Translation's words", languages[1], (i) => ({ i, j: null })),
    ];
    [this.sourceWords, this.targetWords] = rows.map((row) => [...row.children]);
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("aria-hidden", "true");
    this.stage = make("div", { class: "stage" });
    this.stage.append(...rows, this.svg);
    this.readout = make("p", { class: "readout", "aria-live": "polite" });
    this.matrix = this.matrixBox(languages);
    box.replaceChildren(this.stage, this.matrix, this.readout);
    this.listen(box);
    new ResizeObserver(() => this.light()).observe(this.stage);
  }

  wordRow(words, label, lang, place) {
    const row = make("div", { class: "words", dir: direction(words), lang, role: "toolbar", "aria-label": label });
    words.forEach((word, number) => {
      const button = make("button", { type: "button", tabindex: number ? "-1" : "0" }, word);
      this.markWord(button, word, place(number));
      row.append(button);
    });
    return row;
  }

  matrixBox([sourceLanguage, targetLanguage]) {
    const { source, target, alignment } = this;
    if (source.length * target.length > MOST_CELLS) {
      const size = `${target.length} × ${source.length} words`;
      return make("p", { class: "note" }, `Too large to be drawn as a matrix: ${size}.`);
    }
    const table = make("table", { role: "grid", "aria-readonly": "true", "aria-label": "Weights" });
    const head = table.createTHead().insertRow();
    head.append(make("td"));
    this.heads = source.map((word, j) => this.header(word, "col", sourceLanguage, { i: null, j }));
    head.append(...this.heads);
    this.rows = target.map((word, i) => {
      const row = make("tr");
      row.append(this.header(word, "row", targetLanguage, { i, j: null }));
      row.append(...alignment[i].map((weight, j) => this.cell(weight, { i, j })));
      return row;
    });
    this.rows[0].cells[1].setAttribute("tabindex", "0");
    table.createTBody().append(...this.rows);
    const [box, cut] = [make("div", { class: "matrix" }), make("div", { class: "cut" })];
    box.append(table);
    cut.append(box);
    markCuts(box);
    return cut;
  }

  header(word, scope, lang, place) {
    const cell = make("th", { scope });
    cell.append(make("span", { dir: "auto", lang }, word));
    this.markWord(cell, word, place);
    return cell;
  }

  // Marks the end of a sentence, and a word that the vocabulary lacks; says in words what it is.
  markWord(element, word, place) {
    const isUnknown = this.unknown.source.has(place.j) || this.unknown.target.has(place.i);
    element.classList.toggle("end", word === END);
    element.classList.toggle("unknown", isUnknown);
    if (word === END) element.title = "the end of the sentence";
    else if (isUnknown) element.title = "not in the model's vocabulary";
    this.places.set(element, place);
  }

  cell(weight, place) {
    const cell = make("td", { tabindex: "-1", "aria-label": String(weight) });
    const gray = Math.round(255 * weight);
    cell.style.backgroundColor = `rgb(${gray} ${gray} ${gray})`;
    this.places.set(cell, place);
    return cell;
  }

  listen(box) {
    const placeAt = (event) => this.places.get(event.target.closest("button, th, td")) ?? null;
    box.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse") this.choose("pointed", placeAt(event));
    });
    box.addEventListener("pointerleave", () => this.choose("pointed", null));
    box.addEventListener("focusin", (event) => this.choose("focused", placeAt(event)));
    box.addEventListener("focusout", () => this.choose("focused", null));
    box.addEventListener("click", (event) => this.tap(event.target.closest("button, th, td")));
    box.addEventListener("keydown", (event) => this.key(event));
  }

  choose(how, place) {
    this[how] = place;
    this.light();
  }

  // What is tapped is focused: a word of the matrix's edge by its button.
  tap(element) {
    const place = this.places.get(element);
    if (!place) return;
    const word = place.i === null ? this.sourceWords[place.j] : this.targetWords[place.i];
    const to = element.matches("td") ? element : word;
    moveFocus(to.closest(".matrix, .words").querySelector("[tabindex='0']"), to);
  }

  key(event) {
    const element = event.target;
    if (event.key === "Escape") {
      this.pointed = null;
      element.blur();
    }
    const there = element.matches("td") ? this.nextCell(event) : nextWord(event);
    if (there === undefined) return;
    event.preventDefault();
    moveFocus(element, there);
  }

  // The cell that a key leads to: null beyond the edge, undefined of a key that leads nowhere.
  nextCell({ key, ctrlKey, target }) {
    const { i, j } = this.places.get(target);
    const [bottom, right] = [this.target.length - 1, this.source.length - 1];
    const there = {
      ArrowUp: [i - 1, j],
      ArrowDown: [i + 1, j],
      ArrowLeft: [i, j - 1],
      ArrowRight: [i, j + 1],
      Home: [ctrlKey ? 0 : i, 0],
      End: [ctrlKey ? bottom : i, right],
    }[key];
    if (!there) return undefined;
    return there[1] < 0 ? null : this.rows[there[0]]?.cells[there[1] + 1] ?? null;
  }

  light() {
    const { i, j } = this.pointed ?? this.focused ?? NOWHERE;
    this.links = this.linksOf(i, j);
    const lit = i === null && j === null ? [] : this.links;
    const light = (words, linked, chosen) =>
      words.forEach((word, number) => {
        word.classList.toggle("lit", number === chosen || linked.has(number));
        word.classList.toggle("chosen", number === chosen);
      });
    light(this.sourceWords, new Set(lit.map((link) => link.j)), j);
    light(this.targetWords, new Set(lit.map((link) => link.i)), i);
    this.drawLines();
    this.lightMatrix(i, j);
    this.readout.textContent = this.told(i, j);
  }

  // The lines of what is chosen; all of them where nothing is, if no word lies in their way.
  linksOf(i, j) {
    if (i === null && j === null) {
      if (!isOneRow(this.sourceWords) || !isOneRow(this.targetWords)) return [];
      return this.target.flatMap((_, target) => this.linksOf(target, null));
    }
    if (i !== null && j !== null) return [{ i, j }];
    const all =
      j === null
        ? this.source.map((_, other) => ({ i, j: other }))
        : this.target.map((_, other) => ({ i: other, j }));
    return all.filter((link) => this.weight(link) >= WORTH_TELLING);
  }

  weight({ i, j }) {
    return this.alignment[i][j];
  }

  drawLines() {
    const origin = this.stage.getBoundingClientRect();
    const paths = (this.links ?? []).map((link) => {
      const path = document.createElementNS(SVG, "path");
      const ends = [this.sourceWords[link.j], this.targetWords[link.i]];
      path.setAttribute("d", course(...ends.map((word) => word.getBoundingClientRect()), origin));
      path.setAttribute("stroke-opacity", Math.max(this.weight(link), FAINTEST));
      return path;
    });
    this.svg.replaceChildren(...paths);
  }

  lightMatrix(i, j) {
    if (!this.rows) return;
    for (const lit of this.matrix.querySelectorAll(".lit")) lit.classList.remove("lit");
    if (i !== null) for (const lit of [this.rows[i], this.rows[i].cells[0]]) lit.classList.add("lit");
    if (j === null) return;
    this.heads[j].classList.add("lit");
    for (const row of this.rows) row.cells[j + 1].classList.add("lit");
  }

  // "“maison” ← “house”: 0.9312", "“maison” ← “house” 93 %, “white” 4 %".
  told(i, j) {
    if (i === null && j === null) return "";
    const [source, target] = [this.source, this.target];
    if (i !== null && j !== null) {
      return `${quoted(target[i])} ← ${quoted(source[j])}: ${this.weight({ i, j })}`;
    }
    const shown = [...this.links].sort((a, b) => this.weight(b) - this.weight(a));
    const other = (link) => quoted(j === null ? source[link.j] : target[link.i]);
    const list = shown.map((link) => `${other(link)} ${Math.round(100 * this.weight(link))} %`);
    const weights = list.join(", ") || `no weight of ${100 * WORTH_TELLING} % or more`;
    return j === null ? `${quoted(target[i])} ← ${weights}` : `${quoted(source[j])} → ${weights}`;
  }
}

function isOneRow(words) {
  return words.every((word) => word.offsetTop === words[0].offsetTop);
}

// From the lower edge of a word to the upper edge of the other.
function course(from, to, origin) {
  const [x1, x2] = [from, to].map((box) => box.left + box.width / 2 - origin.left);
  const [y1, y2] = [from.bottom - origin.top, to.top - origin.top];
  const middle = (y1 + y2) / 2;
  return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}

function nextWord({ key, target }) {
  const row = [...target.parentElement.children];
  const here = row.indexOf(target);
  const onwards = getComputedStyle(target.parentElement).direction === "rtl" ? -1 : 1;
  const there = {
    ArrowLeft: here - onwards,
    ArrowUp: here - 1,
    ArrowRight: here + onwards,
    ArrowDown: here + 1,
    Home: 0,
    End: row.length - 1,
  }[key];
  return there === undefined ? undefined : row[there] ?? null;
}

// The one element of a group that Tab reaches becomes `to`; nothing where there is none.
function moveFocus(from, to) {
  if (!to) return;
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
}

// First-strong isolates, so that words of either direction keep the sentence in order.
function quoted(word) {
  return `“\u2068${word}\u2069”`;
}

// Most letters decide: the first ones may be a foreign name.
function direction(words) {
  const text = words.filter((word) => word !== END).join(" ");
  const count = (letters) => (text.match(letters) ?? []).length;
  return 2 * count(FROM_THE_RIGHT) > count(/\p{L}/gu) ? "rtl" : "ltr";
}

// A new element with attributes, empty ones left out, and text; text is never taken for markup.
function make(name, attributes = {}, text = "") {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value) element.setAttribute(key, value);
  }
  element.textContent = text;
  return element;
}

// Says, as classes of the parent, at which edges of a box there is more to scroll to.
function markCuts(box) {
  const mark = () => {
    const cut = box.parentElement.classList;
    cut.toggle("right", box.scrollLeft + box.clientWidth < box.scrollWidth - 1);
    cut.toggle("bottom", box.scrollTop + box.clientHeight < box.scrollHeight - 1);
  };
  box.addEventListener("scroll", mark);
  const sizes = new ResizeObserver(mark);
  for (const element of [box, box.firstElementChild]) sizes.observe(element);
}

// The list of the sentences with their scores. A column's head sorts the list and the page by it,
// a sentence's heading leads to it.
class Overview {
  constructor(sections, scores) {
    this.names = Object.keys(scores[0]);
    this.whole = new Set(
      this.names.filter((name) => scores.every((all) => Number.isInteger(all[name] ?? 0))),
    );
    this.entries = sections.map((section, place) => this.entry(section, place, scores[place]));
    this.table = make("table", { "aria-label": "Sentences" });
    const head = this.table.createTHead().insertRow();
    this.heads = ["Sentence", ...this.names].map((name, column) => this.head(name, column));
    head.append(...this.heads);
    this.body = this.table.createTBody();
    this.sort(0);
    const box = make("nav", { class: "overview", "aria-label": "Sentences" });
    box.append(this.table);
    document.querySelector("main").before(box);
  }

  entry(section, place, scores) {
    const heading = section.querySelector("h2");
    const told = this.names.map((name) => `${name} ${this.text(name, scores[name])}`).join(" · ");
    (section.querySelector("dl") ?? heading).after(make("p", { class: "scores" }, told));
    const row = make("tr");
    const [cell, button] = [make("th", { scope: "row" }), make("button", { type: "button" }, heading.textContent)];
    button.addEventListener("click", () => heading.focus());
    cell.append(button);
    row.append(cell, ...this.names.map((name) => make("td", {}, this.text(name, scores[name]))));
    return { section, row, values: [place, ...this.names.map((name) => scores[name] ?? -Infinity)] };
  }

  text(name, figure) {
    if (typeof figure !== "number") return "–";
    return figure.toFixed(this.whole.has(name) ? 0 : 2).replace("-", "−");
  }

  head(name, column) {
    const [cell, button] = [make("th", { scope: "col" }), make("button", { type: "button" }, name)];
    button.addEventListener("click", () => this.sort(column));
    cell.append(button);
    return cell;
  }

  // Ascending; descending where it is ascending already.
  sort(column) {
    const isAscending = this.heads[column].ariaSort !== "ascending";
    const sign = isAscending ? 1 : -1;
    this.entries.sort((a, b) => sign * (a.values[column] - b.values[column]) || a.values[0] - b.values[0]);
    for (const head of this.heads) head.removeAttribute("aria-sort");
    this.heads[column].ariaSort = isAscending ? "ascending" : "descending";
    this.body.append(...this.entries.map((entry) => entry.row));
    document.querySelector("main").append(...this.entries.map((entry) => entry.section));
  }
}

const sections = [...document.querySelectorAll("main section")];
const scores = sections.map((section) => JSON.parse(section.dataset.scores));
if (sections.length > 1 && Object.keys(scores[0]).length) new Overview(sections, scores);

// Each is drawn when it comes near, or when the page is printed.
const waiting = new Set(document.querySelectorAll(".alignment"));
const near = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) if (isIntersecting) draw(target);
  },
  { rootMargin: "1000px" },
);
for (const box of waiting) near.observe(box);
addEventListener("beforeprint", () => waiting.forEach(draw));

function draw(box) {
  near.unobserve(box);
  if (waiting.delete(box)) new AlignmentView(box, JSON.parse(box.previousElementSibling.textContent));
}
