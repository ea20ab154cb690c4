"""Model directories to share, on a model hub or anywhere, with a card that says what they are."""

import dataclasses
import html
import re
import shutil
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import rnnsearch_tf
from rnnsearch_tf.config import SENTENCEPIECE, Config, DecodingConfig, ModelConfig, check_choice
from rnnsearch_tf.errors import InputError, first_line, input_errors
from rnnsearch_tf.evaluation.metrics import METRICS, Score
from rnnsearch_tf.extras import package
from rnnsearch_tf.files import Paths, as_list, check_no_link, home_path, new_folder
from rnnsearch_tf.json_files import read_json, typed
from rnnsearch_tf.models.model_directory import BEST, LAST, MODEL_FILES, ModelDirectory, find_model
from rnnsearch_tf.models.weights_file import copy_weights, count_values
from rnnsearch_tf.serving.model_card import evaluation_of
from rnnsearch_tf.terminal import single_line

_TEMPLATE = Path(__file__).with_name("published.md")
_STUDY = (
    "study and teaching\nof attention, as the soft alignment of every translation can be read and "
    "drawn"
)


def publish(
    model_dir: str | Path,
    output: str | Path,
    license_name: str,
    data: str,
    evaluations: Paths = (),
    decoding: DecodingConfig | None = None,
    weights: str = BEST,
    weights_dtype: str = "float16",
) -> None:
    """Write a copy of a model directory without its training state, with a README.md, its card.

    The card begins with the metadata that model hubs read. The folder appears complete or not at
    all, and is used like any other model directory.

    Args:
        model_dir: the trained model.
        output: the folder, which must not exist; its name is the model's.
        license_name: of the weights, as model hubs have it: "mit", "cc-by-4.0".
        data: what the training text is, and where it comes from.
        evaluations: files of `rnnsearch-evaluate --json`, named after their test sets.
        decoding: all options, instead of those in the model's config.
        weights: "best" or "last".
        weights_dtype: dtype of the weights in the file, "float16" or "float32".

    Raises:
        InputError: an unusable model directory, license name or file of scores, scores of another
            model or with other decoding options, model files that are links, an output folder that
            exists, weights too large for the dtype, or a folder that cannot be written.
    """
    directory, target = ModelDirectory(find_model(model_dir)), home_path(output)
    check_choice("weights_dtype", weights_dtype, ("float16", "float32"), InputError)
    if not re.fullmatch(r"[\w.+-]+", license_name, re.ASCII):
        raise InputError(f"license {license_name!r}: expected a name such as cc-by-4.0")
    if target.exists():
        raise InputError(f"{target} exists; nothing was overwritten")
    config = directory.load_config()
    config = dataclasses.replace(config, decoding=decoding or config.decoding)
    directory.load_vocabularies()  # these for their checks
    digest = directory.check_weights(weights)
    record = evaluation_of(directory, weights) or {}
    scores = [*_validation_rows(record)]
    for path in as_list(evaluations):
        scores += _test_rows(Path(path), digest, config.decoding)
    try:
        with new_folder(target) as folder:
            best = ModelDirectory(folder).weights_path(BEST)
            copy_weights(directory.find_weights(weights), best, weights_dtype)
            if directory.check_weights(weights) != digest:
                raise InputError(f"{directory.path}: the weights have just changed; publish again")
            for name in (*MODEL_FILES, "training.jsonl"):
                if (source := directory.path / name).exists():
                    check_no_link(source, "publish")
                    shutil.copyfile(source, folder / name)
            if weights == LAST:  # which are the best ones of the folder
                ModelDirectory(folder).write_log([record] if record else [])
            (folder / "config.json").write_text(config.to_json(), "utf-8")
            card = _card(
                config,
                name=target.name,
                size=f"{count_values(best):,}, stored in {weights_dtype}",
                license=license_name,
                data=data,
                training=", ".join(_training(config, record)),
                scores="\n".join(scores),
            )
            (folder / "README.md").write_text(card, "utf-8")
    except OSError as error:
        raise InputError(f"{target}: cannot be written: {first_line(error)}") from error


