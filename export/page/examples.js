"use strict";
// Sentences to click, by the source language of the model. Put in some that suit your model.

const EXAMPLES = {
  en: [
    "The old man will eat the bread.",
    "The European Economic Area will not be small.",
    "I have seen the old man's car in Paris.",
    "The president did not go to Paris because the old men wanted to sleep.",
  ],
  fr: [
    "Le vieil homme mangera le pain.",
    "La zone économique européenne ne sera pas petite.",
    "Elle n'est pas allée à Paris.",
  ],
  de: ["Der alte Mann isst das Brot.", "Das Haus ist nicht klein.", "Sie ist in Paris gewesen."],
};
