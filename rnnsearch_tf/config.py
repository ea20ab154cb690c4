"""Settings: frozen dataclasses that are written to JSON and read back."""

import dataclasses
import json
import math
import typing
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeVar

from rnnsearch_tf.digests import sealed, unsealed
from rnnsearch_tf.errors import did_you_mean
from rnnsearch_tf.json_files import parse_json, record, typed
from rnnsearch_tf.limits import COUNT, COUNT_OR_NONE, SEED, Limits

FORMAT = 1  # of config.json; raised when files of older versions can no longer be read

Architecture = Literal["rnnsearch", "rnnencdec"]
StepOrder = Literal["look_generate_update", "look_update_generate"]
InitialWeights = Literal["paper", "glorot"]
TokenizerName = Literal["moses", "whitespace", "sentencepiece"]
MosesLanguage = Literal["en", "fr", "cs", "de", "es", "it", "nl", "pl", "pt"]
Batching = Literal["buckets", "sorted"]
OptimizerName = Literal["adadelta", "adam"]
LearningRateSchedule = Literal["constant", "linear"]
EarlyStopping = Literal["none", "bleu", "nll"]
DtypePolicy = Literal["float32", "mixed_bfloat16"]
WeightsDtype = Literal["float32", "float16", "bfloat16"]
AlignmentName = Literal["attention", "aligner"]
StrategyName = Literal["one", "mirrored", "multi_worker"]

RNNSEARCH: Literal["rnnsearch"] = "rnnsearch"
RNNENCDEC: Literal["rnnencdec"] = "rnnencdec"
ARCHITECTURES: tuple[Architecture, ...] = typing.get_args(Architecture)
MOSES: Literal["moses"] = "moses"
WHITESPACE: Literal["whitespace"] = "whitespace"
SENTENCEPIECE: Literal["sentencepiece"] = "sentencepiece"
SUBWORD_FILES = ("source.spm", "target.spm")  # SentencePiece models, in a folder
ALIGNMENTS: tuple[AlignmentName, ...] = typing.get_args(AlignmentName)
MOSES_LANGUAGES: tuple[MosesLanguage, ...] = ("en", "fr")  # built in
MORE_MOSES_LANGUAGES = typing.get_args(MosesLanguage)[2:]  # sacremoses has abbreviations
MOSES_NAMES = f"{', '.join(MOSES_LANGUAGES)}; with sacremoses {', '.join(MORE_MOSES_LANGUAGES)}"

# Beyond these a model or a search takes more memory than machines have.
_SIZE = Limits(1, 1_000_000)
MAX_LENGTH_RATIO = Limits(0, 1_000, without_low=True)
_LENGTH = Limits(1, 10_000)
BEAM_SIZE = Limits(1, 1_000)
SUBWORDS = Limits(260, 1_000_000)  # with 256 bytes and the special tokens

_FLOAT32 = 3e38  # about the largest number
_RATE = Limits(0, 1, without_high=True)
_POSITIVE = Limits(0, _FLOAT32, without_low=True)

# Names of fields and values in version 0.1.0, and their current names.
RENAMED_FIELDS = {
    "kind": "architecture",
    "decay": "learning_rate_schedule",
    "gradient_norm": "clip_norm",
    "max_steps": "max_updates",
    "evaluation_steps": "evaluation_interval",
    "checkpoint_steps": "checkpoint_interval",
    "guidance": "guided_alignment_weight",
    "training_links": "training_alignments",
}
RENAMED_VALUES = {
    ("learning_rate_schedule", "none"): "constant",
    ("tokenizer", "spaces"): "whitespace",
}

# Fields of `Config` that a training run fills in.
FILLED_IN = (
    "source_vocabulary", "target_vocabulary", "source_subwords", "target_subwords",
    "source_prefixes", "target_prefixes", "training_text", "validation_text",
    "training_alignments", "training_id", "initial_model",
)  # fmt: skip

_Settings = TypeVar("_Settings")


