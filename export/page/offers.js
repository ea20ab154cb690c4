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

  // `candidates` are the answer of `complete` for what stands before place `start` of their texts.
  show(candidates, start) {
    const offers = new Map();
    for (const candidate of candidates) {
      const next = placesOf(candidate.words, candidate.translation).findIndex((p) => p >= start);
      const place = next < 0 ? candidate.words.length - 1 : next;
      const word = candidate.words[place];
      if (!offers.has(word)) offers.set(word, this.offer(candidate, place));
    }
    this.clear(offers.size ? "Here also, the most probable translation first:" : "No translation begins so.");
    this.list.append(...offers.values());
    const { activeElement: focused } = document;
    if (focused?.closest("#translation")) this.list.firstElementChild?.focus();
  }

  offer(candidate, place) {
    const word = candidate.words[place];
    const button = make("button", { type: "button", title: probability(candidate.wordScores[place]) });
    button.textContent = word === END ? "(end)" : word;
    button.addEventListener("click", () => this.use(candidate));
    setLanguage(button, languages.target);
    return button;
  }
}

// What stands before a word of a translation, as whole words: a blank at its end says so.
function prefixBefore({ words, translation }, word) {
  const before = translation.slice(0, placesOf(words, translation)[word]).trimEnd();
  return before && `${before} `;
}
