"use strict";
// The alignment as lines between two rows of words. A word that is pointed at, focused or tapped
// lights its lines and the words at their other ends.

const SVG = "http://www.w3.org/2000/svg";

class AlignmentLines {
  constructor() {
    this.stage = document.querySelector("#lines .stage");
    [this.sourceRow, this.targetRow] = this.stage.querySelectorAll(".words");
    this.svg = document.createElementNS(SVG, "svg");
    this.svg.setAttribute("aria-hidden", "true");
    this.stage.append(this.svg);
    this.readout = document.getElementById("lines-readout");
    this.descriptions = document.getElementById("lines-descriptions");
    this.forget();
    this.listen();
    new ResizeObserver(() => this.place()).observe(this.stage);
    markCuts(this.stage.parentElement);
  }

  forget() {
    this.words = []; // buttons; source and target
    this.lines = []; // {path, from, to}: from a source button to a target button
    this.pointed = this.focused = this.pinned = null;
  }

  draw({ source, target, alignment, unknown }) {
    this.forget();
    this.descriptions.replaceChildren();
    const columns = source.map((_, j) => alignment.map((row) => row[j]));
    const sources = source.map((word, j) =>
      this.word(word, `source-word-${j}`, `read for ${strongest(target, columns[j])}`, unknown.has(j)),
    );
    const targets = target.map((word, i) =>
      this.word(word, `target-word-${i}`, `from ${strongest(source, alignment[i])}`),
    );
    this.words = [...sources, ...targets];
    this.sourceRow.replaceChildren(...sources);
    this.targetRow.replaceChildren(...targets);
    this.sourceRow.dir = direction(source);
    this.targetRow.dir = direction(target);
    for (const row of [sources, targets]) row[0]?.setAttribute("tabindex", "0");
    alignment.forEach((row, i) =>
      row.forEach((weight, j) => {
        if (weight >= WORTH_TELLING) this.lines.push(this.line(weight, sources[j], targets[i]));
      }),
    );
    this.svg.replaceChildren(...this.lines.map((line) => line.path));
    this.place();
    this.light();
  }

  word(text, id, weights, isUnknown = false) {
    const description = [explained(text, isUnknown), weights].filter(Boolean).join("; ");
    this.descriptions.append(make("span", { id: `${id}-weights`, lang: "en" }, description));
    const word = make("button", { id, type: "button", tabindex: "-1", "aria-pressed": "false" }, text);
    word.setAttribute("aria-describedby", `${id}-weights`);
    markWord(word, text, isUnknown);
    return word;
  }

  line(weight, from, to) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("stroke-opacity", weight);
    path.dataset.source = from.id;
    path.dataset.target = to.id;
    return { path, from, to };
  }

  // From the lower edge of one word to the upper edge of the other, or across where they stand
  // in two columns.
  place() {
    const origin = this.stage.getBoundingClientRect();
    const columns = getComputedStyle(this.stage).flexDirection === "row";
    const course = columns ? across : down;
    // All is measured before anything is changed, or the browser would lay out for each line.
    const courses = this.lines.map(({ from, to }) =>
      course(from.getBoundingClientRect(), to.getBoundingClientRect(), origin),
    );
    this.lines.forEach(({ path }, i) => path.setAttribute("d", courses[i]));
  }

  listen() {
    const wordAt = (event) => event.target.closest(".words button");
    this.stage.addEventListener("pointerover", (event) => {
      if (event.pointerType === "mouse") this.set("pointed", wordAt(event));
    });
    this.stage.addEventListener("pointerleave", () => this.set("pointed", null));
    this.stage.addEventListener("focusin", (event) => this.set("focused", wordAt(event)));
    this.stage.addEventListener("focusout", () => this.set("focused", null));
    this.stage.addEventListener("click", (event) => {
      const word = wordAt(event);
      if (!word) return;
      moveFocus(word.parentElement.querySelector("[tabindex='0']"), word);
      const isPinned = word === this.pinned;
      if (isPinned && event.detail) word.blur(); // not for who uses the keyboard
      this.set("pinned", isPinned ? null : word);
    });
    this.stage.addEventListener("keydown", (event) => this.key(event));
  }

  set(how, word) {
    this[how] = word;
    this.light();
  }

  key(event) {
    if (event.altKey || event.metaKey) return; // the browser's Back and Forward
    if (event.key === "Escape") this.set("pinned", null);
    const row = [...event.target.parentElement.children];
    const here = row.indexOf(event.target);
    const onwards = getComputedStyle(event.target.parentElement).direction === "rtl" ? -1 : 1;
    const there = {
      ArrowLeft: here - onwards,
      ArrowUp: here - 1,
      ArrowRight: here + onwards,
      ArrowDown: here + 1,
      Home: 0,
      End: row.length - 1,
    }[event.key];
    if (there === undefined) return;
    event.preventDefault();
    moveFocus(event.target, row[there]);
  }

  light() {
    const lit = this.pointed ?? this.focused ?? this.pinned;
    const linked = new Set([lit]);
    for (const { path, from, to } of this.lines) {
      const touches = from === lit || to === lit;
      path.classList.toggle("lit", touches);
      if (touches) linked.add(from).add(to);
    }
    for (const word of this.words) {
      word.classList.toggle("lit", linked.has(word));
      word.setAttribute("aria-pressed", String(word === this.pinned));
    }
    this.stage.classList.toggle("lighting", lit !== null);
    this.readout.textContent = lit ? `${isolated(lit.textContent)}: ${this.description(lit)}` : "";
  }

  description(word) {
    return document.getElementById(word.getAttribute("aria-describedby")).textContent;
  }
}

function down(a, b, origin) {
  const [x1, x2] = [a, b].map((box) => box.left + box.width / 2 - origin.left);
  const [y1, y2] = [a.bottom - origin.top, b.top - origin.top];
  const middle = (y1 + y2) / 2;
  return `M${x1} ${y1}C${x1} ${middle} ${x2} ${middle} ${x2} ${y2}`;
}

function across(a, b, origin) {
  const [y1, y2] = [a, b].map((box) => box.top + box.height / 2 - origin.top);
  const [x1, x2] = [a.right - origin.left, b.left - origin.left];
  const middle = (x1 + x2) / 2;
  return `M${x1} ${y1}C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`;
}

// The one element of a group that Tab reaches becomes `to`; nothing where there is none.
function moveFocus(from, to) {
  if (!to) return;
  from.setAttribute("tabindex", "-1");
  to.setAttribute("tabindex", "0");
  to.focus();
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
