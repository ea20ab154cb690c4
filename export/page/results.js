"use strict";
// What was translated: all lines, and of the chosen sentence the best translations and the alignment.

class Results {
  // `offer` is called with the number of a word of the standing translation that was clicked.
  constructor(offer) {
    this.completes = false; // whether the model has `complete`
    this.offering = new AbortController(); // of the newest request for other words
    this.offers = new Offers((candidate) => this.goOn(candidate));
    this.alignmentLines = new AlignmentLines();
    this.matrix = new AlignmentMatrix();
    this.candidateList = new CandidateList((i) => this.chooseCandidate(i));
    this.chooser = document.getElementById("chosen");
    this.chooser.addEventListener("change", () => this.chooseSentence(Number(this.chooser.value)));
    this.translation = document.getElementById("translation");
    const ask = (event) => {
      const word = event.target.closest(".word[role=button]");
      if (word) offer(Number(word.dataset.word));
    };
    this.translation.addEventListener("click", (event) => {
      if (getSelection().isCollapsed) ask(event); // or text is being selected
    });
    this.translation.addEventListener("copy", (event) => {
      const text = getSelection().toString();
      if (!text) return;
      event.preventDefault(); // or shading and colors are copied, too
      event.clipboardData.setData("text/plain", text);
    });
    this.translation.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      ask(event);
    });
    this.clear();
  }

  clear() {
    this.show([], [], 0);
  }

  // `told` is the answer of `describe`, of which an older export tells the languages alone.
  setModel({ alignment, completions }) {
    this.completes = completions === "yes";
    document.getElementById("by-attention").hidden = alignment === "aligner";
    document.getElementById("by-aligner").hidden = alignment !== "aligner";
  }

  // `sentences` are the answers of `align`, or of `serving_default`, for the texts in `lines`, lists
  // of sentences; `chosen` is the number of the sentence whose details are shown.
  show(lines, sentences, chosen) {
    const texts = lines.flat();
    Object.assign(this, { lines, texts, sentences, lists: null });
    setText("candidates-note", "");
    this.drawChoice();
    this.chooseSentence(Math.max(0, Math.min(chosen, texts.length - 1)));
  }

  // `lists` are the answers of `nbest`; without that signature, none, and a `note` that says so.
  showCandidates(lists, note = "") {
    this.lists = lists;
    setText("candidates-note", note);
    this.drawChosen();
  }

  chooseSentence(chosen) {
    this.chosen = chosen;
    this.forgetCompletion();
    this.chooser.value = chosen;
    this.drawChosen();
  }

  drawChosen() {
    const best = this.sentences[this.chosen]?.translation;
    this.candidate = this.candidates().findIndex(({ translation }) => translation === best);
    this.drawCandidates();
    this.drawTranslation();
    this.drawAlignment();
  }

  chooseCandidate(candidate) {
    this.candidate = candidate;
    this.forgetCompletion();
    this.drawTranslation();
    this.drawAlignment();
  }

  // Lets a translation stand that is not in the list, until another is chosen.
  goOn(candidate) {
    this.offers.clear();
    this.completion = candidate;
    this.drawCandidates();
    this.drawTranslation();
    this.drawAlignment();
    this.translation.querySelector(".word[role=button]")?.focus();
  }

  forgetCompletion() {
    this.completion = null;
    this.forgetOffers();
  }

  // An answer that comes for another line, or another text, is none for what is shown.
  forgetOffers() {
    this.offering.abort();
    this.offers.clear();
  }

  beginOffering() {
    this.forgetOffers();
    this.offering = new AbortController();
    return this.offering.signal;
  }

  candidates() {
    return this.lists?.[this.chosen] ?? [];
  }

  // What stands as the translation of the chosen sentence: {translation, score}.
  standing() {
    return this.completion ?? this.candidates()[this.candidate] ?? this.sentences[this.chosen];
  }

  drawChoice() {
    document.getElementById("choice").hidden = this.texts.length < 2;
    const options = this.texts.map((text, i) => make("option", { value: i }, `${i + 1}. ${text}`));
    this.chooser.replaceChildren(...options);
  }

  drawTranslation() {
    const several = this.texts.length > 1;
    const shown = this.sentences.map((best, i) => (i === this.chosen ? this.standing() : best));
    // The last digits of a score depend on what else the server was asked.
    const rounded = (scores = []) => scores.map((score) => score.toFixed(3));
    const texts = shown.map((best) => [best.translation, rounded(best.wordScores)]);
    const sizes = this.lines.map((line) => line.length);
    const wished = JSON.stringify([sizes, texts]);
    // Text that stays is left alone: a screen reader would read it once more.
    if (wished !== this.drawn) this.translation.replaceChildren(...this.lineElements(shown));
    this.drawn = wished;
    const shaded = shown.some((line) => line.wordScores?.length);
    document.getElementById("shading-hint").hidden = !shaded;
    document.getElementById("offers-hint").hidden = !this.completes;
    this.elements.forEach((element, i) => {
      const isChosen = i === this.chosen;
      element.classList.toggle("chosen", several && isChosen);
      for (const word of element.querySelectorAll(".word")) actAsButton(word, isChosen && this.completes);
    });
    const score = this.standing()?.score;
    setText("score", score === undefined ? "" : `log p ${formatScore(score)} nats`);
  }

  // An element for each line: its sentence, or its sentences one after the other. Between two <p>,
  // a browser would copy a blank line.
  lineElements(shown) {
    this.elements = [];
    return this.lines.map((line) => {
      const elements = line.map((_, i) => {
        return shadedSentence(shown[this.elements.length + i], line.length > 1 ? "span" : "div");
      });
      this.elements.push(...elements);
      return line.length > 1 ? lineOf(elements) : elements[0];
    });
  }

  drawCandidates() {
    const box = document.getElementById("candidates-box");
    // While the list is under way its place stays, so that nothing below jumps.
    box.style.minHeight = this.lists ? "" : `${box.offsetHeight}px`;
    box.hidden = !this.texts[this.chosen];
    this.candidateList.draw(this.candidates(), this.completion ? -1 : this.candidate);
    document.getElementById("candidates-hint").hidden = !this.candidates().length;
  }

  drawAlignment() {
    const sentence = this.sentences[this.chosen];
    const blank = !this.texts[this.chosen];
    this.drawUnknown(sentence?.source ?? [], sentence?.unknown ?? new Set());
    const read = (sentence?.corrected ?? []).map(([word, other]) => `“${isolated(word)}” as “${isolated(other)}”`);
    setText("corrected-note", read.length ? `Read ${[...new Set(read)].join(", ")}.` : "");
    document.getElementById("alignment-box").hidden = blank;
    if (blank) return;
    const note = this.whyNoAlignment(sentence);
    setText("alignment-note", note);
    document.getElementById("alignment").hidden = note !== "";
    // What stays is left alone: it may have the focus.
    if (note || sentence === this.aligned) return;
    this.aligned = sentence;
    this.alignmentLines.draw(sentence);
    this.matrix.draw(sentence);
  }

  // `unknown` are the places in `source` of the words that the model does not know.
  drawUnknown(source, unknown) {
    const words = [...new Set(source.filter((_, j) => unknown.has(j)))];
    const list = words.map((word) => `“${isolated(word)}”`).join(", ");
    setText("unknown-note", list && `Not in the model's vocabulary, read as [UNK]: ${list}.`);
    document.getElementById("unknown-legend").hidden = !words.length;
  }

  whyNoAlignment(sentence) {
    if (!sentence.alignment) return "This model has no signature “align”, so it cannot be shown.";
    if (this.standing().translation === sentence.translation) return "";
    return "The server gives the alignment of its best translation only. Choose that one to see it.";
  }
}

// A sentence; its words are the more shaded, the less probable they were.
function shadedSentence({ translation, words = [], wordScores = [] }, name) {
  const sentence = make(name, { dir: direction([translation]) });
  let end = 0;
  placesOf(words, translation).forEach((place, i) => {
    if (place < 0) return;
    sentence.append(translation.slice(end, place));
    end = place + words[i].length;
    const attributes = { class: "word", title: probability(wordScores[i]), "data-word": i };
    const word = make("span", attributes, words[i]);
    word.style.setProperty("--doubt", 1 - Math.exp(wordScores[i]));
    sentence.append(word);
  });
  sentence.append(translation.slice(end));
  if (name === "div" && !translation) sentence.append(make("br")); // is copied as a blank line
  return sentence;
}

// Words are no buttons, because the text of buttons cannot be selected, but may act as such.
function actAsButton(word, acts) {
  for (const [name, value] of [["role", "button"], ["tabindex", "0"]]) {
    if (acts) word.setAttribute(name, value);
    else word.removeAttribute(name);
  }
}

function probability(score) {
  return `probability ${percent(Math.exp(score))}`;
}

function setText(id, text) {
  const element = document.getElementById(id);
  if (element.textContent !== text) element.textContent = text;
}
