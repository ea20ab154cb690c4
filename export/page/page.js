"use strict";
// The page: when to translate, and what to say when that fails.

const PAUSE_MS = 400;
const COMPOSING_MS = 1_500; // while a word is composed, as every word on some phones
const TOLD_FOR_MS = 60_000; // a server may change to another version of the model meanwhile

const source = document.getElementById("source");
const settingsForm = document.getElementById("settings-form");
const again = document.getElementById("again");
const results = new Results(offerWords);
let settings = loadSettings();
let unapproved = ""; // a server to which nothing is sent before the reader agrees
let pause = 0; // the timer that waits for the writer to pause
let underWay = new AbortController(); // of the newest request; an older one is aborted
let asked = ""; // what the newest request asked for, unless it failed
let unfinished = ""; // the same, also when it has failed: the answers for its parts are kept
let shown = ""; // what the results answer
let described = ["", 0]; // the settings of the model that has told of itself, and when

function linesOf(text) {
  const lines = (text.toWellFormed?.() ?? text).trimEnd(); // a server refuses half an emoji
  return lines ? lines.split("\n").map((line) => line.trim()) : [];
}

// The number of the sentence that the caret is in, or behind; `lines` are lists of sentences.
function caretSentence(lines) {
  const before = source.value.slice(0, source.selectionStart).split("\n");
  const line = before.length - 1;
  const within = Math.min(sentencesOf(before[line]).length, lines[line]?.length ?? 1) - 1;
  return lines.slice(0, line).flat().length + within;
}

// A text and the settings it is translated under, to be compared.
function wish() {
  return JSON.stringify([linesOf(source.value), settings]);
}

function edited(event) {
  markOutdated();
  results.forgetOffers();
  clearTimeout(pause);
  if (wish() === asked) return;
  if (event.inputType === "insertLineBreak") translate();
  else pause = setTimeout(translate, event.isComposing ? COMPOSING_MS : PAUSE_MS);
}

async function translate() {
  clearTimeout(pause);
  underWay.abort();
  results.forgetOffers();
  const { signal } = (underWay = new AbortController());
  if (unapproved) return;
  const lines = linesOf(source.value);
  asked = wish();
  if (asked !== unfinished) answered.clear();
  unfinished = asked;
  setProgress(true);
  try {
    if (wrongSettings(settings)) throw new Failure("settings", wrongSettings(settings));
    if (!lines.length) await checkModel(settings, signal);
    await describeModel(signal);
    if (lines.length) await translateLines(lines, signal);
    else if (!signal.aborted) showNothing();
    if (signal.aborted) return;
    unfinished = "";
    setTrouble(null);
  } catch (error) {
    if (signal.aborted) return;
    if (error.kind === "malformed") unfinished = "";
    asked = "";
    if (!(error instanceof Failure)) throw error;
    setTrouble(error);
  } finally {
    if (!signal.aborted) setProgress(false);
  }
}

async function describeModel(signal) {
  const wished = JSON.stringify(settings);
  const [settingsThen, then] = described;
  if (wished === settingsThen && Date.now() - then < TOLD_FOR_MS) return;
  const answers = await orWithout(predict(settings, "describe", [""], signal));
  if (signal.aborted) return;
  const told = answers?.[0] ?? {};
  showLanguagesOf(told);
  results.setModel(told);
  described = [wished, Date.now()];
}

async function translateLines(wholeLines, signal) {
  const wished = asked;
  const lines = wholeLines.map(sentencesOf);
  const chosen = caretSentence(lines);
  const texts = lines.flat();
  const sentences = await bestTranslations(texts, signal);
  if (signal.aborted) return;
  shown = wished;
  results.show(lines, sentences, chosen);
  markOutdated();
  setTrouble(null);
  setText("source-note", limitNote(lines, sentences));
  const lists = await orWithout(predict(settings, "nbest", texts, signal));
  if (signal.aborted) return;
  if (lists) results.showCandidates(lists.map(readCandidates));
  else results.showCandidates([], "This model has no signature “nbest”, so there is no list.");
}

// With alignments, from a model that has the signature.
async function bestTranslations(texts, signal) {
  const aligned = await orWithout(predict(settings, "align", texts, signal));
  if (aligned) return aligned.map(readAligned);
  const plain = await predict(settings, "serving_default", texts, signal);
  return plain.map(readTranslation);
}

