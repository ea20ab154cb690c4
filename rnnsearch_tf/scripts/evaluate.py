"""rnnsearch-evaluate: a model's translations of a test set, scored."""

import functools
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rnnsearch_tf.errors import InputError
from rnnsearch_tf.files import write_atomically
from rnnsearch_tf.scripts.command import Command, quiet_start
from rnnsearch_tf.scripts.decoding_flags import define_decoding, model_dirs

if TYPE_CHECKING:
    from rnnsearch_tf.corpus.parallel import ParallelText
    from rnnsearch_tf.translations import Alignment
    from rnnsearch_tf.translator import Translator

COMMAND = Command(
    "rnnsearch-evaluate",
    "translate a test set and score it: sacreBLEU's BLEU, chrF2 and TER (detokenised) and the "
    "paper's BLEU (cased tokens), each with its 95% confidence interval, of all sentences and of "
    "those without unknown words; and BLEU by source length.",
)
COMMAND.define("source", str, "test sentences, UTF-8, plain or .gz")
COMMAND.define("reference", str, "their reference translations")
COMMAND.define(
    "hypotheses", str,
    "a file of translations, line by line, to score instead of translating; --model_dir then says "
    "what the words and the unknown words are",
)  # fmt: skip
COMMAND.define(
    "compare", str,
    "another system: a file of its translations, line by line, or a model directory (several, with "
    "commas, are an ensemble); its scores, and p-values by paired bootstrap resampling",
)  # fmt: skip
COMMAND.define("translations", str, "a file to keep the translations in")
COMMAND.define("json", str, "a file to write the figures to; - is standard output, no table then")
COMMAND.define(
    "sample_html", str,
    "a web page to write, of the sentences with the lowest and the highest chrF2: source, "
    "reference, translation, scores, and the alignment to look around in",
)  # fmt: skip
COMMAND.define("sample", int, "how many of the lowest, and of the highest, --sample_html has", 20)
define_decoding(COMMAND)


def main() -> int:
    """Evaluate."""
    flags = COMMAND.flags
    _check_flags()
    with quiet_start():
        from rnnsearch_tf.corpus.parallel import read_parallel
        from rnnsearch_tf.known_words import sentences_of_known_words
        from rnnsearch_tf.model_directory import ModelDirectory
        from rnnsearch_tf.pairs import tokenize
        from rnnsearch_tf.significance import compare
        from rnnsearch_tf.tokenizers import tokenizers_for
        from rnnsearch_tf.translation_scores import score_translations

        directory = ModelDirectory(model_dirs(COMMAND)[0])
        vocabularies = directory.load_vocabularies()
        tokenizers = tokenizers_for(directory.load_config())
    text = read_parallel(flags.source, flags.reference)
    translator = _translator(flags.model_dir)
    if flags.hypotheses:
        translations = _lines(flags.hypotheses)
    else:
        translations = _translate(translator, text.source, flags.model_dir)
    others = _others(text.source)
    lengths = tokenize(text.source, tokenizers[0]).row_lengths().numpy().tolist()
    known = sentences_of_known_words(text.source, text.target, tokenizers, vocabularies)
    scores = score_translations(translations, text.target, lengths, known, tokenizers[1])
    if others is not None:
        comparison = compare(flags.compare, translations, others, text.target, lengths)
        scores = scores._replace(comparison=comparison)
    if flags.translations:
        content = "".join(line + "\n" for line in translations)
        write_atomically(flags.translations, content.encode())
    if flags.sample_html:
        _write_sample(translator, text, translations)
    figures = json.dumps(scores.as_dict(), indent=2) + "\n"
    if flags.json and flags.json != "-":
        write_atomically(flags.json, figures.encode())
    print(figures if flags.json == "-" else scores.table(), end="")
    return 0


def _check_flags() -> None:
    flags = COMMAND.flags
    COMMAND.require("model_dir", "source", "reference")
    if flags.sample < 1:
        raise InputError(f"--sample {flags.sample}: must be at least 1")
    if flags.sample_html and Path(flags.sample_html).suffix != ".html":
        raise InputError(f"--sample_html {flags.sample_html}: must end in .html")


def _others(sources: list[str]) -> list[str] | None:
    """The other system's translations."""
    name = COMMAND.flags.compare
    if not name:
        return None
    if Path(name.split(",")[0]).is_dir():
        return _translate(_translator(name), sources, name)
    return _lines(name)


def _lines(path: str) -> list[str]:
    """A file of translations of the source."""
    from rnnsearch_tf.corpus.parallel import read_parallel

    return read_parallel(COMMAND.flags.source, path).target


def _translate(translator: "Translator", sources: list[str], name: str) -> list[str]:
    from rnnsearch_tf.progress import ProgressLine

    progress = ProgressLine()
    report = progress.counter(len(sources), f"sentences translated by {name}")
    found = translator.translate_lines(sources, report=report)
    progress.clear()
    return found.translations


def _translator(name: str) -> "Translator":
    """A model directory, or an ensemble, with its own decoding options under the flags given."""
    with quiet_start():
        from rnnsearch_tf.model_directory import ModelDirectory
        from rnnsearch_tf.translator import Translator

        paths = name.split(",")
        decoding = COMMAND.settings(ModelDirectory(paths[0]).load_config().decoding)
        return Translator.load(paths, decoding, COMMAND.flags.weights)


def _write_sample(translator: "Translator", text: "ParallelText", translations: list[str]) -> None:
    from rnnsearch_tf.translation_sample import SampleText, write_sample

    flags = COMMAND.flags
    languages = translator.config.source_language, translator.config.target_language
    sample = SampleText(text.source, text.target, translations, languages)
    write_sample(flags.sample_html, sample, functools.partial(_align, translator), flags.sample)


def _align(translator: "Translator", sources: list[str], targets: list[str]) -> "list[Alignment]":
    """What `translator.align` will give."""
    from rnnsearch_tf.pairs import tokenize
    from rnnsearch_tf.translations import Alignment

    weights = translator.align_lines(sources, targets)
    sides = [
        [(*(word.decode() for word in words), "</s>") for words in tokenize(*side).to_list()]
        for side in (
            (sources, translator.source.tokenizer),
            (targets, translator.target.tokenizer),
        )
    ]
    return [Alignment(*found) for found in zip(*sides, weights, strict=True)]


def run(arguments: list[str] | None = None) -> int:
    """The console script; `arguments` instead of the command line's."""
    return COMMAND.run(main, arguments)


if __name__ == "__main__":
    sys.exit(run())
