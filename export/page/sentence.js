"use strict";
// What the signatures answer for one line, checked, and without padding.

const END = "</s>";
const UNKNOWN = "[UNK]"; // what a model reads, or writes, for a word that its vocabulary lacks
const NOTHING_FOUND = -3.4e38; // float32's lowest stands in slots for which nothing was found
const WORTH_TELLING = 0.05; // weights below it are neither drawn as lines nor told in words
const FROM_THE_RIGHT =
  /(?=\p{L})[\p{sc=Hebr}\p{sc=Arab}\p{sc=Syrc}\p{sc=Thaa}\p{sc=Nkoo}\p{sc=Adlm}\p{sc=Rohg}\p{sc=Mand}\p{sc=Samr}]/gu;

// `serving_default`: {translation, score}.
function readTranslation(prediction) {
  const { translation, score } = prediction ?? {};
  if (typeof translation !== "string") throw malformed("a translation is missing");
  if (!Number.isFinite(score)) throw malformed("a score is missing");
  return { translation, score };
}

// `align`: also {source, target, alignment, unknown, corrected, leftOut, words, wordScores}: words with
// their </s>, a row of weights over the source for each word of the target, the places of the source
// words that the model does not know, pairs of misspelled words and what it reads instead, the number
// of tokens beyond those it reads, none where an older export does not tell; and of the target's
// words log p.
function readAligned(prediction) {
  const source = withoutPadding(prediction?.source_tokens);
  const target = withoutPadding(prediction?.target_tokens);
  const rows = prediction?.alignment;
  const alignment = target.map((_, i) => source.map((_, j) => rows?.[i]?.[j]));
  if (!alignment.flat().every(Number.isFinite)) {
    throw malformed("the alignment does not fit the words");
  }
  const asRead = prediction.model_input ?? [];
  const unknown = new Set(source.map((_, j) => j).filter((j) => asRead[j] === UNKNOWN));
  const corrected = source.flatMap((word, j) =>
    asRead[j] && asRead[j] !== word && !unknown.has(j) ? [[word, asRead[j]]] : [],
  );
  const inWords = readWords(target, prediction.word_scores);
  const leftOut = prediction.left_out ?? 0;
  const ofSource = { source, unknown, corrected, leftOut };
  return { ...readTranslation(prediction), ...ofSource, target, alignment, ...inWords };
}

// Words with log p of each, none of which an older export tells: {words, wordScores}.
function readWords(words, scores) {
  const own = withoutPadding(words ?? []);
  const told = Array.isArray(scores) && own.every((_, i) => Number.isFinite(scores[i]));
  return told ? { words: own, wordScores: scores.slice(0, own.length) } : { words: [], wordScores: [] };
}

// `nbest`: [{translation, score, rankedBy, words, wordScores}], best first.
function readCandidates(prediction) {
  const { translations, scores, normalized_scores: normalized } = prediction ?? {};
  if (![translations, scores, normalized].every(Array.isArray)) {
    throw malformed("a list of translations is missing");
  }
  const candidates = translations.map((translation, i) => ({
    ...readTranslation({ translation, score: scores[i] }),
    rankedBy: readTranslation({ translation, score: normalized[i] }).score,
    ...readWords(prediction.words?.[i], prediction.word_scores?.[i]),
  }));
  return candidates.filter((candidate) => candidate.score > NOTHING_FOUND);
}

function withoutPadding(tokens) {
  if (!Array.isArray(tokens) || !tokens.every((token) => typeof token === "string")) {
    throw malformed("a list of words is missing");
  }
  const padding = tokens.indexOf("");
  return padding < 0 ? tokens : tokens.slice(0, padding);
}

// "“house” 93 %, “white” 4 %": the words of the greatest weights, at least one and three at the most.
function strongest(words, weights) {
  const order = weights.map((_, i) => i).sort((a, b) => weights[b] - weights[a]);
  const told = order.slice(0, 3).filter((i, rank) => rank === 0 || weights[i] >= WORTH_TELLING);
  return told.map((i) => `“${isolated(words[i])}” ${percent(weights[i])}`).join(", ");
}

// Text of any direction that does not change the order of what is around it.
function isolated(text) {
  return `\u2068${text}\u2069`;
}

function percent(weight) {
  return `${Math.round(100 * weight)}\u00a0%`;
}

// Where words begin in their text, in which spaces between them may be missing; -1 where one is not.
function placesOf(words, text) {
  let end = 0;
  let isBehindOther = false; // behind a word that stands in place of [UNK]
  return words.map((word) => {
    const place = isBehindOther ? wholeWord(word, text, end) : text.indexOf(word, end);
    if (place >= 0) end = place + word.length;
    isBehindOther = place < 0 && (isBehindOther || word === UNKNOWN);
    return place;
  });
}

// Where a word begins in a text, but not within another word, a compound or a number; -1 where it
// does not.
function wholeWord(word, text, start) {
  for (let place = text.indexOf(word, start); place >= 0; place = text.indexOf(word, place + 1)) {
    const [before, behind] = [text[place - 1], text[place + word.length]];
    const around = [before + word[0], word.at(-1) + behind, before + behind];
    const isPart = around.some((pair) => /^[\p{L}\p{N}]{2}$|^[\p{L}\p{N}]-$|^-[\p{L}\p{N}]$/u.test(pair));
    if (!isPart) return place;
  }
  return -1;
}

function formatScore(score) {
  if (score <= NOTHING_FOUND) return "−∞"; // no translation has a finite score
  return score.toFixed(2).replace("-", "−");
}

// Marks the end of a sentence, and a word that the model does not know; says in words what it is.
function markWord(element, word, isUnknown) {
  element.classList.toggle("end", word === END);
  element.classList.toggle("unknown", isUnknown || word === UNKNOWN);
  const what = explained(word, isUnknown);
  if (what) element.title = what;
}

function explained(word, isUnknown) {
  if (word === END) return "the end of the sentence";
  if (isUnknown) return "not in the model's vocabulary, read as [UNK]";
  return word === UNKNOWN ? "a word that the model's vocabulary lacks" : "";
}

// Most letters decide: the first ones may be a foreign name.
function direction(words) {
  const text = words.filter((word) => word !== END).join(" ");
  const count = (letters) => (text.match(letters) ?? []).length;
  return 2 * count(FROM_THE_RIGHT) > count(/\p{L}/gu) ? "rtl" : "ltr";
}

// A new element with attributes and text; text is never taken for markup.
function make(name, attributes = {}, text = "") {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.textContent = text;
  return element;
}
