"use strict";
// Where sentences end: a model of sentences translates several at a time worse.

// A full stop behind these, or behind a capital alone, ends no sentence.
const KEEPS_STOP = /(?:^|[\s(.«“"])(?:\p{Lu}|Mrs?|Ms|Dr|Prof|St|Jr|Sr|Nos?|Arts?|MM|Mme|Mlle)\.\s*$/u;
const UNSPACED = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}]/u;

// The sentences of a line, at least one, without the spaces around them; older browsers find one.
function sentencesOf(line) {
  if (!Intl.Segmenter) return [line];
  const segmenter = new Intl.Segmenter(languages.source || "en", { granularity: "sentence" });
  const sentences = [""];
  for (const { segment } of segmenter.segment(line)) {
    const last = sentences.length - 1;
    if (!sentences[last] || KEEPS_STOP.test(sentences[last])) sentences[last] += segment;
    else sentences.push(segment);
  }
  const found = sentences.map((sentence) => sentence.trim()).filter(Boolean);
  return found.length ? found : [line];
}

// A paragraph of elements, with a space between two, but in scripts that put none between words.
function paragraphOf(elements) {
  const paragraph = make("p", { dir: direction(elements.map((element) => element.textContent)) });
  elements.forEach((element, i) => {
    if (i && !UNSPACED.test(element.textContent)) paragraph.append(" ");
    paragraph.append(element);
  });
  return paragraph;
}