def _card(config: Config, **others: str) -> str:
    is_split = config.tokenizer == SENTENCEPIECE
    sizes = "m = {embedding_size}, n = {hidden_size}, n' = {attention_size}, l = {maxout_size}"
    if "attention_size" not in config.model.used_sizes:
        sizes = sizes.replace("n' = {attention_size}, ", "")
    return string.Template(_TEMPLATE.read_text("utf-8")).substitute(
        {**vars(config.model), **vars(config.decoding), **others},
        tag="attention" if config.model.has_attention else "encoder-decoder",
        study=_STUDY if config.model.has_attention else "study and teaching",
        sizes=", ".join([sizes.format(**vars(config.model)), *_variants(config.model)]),
        version=rnnsearch_tf.__version__,
        title="RNNsearch" if config.model.has_attention else "RNNencdec",
        languages="\n".join(_languages(*config.languages)),
        source_language=config.source_language,
        target_language=config.target_language,
        units="joint " * config.joint_subwords + "subwords" if is_split else "words",
        requirement=package("[subwords]" if is_split else ""),
    )


def _variants(config: ModelConfig) -> Iterator[str]:
    """Yield how a model differs from the paper's."""
    for name in ("lexical_model", "tied_embeddings"):
        if getattr(config, name):
            yield name.replace("_", " ")
    if config.step_order != ModelConfig().step_order:
        yield f"step order {config.step_order}"


def _languages(*codes: str) -> Iterator[str]:
    """Yield lines of metadata: hubs take language codes alone, and tags such as pt-BR apart."""
    tags = [code.replace("_", "-") for code in codes]
    yield "language:"
    yield from (f'- "{tag.partition("-")[0]}"' for tag in tags)
    if any("-" in tag for tag in tags):
        yield "language_bcp47:"
        yield from (f'- "{tag}"' for tag in tags)


def _training(config: Config, record: dict[str, Any]) -> Iterator[str]:
    """Yield what the card says about the training run."""
    if config.initial_model:
        yield "from the weights of another model"
    if "epoch" in record:
        yield f"{record['epoch']:g} epoch{'s' * (record['epoch'] != 1)}"
    yield f"sentences of up to {config.training.max_length} tokens"


def _validation_rows(record: dict[str, Any]) -> Iterator[str]:
    """Yield a row for each score in a record of training.jsonl."""
    if "nll_per_token" in record:
        yield f"| validation set | | NLL | {record['nll_per_token']:.3f} | |"
    if "bleu" in record:
        signature = record.get("bleu_signature", "")
        yield _row("validation set", "", "BLEU", f"{record['bleu']:.2f}", signature)


def _test_rows(path: Path, digest: str, decoding: DecodingConfig) -> Iterator[str]:
    """Yield a row for each score in a file; InputError if another model or search made it."""
    values = read_json(path)
    with input_errors(path):
        values = typed(dict[str, Any], values)
        if values.get("weights_sha256", [digest]) != [digest]:
            raise ValueError("these are not scores of the model with these weights")
        own = dataclasses.asdict(decoding)
        used = {**own, **typed(dict[str, Any], values.get("decoding", {}), "decoding")}
        for name in own:
            if used[name] != own[name]:
                raise ValueError(f"scores with {name} {used[name]}, and not {own[name]}")
        count = typed(int, values.get("sentences"), "sentences")
        scores = {name: typed(Score, values[name], name) for name in METRICS if name in values}
    for name, score in scores.items():
        yield _row(path.stem, f"{count:,}", METRICS[name].title, str(score), score.signature)


def _row(*columns: str) -> str:
    cells = (single_line(html.escape(column, quote=False)).replace("|", ", ") for column in columns)
    return "| " + " | ".join(cells) + " |"