def setting(default: Any, description: str, limits: Limits | None = None) -> Any:
    """Return a dataclass field with its default, the text that `--help` shows, and its range."""
    return dataclasses.field(default=default, metadata={"help": description, "limits": limits})


def choices(field_type: Any) -> tuple[str, ...]:
    """Return the values of a `Literal`; none for any other type."""
    return typing.get_args(field_type) if typing.get_origin(field_type) is Literal else ()


def check_names(given: Iterable[str], *records: Any) -> None:
    """Raise a TypeError for a name that is not a field of these dataclasses."""
    known = [field.name for record in records for field in dataclasses.fields(record)]
    for name in given:
        if name not in known:
            raise TypeError(f"no setting {name}{did_you_mean(name, known)}")


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)


def check_choice(
    name: str, value: Any, allowed: Sequence[str], error: type[Exception] = ValueError
) -> None:
    """Raise an error that names the choices if a value is not among them."""
    if value not in allowed:
        raise error(f"{name} {value!r}: choose one of {', '.join(allowed)}")


def _check_fields(settings: Any) -> None:
    """Raise a ValueError for a field of a wrong type, outside its range or choices."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if isinstance(field.type, type) and dataclasses.is_dataclass(field.type):
            if not isinstance(value, field.type):
                raise ValueError(f"{field.name}: expected {field.type.__name__}, not {value!r}")
        else:
            typed(field.type, value, field.name)
        if allowed := choices(field.type):
            check_choice(field.name, value, allowed)
        if limits := field.metadata.get("limits"):
            limits.check(field.name, value)


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """Architecture and sizes of a model; ValueError for a value out of range.

    Default sizes are the paper's (appendix A.2.3); the step order is that of the authors' code.
    """

    architecture: Architecture = setting(RNNSEARCH, "RNNsearch attends, RNNencdec does not")
    source_vocabulary_size: int = setting(
        30_000, "K_x, source words including the three special tokens", COUNT
    )
    target_vocabulary_size: int = setting(
        30_000, "K_y, target words including the three special tokens", COUNT
    )
    embedding_size: int = setting(620, "m, dimensions of a word vector", _SIZE)
    hidden_size: int = setting(1000, "n, hidden units of each recurrent network", _SIZE)
    attention_size: int = setting(1000, "n', hidden units of the alignment model", _SIZE)
    maxout_size: int = setting(500, "l, maxout units of the readout", _SIZE)
    step_order: StepOrder = setting(
        "look_generate_update",
        "look_generate_update (the authors' code) or look_update_generate (section 3.1)",
    )
    initial_weights: InitialWeights = setting("paper", "paper (appendix B.1) or glorot (wider)")
    dropout: float = setting(0.0, "dropout rate of embeddings, annotations and maxout units", _RATE)
    label_smoothing: float = setting(
        0.0, "share of the target probability that is spread over all words", _RATE
    )
    r_drop: float = setting(
        0.0,
        "α of R-Drop (Liang et al. 2021), the weight of the divergence between two forward passes "
        "with different dropout masks; training takes twice the time; 0: off",
        Limits(0, 1_000),
    )
    tied_embeddings: bool = setting(
        False, "use the target word vectors as W_o; needs maxout_size equal to embedding_size"
    )
    lexical_model: bool = setting(
        False,
        "add the attended source word vectors to the readout (Nguyen & Chiang 2018); needs "
        "maxout_size equal to embedding_size",
    )

    def __post_init__(self) -> None:
        _check_fields(self)
        for name in ("tied_embeddings", "lexical_model"):
            _require(
                not getattr(self, name) or self.maxout_size == self.embedding_size,
                f"{name}: maxout_size {self.maxout_size} must equal embedding_size "
                f"{self.embedding_size}",
            )
        _require(
            self.has_attention or not self.lexical_model,
            f"lexical_model: {self.architecture} does not attend to source words",
        )

    @property
    def has_attention(self) -> bool:
        """Whether the decoder attends to the source: RNNsearch does, RNNencdec does not."""
        return self.architecture == RNNSEARCH

    @property
    def used_sizes(self) -> dict[str, int]:
        """The sizes that are the length of an axis of some weight, by name."""
        sizes = {name: value for name, value in vars(self).items() if name.endswith("_size")}
        if not self.has_attention:
            del sizes["attention_size"]
        return sizes


@dataclasses.dataclass(frozen=True)
class TrainingConfig:
    """The training procedure; ValueError for a value out of range.

    The default batch size, optimizer and clipping are the paper's (appendix B.2), and the number of
    epochs is that of its RNNsearch-50*. Batches are bucketed by length; "sorted" gives the paper's.
    """

    batch_size: int = setting(80, "sentence pairs in an update", _SIZE)
    max_length: int = setting(
        50, "maximum tokens of either side, without </s>; longer pairs are left out", _LENGTH
    )
    batching: Batching = setting(
        "buckets",
        "buckets: pairs of similar length; sorted: 20 batches at a time, sorted by length (paper)",
    )
    bucket_width: int = setting(4, "batches are padded to a multiple of this many tokens", _LENGTH)
    optimizer: OptimizerName = setting("adadelta", "adadelta or adam")
    learning_rate: float = setting(1.0, "learning rate; Adadelta's own is 1.0", _POSITIVE)
    learning_rate_schedule: LearningRateSchedule = setting(
        "constant", "constant, or linear: from learning_rate to 0 over all updates"
    )
    clip_norm: float = setting(
        1.0, "maximum L2 norm of the gradient; a larger one is scaled down", _POSITIVE
    )
    epochs: int = setting(5, "passes over the training pairs", COUNT)
    max_updates: int = setting(
        0, "maximum number of updates; 0: limited by the epochs only", COUNT_OR_NONE
    )
    evaluation_interval: int = setting(
        0, "updates between evaluations; 0: after each epoch", COUNT_OR_NONE
    )
    checkpoint_interval: int = setting(
        0, "updates between checkpoints; 0: every ten minutes", COUNT_OR_NONE
    )
    early_stopping: EarlyStopping = setting(
        "none", "none, or the validation metric that must keep improving: bleu or nll"
    )
    patience: int = setting(3, "evaluations without improvement before early stopping", COUNT)
    max_skipped: int = setting(
        20,
        "training fails after this many updates in a row with a gradient that is not finite",
        COUNT,
    )
    seed: int = setting(
        1, "seed of initial weights, order, dropout, sampled subwords and letter noise", SEED
    )
    dtype_policy: DtypePolicy = setting(
        "float32",
        "float32, or mixed_bfloat16: matrix products and the output softmax in bfloat16, the rest "
        "in float32",
    )
    weight_average: float = setting(
        0.0,
        "decay of the moving average of the weights, which is evaluated and saved; 0: none",
        _RATE,
    )
    jit_compile: bool = setting(False, "compile the update with XLA, once for each shape")
    subword_sampling: float = setting(
        0.0,
        "α: draw a segmentation of each sentence in each epoch, with probability proportional to "
        "p^α (subword regularization, Kudo 2018); 0: always the most probable segmentation",
        Limits(0, 1),
    )
    letter_noise: float = setting(
        0.0,
        "share of source words in which two adjacent letters are swapped, different words in each "
        "epoch (Belinkov & Bisk 2018); needs --tokenizer=sentencepiece",
        _RATE,
    )
    guided_alignment_weight: float = setting(
        0.0,
        "weight of the guided alignment loss, the cross-entropy of --train_alignments and the "
        "attention (Chen et al. 2016); 0: none",
        Limits(0, _FLOAT32),
    )

    def __post_init__(self) -> None:
        _check_fields(self)

    @property
    def draws_text(self) -> bool:
        """Whether the training text differs between epochs."""
        return bool(self.subword_sampling or self.letter_noise)

    @property
    def loss_weights(self) -> dict[str, float]:
        """Weights other than 0, by the names of `models.losses.LOSSES`; that of `nll` is 1."""
        given = {
            n.removesuffix("_weight"): w for n, w in vars(self).items() if n.endswith("_weight")
        }
        return {"nll": 1.0, **{name: weight for name, weight in given.items() if weight}}


@dataclasses.dataclass(frozen=True)
class DecodingConfig:
    """Beam search; score = log p(y|x) / |y|^length_penalty, in nats, |y| counting `</s>`.

    ValueError for a value out of range.
    """

    beam_size: int = setting(12, "hypotheses kept in beam search", BEAM_SIZE)
    length_penalty: float = setting(
        0.0,
        "a: hypotheses are ranked by log p / tokens^a; 0: log p; 1: its mean per token",
        Limits(0, 10),
    )
    max_length: int = setting(
        500,
        "maximum tokens of source and translation; longer ones are truncated",
        _LENGTH,
    )
    max_length_ratio: float = setting(
        3.0,
        "maximum target tokens per source token, </s> counted on both sides",
        MAX_LENGTH_RATIO,
    )
    min_length_ratio: float = setting(
        0.0, "minimum target tokens, without </s>, per source token, with </s>", Limits(0, 1_000)
    )
    allow_unknown: bool = setting(True, "allow [UNK] in translations")
    replace_unknown: bool = setting(
        False,
        "replace each [UNK] with the lexicon's translation of the attended source word, or with "
        "the source word itself",
    )
    correct_spelling: bool = setting(
        False,
        "read an unknown source word as a known word with a similar spelling; with subwords: read "
        "a line in capitals, lower case or title case in the usual case",
    )
    candidate_words: int = setting(
        0,
        "search only among this many frequent words and the lexicon's translations of the source "
        "words (Jean et al. 2015); 0: among all words",
        COUNT_OR_NONE,
    )
    bfloat16: bool = setting(
        False,
        "run the matrix products of beam search in bfloat16; faster only on CPUs with bfloat16 "
        "instructions",
    )

    def __post_init__(self) -> None:
        _check_fields(self)
        _require(
            self.min_length_ratio <= self.max_length_ratio,
            f"min_length_ratio {self.min_length_ratio}: must be at most max_length_ratio, "
            f"{self.max_length_ratio}",
        )

    def max_target_tokens(self, source_tokens: int) -> int:
        """Return the most tokens that a translation can have, `</s>` counted on both sides."""
        longest = math.ceil(self.max_length_ratio * source_tokens - 1e-6)
        return min(longest, self.max_length + 1)


@dataclasses.dataclass(frozen=True)
class Config:
    """Content of a model directory's config.json; ValueError for an invalid value."""

    model: ModelConfig = setting(ModelConfig(), "architecture and sizes")
    training: TrainingConfig = setting(TrainingConfig(), "the training procedure")
    decoding: DecodingConfig = setting(DecodingConfig(), "beam search")
    source_language: str = setting("en", f"source language; Moses rules: {MOSES_NAMES}")
    target_language: str = setting("fr", "target language, likewise")
    tokenizer: TokenizerName = setting(
        MOSES,
        "moses: rules for some languages; sentencepiece: subwords, for any language; whitespace: "
        "the text is pre-tokenized",
    )
    subwords: int = setting(
        8_000, "subwords per side, including 256 bytes and 3 special tokens", SUBWORDS
    )
    joint_subwords: bool = setting(False, "use the same subwords for both sides")
    source_vocabulary: str = setting("", "SHA-256 of source.vocab")
    target_vocabulary: str = setting("", "SHA-256 of target.vocab")
    source_subwords: str = setting("", "SHA-256 of source.spm; empty: its tokens are words")
    target_subwords: str = setting("", "SHA-256 of target.spm; likewise")
    source_prefixes: str = setting("", "abbreviations of the Moses rules; empty: built in, or none")
    target_prefixes: str = setting("", "likewise")
    training_text: str = setting("", "SHA-256 of the text it was trained on")
    validation_text: str = setting("", "SHA-256 of the validation set; empty: none, or unknown")
    training_alignments: str = setting("", "SHA-256 of --train_alignments; empty: none")
    initial_model: str = setting("", "SHA-256 of the weights it began from; empty: random ones")
    training_id: str = setting(
        "", "random id of the training run that wrote the weights; empty before it, and in 0.1.0"
    )

    def __post_init__(self) -> None:
        _check_fields(self)
        if self.tokenizer == MOSES:
            for name in ("source_language", "target_language"):
                language = getattr(self, name)
                known = (*MOSES_LANGUAGES, *MORE_MOSES_LANGUAGES)
                hint = did_you_mean(language.lower()[:2], known)
                _require(
                    language in known,
                    f"{name} {language!r}{hint}: the Moses tokenizer has rules for {MOSES_NAMES}; "
                    "for another language, train with --tokenizer=sentencepiece, or with "
                    "--tokenizer=whitespace on pre-tokenized text",
                )

    @property
    def languages(self) -> tuple[str, str]:
        """Source and target language."""
        return self.source_language, self.target_language

    def with_settings(self, **settings: Any) -> "Config":
        """Return a copy with changed settings, also of its parts: `with_settings(epochs=4)`.

        `max_length` is that of training. ValueError: a value out of range, or another optimizer
        without a learning rate; TypeError: an unknown setting.
        """
        check_names(settings, self, self.training, self.model, self.decoding)
        before, optimizer = self.training, settings.get("optimizer", self.training.optimizer)
        has_rate = not settings.keys().isdisjoint({"learning_rate", "training"})
        _require(
            has_rate or optimizer == before.optimizer,
            f"optimizer {optimizer}: needs its own learning_rate; {before.learning_rate:g} is that "
            f"of {before.optimizer} (Adadelta's is 1, Adam's 1e-3)",
        )
        names = ("training", "model", "decoding")
        given = {name: settings.pop(name) for name in names if name in settings}
        config = dataclasses.replace(self, **given)
        parts = {}
        for name in names:
            part = getattr(config, name)
            own = {n: settings.pop(n) for n in vars(part) if n in settings}
            parts[name] = dataclasses.replace(part, **own)
        return dataclasses.replace(config, **parts, **settings)

    def given_settings(self) -> dict[str, Any]:
        """Return the settings without the fields that a training run fills in."""
        values = dataclasses.asdict(self)
        return {name: value for name, value in values.items() if name not in FILLED_IN}

    def to_json(self) -> str:
        """Return indented JSON, with the fields in the order of the class, then their digest."""
        return json.dumps(sealed({"format": FORMAT, **dataclasses.asdict(self)}), indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str | bytes) -> "Config":
        """Read what `to_json` of this version or an older one has written.

        ValueError for text that is not such JSON, another format, an unknown or ill-typed field, a
        value out of range, or a wrong digest.
        """
        values = parse_json(text)
        _require(isinstance(values, dict), "not a JSON object")
        version = values.get("format")
        is_known = type(version) is int and version == FORMAT  # true and 1.0 equal 1
        _require(is_known, f"format {version!r}; this version reads format {FORMAT}")
        settings = unsealed(values)
        del settings["format"]
        return read_settings(cls, settings)


def setting_values(config: Config) -> dict[str, Any]:
    """Return all settings by their names; `max_length` is that of training."""
    parts = config, config.decoding, config.model, config.training
    return {name: value for part in parts for name, value in vars(part).items()}


def read_settings(config_class: type[_Settings], values: dict[str, Any]) -> _Settings:
    """Build a config dataclass from JSON fields, with current names or 0.1.0's; or ValueError."""
    values = current_names(values)
    nested = {k: current_names(v) for k, v in values.items() if isinstance(v, dict)}
    return record(config_class, {**values, **nested})


def current_names(values: dict[str, Any]) -> dict[str, Any]:
    """Return fields and values with their current names."""
    named = ((RENAMED_FIELDS.get(name, name), value) for name, value in values.items())
    return {n: RENAMED_VALUES.get((n, x), x) if isinstance(x, str) else x for n, x in named}
