"""Settings: frozen dataclasses that go to JSON and back."""

import dataclasses
import json
import typing
from typing import Any

FORMAT = 1  # raised when a config.json of an older version can no longer be read

RNNSEARCH = "rnnsearch"
RNNENCDEC = "rnnencdec"
KINDS = (RNNSEARCH, RNNENCDEC)

MOSES = "moses"
SPACES = "spaces"
TOKENIZERS = (MOSES, SPACES)


def setting(default: Any, description: str) -> Any:
    """A dataclass field with the text that `--help` shows for it."""
    return dataclasses.field(default=default, metadata={"help": description})


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def _require_one_of(name: str, value: str, choices: tuple[str, ...]) -> None:
    _require(value in choices, f"{name} {value!r}: choose one of {', '.join(choices)}")


_MODEL_CHOICES = {
    "kind": KINDS,
    "step_order": ("look_generate_update", "look_update_generate"),
    "initial_weights": ("paper", "glorot"),
}
_TRAINING_CHOICES = {
    "batching": ("buckets", "sorted"),
    "optimizer": ("adadelta", "adam"),
    "decay": ("none", "linear"),
    "early_stopping": ("none", "bleu", "nll"),
    "dtype_policy": ("float32", "mixed_bfloat16"),
}


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """The model's kind and sizes; the defaults are the paper's (appendix A.2.3)."""

    kind: str = setting(RNNSEARCH, "rnnsearch or rnnencdec")
    source_vocabulary_size: int = setting(30_000, "K_x, source words with the three special tokens")
    target_vocabulary_size: int = setting(30_000, "K_y, target words with the three special tokens")
    embedding_size: int = setting(620, "m, dimensions of a word vector")
    hidden_size: int = setting(1000, "n, hidden units of each recurrent network")
    attention_size: int = setting(1000, "n', hidden units of the alignment model")
    maxout_size: int = setting(500, "l, maxout units of the readout")
    step_order: str = setting(
        "look_generate_update",
        "look_generate_update (the authors' code) or look_update_generate (section 3.1)",
    )
    initial_weights: str = setting("paper", "paper (appendix B.1) or glorot (wider)")
    dropout: float = setting(
        0.0, "share of elements put to zero in training: embeddings, annotations and maxout units"
    )

    def __post_init__(self) -> None:
        for name, choices in _MODEL_CHOICES.items():
            _require_one_of(name, getattr(self, name), choices)
        _require(0 <= self.dropout < 1, f"dropout {self.dropout}: must be in [0, 1)")
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name.endswith("_size"):
                _require(value > 0, f"{field.name} {value}: must be positive")


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """The training procedure; the defaults are the paper's (appendix B.2)."""

    batch_size: int = setting(80, "sentence pairs in an update")
    max_length: int = setting(
        50, "tokens on the longer side, without </s>; longer pairs are left out"
    )
    batching: str = setting(
        "buckets",
        "buckets (of similar length), or sorted: 20 batches at a time, sorted by length (paper)",
    )
    bucket_width: int = setting(4, "tokens; batches are padded to a multiple of it")
    optimizer: str = setting("adadelta", "adadelta or adam")
    learning_rate: float = setting(1.0, "step scale; 1.0 is Adadelta's own step")
    decay: str = setting("none", "none, or linear: from learning_rate to 0 over all updates")
    gradient_norm: float = setting(
        1.0, "largest L2 norm of the gradient; a larger one is scaled down"
    )
    epochs: int = setting(5, "passes over the training pairs")
    max_steps: int = setting(0, "updates at most; 0 is no limit but the epochs")
    evaluation_steps: int = setting(0, "updates between evaluations; 0: after each epoch")
    checkpoint_steps: int = setting(0, "updates between checkpoints; 0: every ten minutes")
    early_stopping: str = setting(
        "none", "none, or what must improve on the development set: bleu or nll"
    )
    patience: int = setting(3, "evaluations without improvement before early stopping")
    max_skipped: int = setting(
        20, "updates in a row whose gradient is not finite, and so skipped, before training fails"
    )
    seed: int = setting(1, "seed of initial weights, order and dropout")
    dtype_policy: str = setting(
        "float32", "float32, or mixed_bfloat16: products and states in bfloat16, the rest float32"
    )
    jit_compile: bool = setting(False, "whether XLA compiles the update, once for each shape")
    guidance: float = setting(
        0.0,
        "w: the loss has w times the cross-entropy of the attention and the links of --train_links "
        "(Chen et al. 2016); 0: none",
    )

    def __post_init__(self) -> None:
        for name in (
            "batch_size", "max_length", "bucket_width", "learning_rate", "gradient_norm",
            "patience", "max_skipped",
        ):  # fmt: skip
            _require(getattr(self, name) > 0, f"{name} {getattr(self, name)}: must be positive")
        for name in ("epochs", "max_steps", "evaluation_steps", "checkpoint_steps", "guidance"):
            value = getattr(self, name)
            _require(value >= 0, f"{name} {value}: must not be negative")
        for name, choices in _TRAINING_CHOICES.items():
            _require_one_of(name, getattr(self, name), choices)


def merit(config: TrainingConfig, nll_per_token: float, bleu: float) -> float:
    """By what the best weights are chosen, greater is better: −NLL or BLEU."""
    return -nll_per_token if config.early_stopping == "nll" else bleu


