"use strict";
// The n-best list of one sentence: one radio button a translation, the first few until more are asked for.

const SHOWN_AT_FIRST = 5;

class CandidateList {
  // `choose` is called with the number of the translation that was chosen.
  constructor(choose) {
    this.list = document.getElementById("candidates");
    this.list.addEventListener("change", (event) => choose(Number(event.target.value)));
    this.more = document.getElementById("more");
    this.more.addEventListener("click", () => this.fold(this.more.ariaExpanded === "true"));
  }

  draw(candidates, chosen) {
    this.list.replaceChildren(...candidates.map((candidate, i) => entry(candidate, i, i === chosen)));
    this.more.hidden = candidates.length <= SHOWN_AT_FIRST;
    this.fold(chosen < SHOWN_AT_FIRST);
  }

  fold(isFolded) {
    const entries = [...this.list.children];
    entries.slice(SHOWN_AT_FIRST).forEach((entry) => (entry.hidden = isFolded));
    this.more.ariaExpanded = String(!isFolded);
    this.more.textContent = isFolded ? `${entries.length - SHOWN_AT_FIRST} more` : "Fewer";
  }
}

function entry({ translation, score, rankedBy }, i, checked) {
  const radio = make("input", { type: "radio", name: "candidate", value: i });
  radio.checked = checked;
  const scores = make("span", { class: "scores" });
  scores.append(
    make("span", { class: "ranked" }, `score ${formatScore(rankedBy)}`),
    make("span", {}, `log p ${formatScore(score)}`),
  );
  const label = make("label");
  const text = make("span", { class: "text", dir: direction([translation]) }, translation);
  setLanguage(text, languages.target);
  label.append(radio, text, scores);
  return label;
}
