"use strict";
// The languages of the page's texts are the model's, which it tells by its signature `describe`.

let languages = { source: "", target: "" }; // tags, "en"; "" where they are not known

// `told` is the answer of `describe`; a model that was exported before it could tell leaves the
// languages unnamed.
function showLanguagesOf({ source_language: source, target_language: target }) {
  showLanguages({ source: languageTag(source), target: languageTag(target) });
}

function languageTag(text) {
  try {
    return new Intl.Locale(text.replaceAll("_", "-")).baseName;
  } catch {
    return "";
  }
}

function showLanguages(tags) {
  languages = tags;
  const { source, target } = tags;
  const pair = source && target ? `${languageName(source)} to ${languageName(target)}` : "Translation";
  setText("direction", `${pair} with soft alignment`);
  for (const element of document.querySelectorAll("[data-lang-of]")) {
    setLanguage(element, tags[element.dataset.langOf]);
  }
  for (const element of document.querySelectorAll("[data-language-of]")) {
    const side = element.dataset.languageOf;
    element.textContent = languageName(tags[side]) || { source: "Source", target: "Translation" }[side];
  }
  showExamples(EXAMPLES[source.split("-")[0]] ?? []);
}

function languageName(tag) {
  return tag && new Intl.DisplayNames("en", { type: "language" }).of(tag);
}

function setLanguage(element, tag) {
  if (tag) element.setAttribute("lang", tag);
  else element.removeAttribute("lang");
  element.translate = false; // by a browser that translates pages
}

function showExamples(sentences) {
  const box = document.getElementById("examples");
  box.hidden = !sentences.length;
  const shown = Array.from(box.children, (button) => button.textContent);
  if (shown.join("\n") !== sentences.join("\n")) { // else a button may have the focus
    box.replaceChildren(...sentences.map((sentence) => make("button", { type: "button" }, sentence)));
  }
  for (const button of box.children) setLanguage(button, languages.source);
}
