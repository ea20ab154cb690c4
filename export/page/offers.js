"use strict";
// Other words in the place of one, which the model goes on from: its translations of the line that
// begin with the words before it.

class Offers {
  // `use` is called with the translation that goes on from the word that was chosen.
  constructor(use) {
    this.box = document.getElementById("offers");
    this.list = document.getElementById("offered");
    this.use = use;
    this.clear();
  }

  clear(note = "") {
    setText("offers-note", note);
    this.list.replaceChildren();
    this.box.hidden = !note;
  }

  // `candidates` are the answer of `complete` for these words, which take `start` characters.
  show(candidates, given, start) {
    const offers = new Map();
    for (const candidate of candidates) {
      const { words, translation } = candidate;
      const places = placesOf(words, translation);
      const isSame = given.every((word, i) => word === words[i]);
      const next = isSame ? given.length : places.findIndex((p) => p >= start);
      const place = next < 0 ? words.length - 1 : next;
      const end = places.find((p, i) => i > place && p >= 0);
      // A word that stands in place of [UNK] is only in the text.
      const word = words[place] === UNKNOWN ? translation.slice(start, end).trim() : words[place];
      if (!offers.has(word)) offers.set(word, this.offer(candidate, word, candidate.wordScores[place]));
    }
    this.clear(offers.size ? "Alternatives, best translation first:" : "No translation found.");
    this.list.append(...offers.values());
    const { activeElement: focused } = document;
    if (focused?.closest("#translation")) this.list.firstElementChild?.focus();
  }

  offer(candidate, word, score) {
    const button = make("button", { type: "button", dir: "auto", title: probability(score) });
    button.textContent = word === END ? "(end)" : word;
    button.addEventListener("click", () => this.use(candidate));
    setLanguage(button, languages.target);
    return button;
  }
}

// What stands before a word of a translation, as whole words: a space at its end says so.
function prefixBefore({ words, translation }, word) {
  const before = translation.slice(0, placesOf(words, translation)[word]).trimEnd();
  return before && `${before} `;
}
