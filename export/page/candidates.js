"use strict";
// The n-best list of one sentence: one radio button a translation.

class CandidateList {
  // `choose` is called with the number of the translation that was chosen.
  constructor(choose) {
    this.list = document.getElementById("candidates");
    this.list.addEventListener("change", (event) => choose(Number(event.target.value)));
  }

  draw(candidates, chosen) {
    this.list.replaceChildren(...candidates.map((candidate, i) => entry(candidate, i, i === chosen)));
  }
}

function entry({ translation, score, rankedBy }, i, checked) {
  const radio = make("input", { type: "radio", name: "candidate", value: i });
  radio.checked = checked;
  const scores = make("span", { class: "scores" });
  scores.append(
    make("span", { class: "ranked" }, formatScore(rankedBy)),
    make("span", {}, `log p ${formatScore(score)}`),
  );
  const label = make("label");
  label.append(radio, make("span", { lang: "fr", class: "text" }, translation), scores);
  return label;
}
