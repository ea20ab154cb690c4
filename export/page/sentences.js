"use strict";
// Where sentences end: a model of sentences translates several at a time worse.

// A full stop behind these, behind a capital alone, or behind the number of a list, ends no sentence.
const ABBREVIATION = "Mrs?|Ms|Dr|Prof|St|Jr|Sr|Nos?|Arts?|MM|Mme|Mlle|Gen|Sen|Rep|Gov|Lt|Col|Capt|Sgt";
const KEEPS_STOP = new RegExp(`(?:^\\d{1,3}|(?:^|[\\s(.«“"])(?:\\p{Lu}|${ABBREVIATION}))\\.\\s*$`, "u");
// Nor, in German, behind a letter or the number of a day: z. B., 3. Mai.
const KEEPS_GERMAN_STOP = /(?:^|[\s(„“"])(?:\p{L}|\d{1,2}|Nr|bzw|ca)\.\s*$/u;
const QUOTED = /[?!…]\s?["”’»“]\s*$/u; // before a small letter, a sentence goes on
// A segmenter leaves these in the sentence before or behind: 彼は言った。「はい。」 and « Viens ! » Il part.
const OPENING = /([。！？」』”）])([「『（“‘《〈【]+)\n/gu;
const CLOSING = /\n(»(?:\s+|$))/gu;
const TOUCHING = /[。！？」』][”’）]*\n|\n[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}]/u; // in Chinese and Japanese
const LONGEST_KEPT = 12; // characters, with spaces
const UNSPACED = /^[\p{sc=Han}\p{sc=Hira}\p{sc=Kana}\p{sc=Thai}\p{sc=Laoo}\p{sc=Khmr}\p{sc=Mymr}\p{sc=Tibt}]/u;

// The sentences of a line, at least one, without the spaces around them; older browsers find one.
function sentencesOf(line) {
  if (!Intl.Segmenter) return [line];
  const segmenter = new Intl.Segmenter(languages.source || "en", { granularity: "sentence" });
  const sentences = [""];
  const segments = Array.from(segmenter.segment(line), ({ segment }) => segment).join("\n");
  for (const segment of segments.replace(OPENING, "$1\n$2").replace(CLOSING, "$1\n").split("\n")) {
    const last = sentences.length - 1;
    const end = sentences[last].slice(-LONGEST_KEPT);
    // No space, as in a web address.
    const isWithin = /[?!]$/.test(end) && !UNSPACED.test(segment);
    const goesOn = isWithin || (QUOTED.test(end) && /^\p{Ll}/u.test(segment));
    if (!end || goesOn || keepsStop(end)) sentences[last] += segment;
    else sentences.push(segment);
  }
  const found = sentences.map((sentence) => sentence.trim()).filter(Boolean);
  return found.length ? found : [line];
}

function keepsStop(end) {
  const isGerman = /^de\b/.test(languages.source || "");
  return KEEPS_STOP.test(end) || (isGerman && KEEPS_GERMAN_STOP.test(end));
}

// A line of elements, with a space between two, but in Chinese and Japanese.
function lineOf(elements) {
  const line = make("div", { dir: direction(elements.map((element) => element.textContent)) });
  elements.forEach((element, i) => {
    if (i && !TOUCHING.test(`${line.textContent}\n${element.textContent}`)) line.append(" ");
    line.append(element);
  });
  return line;
}
