"""Settings of a training run: in a file, JSON or YAML, or by flags that exclude each other."""

import re
from pathlib import Path
from typing import Any

from rnnsearch_tf.config import FILLED_IN, FORMAT, SENTENCEPIECE, Config, read_settings
from rnnsearch_tf.digests import SEAL
from rnnsearch_tf.errors import input_errors
from rnnsearch_tf.json_files import parse_json, typed
from rnnsearch_tf.scripts.shared.command import Command

_DIGEST_LENGTH = 64  # of SHA-256 in hexadecimal
_OF_SUBWORDS = ("subword_models", "subwords", "joint_subwords")
_OF_WORDS = ("source_vocabulary_size", "target_vocabulary_size")


def read_settings_file(path: str, base: Config, has_rate: bool = False) -> Config:
    """Read what `rnnsearch-train --print_config` prints, or a part of it, or a config.json.

    What a training run fills in, such as the digests, is ignored in a config.json. `base` has the
    settings that the file lacks; the learning rate may come later (`has_rate`). InputError if the
    file cannot be read, is neither JSON nor YAML, has an unknown or wrong setting, or has another
    optimizer than `base` without a learning rate.
    """
    with input_errors(f"--config {path}"):
        content = Path(path).read_bytes()
        if not content.strip():
            raise ValueError("is empty")
        values = typed(dict[str, Any], _parsed(content))
        if typed(int, values.pop("format", FORMAT), "format") != FORMAT:
            raise ValueError(f"another format; this version reads format {FORMAT}")
        # A config.json has digests there, a file of settings nothing.
        is_of_a_training = len(str(values.get("source_vocabulary", ""))) == _DIGEST_LENGTH
        known = base.given_settings()
        settings = dict(known)
        for name, value in values.items():
            if name == SEAL or (name in FILLED_IN and (is_of_a_training or not value)):
                continue
            if name in FILLED_IN:
                raise ValueError(f"{name}: is not a setting; training fills it in")
            parts = (part for part, own in known.items() if isinstance(own, dict) and name in own)
            if part := next(parts, None):
                raise ValueError(f"{name}: belongs under {part}")
            own = settings.get(name)
            if isinstance(own, dict) and isinstance(value, dict):
                value = {**own, **value}
            settings[name] = value
        config = read_settings(Config, settings)
        if not has_rate and "learning_rate" not in values.get("training", {}):
            base.with_settings(optimizer=config.training.optimizer)  # refuses another one
        return config


def _parsed(content: bytes) -> Any:
    """Parse JSON, or else YAML; a ValueError if it is neither."""
    if content.lstrip().startswith(b"{"):
        return parse_json(content, _without_duplicates)
    import yaml  # here: without it, as where the client alone is installed, a command still starts

    class Loader(yaml.SafeLoader):
        """PyYAML's loader, but 1e-3 is a number, as in YAML 1.2.

        A key that occurs twice is an error; PyYAML takes the last one.
        """

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            if isinstance(node, yaml.MappingNode):
                _check_keys([str(key.value) for key, _ in node.value])
            return super().construct_mapping(node, deep)

    number = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver("tag:yaml.org,2002:float", number, "-+0123456789")
    try:
        return yaml.load(content.decode(), Loader)
    except (yaml.YAMLError, RecursionError, LookupError, AttributeError) as error:
        problem = " ".join(str(error).split())
        raise ValueError(f"neither JSON nor YAML: {problem}") from error


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    _check_keys([key for key, _ in pairs])
    return dict(pairs)


def _check_keys(keys: list[str]) -> None:
    for key in keys:
        if keys.count(key) > 1:
            raise ValueError(f"{key}: occurs twice")


def check_subword_flags(command: Command, config: Config) -> None:
    """Raise a UsageError for a flag that does not apply to the tokenizer of the settings."""
    if config.tokenizer == SENTENCEPIECE:
        command.refuse(_OF_WORDS, "counts words; use --subwords with --tokenizer=sentencepiece")
    else:
        command.refuse(_OF_SUBWORDS, "needs --tokenizer=sentencepiece")