// Asks for other words in the place of one, and shows them.
async function offerWords(word) {
  const signal = results.beginOffering();
  const text = results.texts[results.chosen];
  const standing = results.standing();
  const prefix = prefixBefore(standing, word);
  results.offers.clear("Looking for other words…");
  try {
    const answer = await orWithout(predictSome(settings, "complete", [{ text, prefix }], signal));
    if (signal.aborted) return;
    const given = standing.words.slice(0, word);
    if (answer) results.offers.show(readCandidates(answer[0]), given, prefix.trimEnd().length);
    else results.offers.clear("This model has no signature “complete”: it was exported without --completions.");
  } catch (error) {
    if (signal.aborted) return;
    if (!(error instanceof Failure)) throw error;
    results.offers.clear(error.message);
  }
}

// What a call answers; null from a model without its signature.
async function orWithout(answer) {
  try {
    return await answer;
  } catch (error) {
    if (error.kind === "signature") return null;
    throw error;
  }
}

function showNothing() {
  shown = asked;
  results.clear();
  setText("source-note", "");
  markOutdated();
}

function limitNote(lines, sentences) {
  const lineOf = lines.flatMap((texts, i) => texts.map(() => i + 1));
  const cut = [...new Set(lineOf.filter((_, i) => sentences[i].leftOut > 0))];
  const which = lines.length > 1 ? ` of line ${cut.join(", ")}` : "";
  return cut.length ? `The end${which} is not read: there are more words than the model takes.` : "";
}

function markOutdated() {
  const outdated = results.texts.length > 0 && wish() !== shown;
  document.body.classList.toggle("outdated", outdated);
}

function setProgress(busy) {
  setText("progress", busy && linesOf(source.value).length ? "Translating…" : "");
  results.translation.setAttribute("aria-busy", String(busy));
}

function setTrouble(failure) {
  const texts = failure ? [failure.message, failure.detail, failure.hint] : [];
  const kinds = ["what", "detail", "hint"];
  const said = texts.map((text, i) => make("p", { class: kinds[i] }, text));
  document.getElementById("trouble-text").replaceChildren(...said.filter((p) => p.textContent));
  if (!failure && document.activeElement === again) source.focus();
  again.hidden = !failure;
}

function useExample(event) {
  const example = event.target.closest("button");
  if (!example) return;
  source.focus();
  source.select();
  document.execCommand("insertText", false, example.textContent); // which Ctrl+Z takes back
  translate();
}

function showSettings() {
  for (const [name, value] of Object.entries(settings)) settingsForm.elements[name].value = value;
  setText("address", `${modelTitle(settings)} at ${settings.server}`);
}

function setUnapproved(server) {
  unapproved = server;
  const asking = `The link that you opened selects ${server}. Your text would be sent there.`;
  setText("consent-text", server && asking);
  document.getElementById("consent").hidden = !server;
}

function approve() {
  setUnapproved("");
  source.focus();
  translate();
}

function refuse() {
  useSettings({ ...defaultSettings(), ...keptSettings() });
  source.focus();
}

function useSettings(changed) {
  settings = changed;
  setUnapproved("");
  saveSettings(settings);
  showSettings();
  setText("settings-error", "");
  markOutdated();
  translate();
}

function submitSettings(event) {
  event.preventDefault();
  const given = knownSettings(Object.fromEntries(new FormData(settingsForm)));
  const wrong = wrongSettings(given);
  setText("settings-error", wrong);
  if (!wrong) useSettings(given);
}

function start() {
  source.addEventListener("input", edited);
  source.addEventListener("compositionstart", () => clearTimeout(pause));
  source.addEventListener("compositionend", edited);
  source.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) translate();
  });
  document.getElementById("translate").addEventListener("click", translate);
  document.getElementById("examples").addEventListener("click", useExample);
  again.addEventListener("click", translate);
  settingsForm.addEventListener("submit", submitSettings);
  document.getElementById("approve").addEventListener("click", approve);
  document.getElementById("refuse").addEventListener("click", refuse);
  document.getElementById("reset").addEventListener("click", () => useSettings(defaultSettings()));
  showSettings();
  if (!wrongSettings(settings)) setUnapproved(serverOfLink(settings));
  translate();
}

start();