@dataclasses.dataclass(frozen=True)
class DecodingConfig:
    """Beam search; score = log p(y|x) / |y|^length_penalty, in nats, |y| counting </s>."""

    beam_size: int = setting(12, "hypotheses kept in beam search")
    length_penalty: float = setting(
        0.0, "a: hypotheses are ranked by log p / tokens^a; 0 is log p, 1 its mean"
    )
    max_length: int = setting(
        500, "tokens at most: a longer source is cut there, a longer translation ends there"
    )
    max_length_ratio: float = setting(3.0, "target tokens at most, for each source token")
    min_length_ratio: float = setting(0.0, "target tokens at least, for each source token")
    allow_unknown: bool = setting(True, "whether [UNK] may be written")
    replace_unknown: bool = setting(
        False, "whether each [UNK] becomes what the attended source word is translated by"
    )

    def __post_init__(self) -> None:
        _require(self.beam_size >= 1, f"beam_size {self.beam_size}: must be at least 1")
        _require(self.length_penalty >= 0, "length_penalty must not be negative")
        _require(self.max_length >= 1, f"max_length {self.max_length}: must be at least 1")
        _require(self.max_length_ratio > 0, "max_length_ratio must be positive")
        _require(
            0 <= self.min_length_ratio <= self.max_length_ratio,
            "min_length_ratio must be between 0 and max_length_ratio",
        )


@dataclasses.dataclass(frozen=True)
class Config:
    """What a model directory's config.json holds."""

    model: ModelConfig = ModelConfig()
    training: TrainingConfig = TrainingConfig()
    decoding: DecodingConfig = DecodingConfig()
    source_language: str = "en"
    target_language: str = "fr"
    tokenizer: str = setting(
        MOSES, "moses (rules for en and fr), or spaces: the text is in words already"
    )
    source_vocabulary: str = ""  # SHA-256 of source.vocab
    target_vocabulary: str = ""  # SHA-256 of target.vocab
    training_text: str = ""  # SHA-256 of what it was trained on
    training_links: str = ""  # SHA-256 of the links that guided its attention, if any

    def __post_init__(self) -> None:
        _require_one_of("tokenizer", self.tokenizer, TOKENIZERS)

    def to_json(self) -> str:
        """Indented JSON, fields in the order of the class."""
        return json.dumps({"format": FORMAT, **dataclasses.asdict(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> "Config":
        """Read what `to_json` wrote.

        Raises:
            ValueError: text that is not such JSON, another format, an unknown or ill-typed field.
        """
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error}") from error
        _require(isinstance(values, dict), "not a JSON object")
        found = values.pop("format", None)
        _require(found == FORMAT, f"format {found!r}, where this version reads {FORMAT}")
        return _from_dict(cls, values)


def _from_dict(cls: Any, values: dict[str, Any]) -> Any:
    types = typing.get_type_hints(cls)
    unknown = sorted(set(values) - set(types))
    _require(not unknown, f"unknown field {', '.join(unknown)}")
    return cls(**{name: _checked(types[name], name, value) for name, value in values.items()})


def _checked(kind: Any, name: str, value: Any) -> Any:
    if dataclasses.is_dataclass(kind):
        _require(isinstance(value, dict), f"{name}: expected an object")
        return _from_dict(kind, value)
    if kind is float and type(value) is int:
        return float(value)
    _require(type(value) is kind, f"{name}: expected {kind.__name__}, found {value!r}")
    return value


_SMALL = ModelConfig(
    source_vocabulary_size=10_000,
    target_vocabulary_size=10_000,
    embedding_size=256,
    hidden_size=256,
    attention_size=256,
    maxout_size=256,
    initial_weights="glorot",
    dropout=0.35,
)
_SMALL_TRAINING = TrainingConfig(optimizer="adam", learning_rate=1.5e-3, decay="linear", epochs=16)
_TINY = dataclasses.replace(
    _SMALL,
    source_vocabulary_size=2_000,
    target_vocabulary_size=2_000,
    embedding_size=128,
    hidden_size=128,
    attention_size=128,
    maxout_size=128,
    dropout=0.0,
)
_TINY_TRAINING = dataclasses.replace(_SMALL_TRAINING, max_length=30, learning_rate=2e-3, epochs=4)
_NORMALISED = DecodingConfig(beam_size=12, length_penalty=0.6)


def _both_kinds(name: str, model: ModelConfig, training: TrainingConfig) -> dict[str, Config]:
    return {
        f"{kind}-{name}": Config(dataclasses.replace(model, kind=kind), training, _NORMALISED)
        for kind in KINDS
    }


# The paper's RNNsearch-50*: "until the performance on the development set stopped improving".
_LONG_TRAINING = TrainingConfig(epochs=1000, early_stopping="bleu", patience=5)

# The paper's models, with its weights and its optimiser, and two sizes for a CPU, which depart
# from it in initial weights (wider), optimiser (Adam) and dropout.
PRESETS: dict[str, Config] = {
    **{
        f"{kind}-{length}": Config(ModelConfig(kind=kind), TrainingConfig(max_length=length))
        for kind in KINDS
        for length in (30, 50)
    },
    "rnnsearch-50*": Config(ModelConfig(), _LONG_TRAINING),
    **_both_kinds("small", _SMALL, _SMALL_TRAINING),
    **_both_kinds("tiny", _TINY, _TINY_TRAINING),
}
