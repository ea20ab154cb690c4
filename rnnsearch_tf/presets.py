"""Named settings: the paper's models, and two smaller sizes for a CPU."""

import dataclasses

from rnnsearch_tf.config import ARCHITECTURES, Config, DecodingConfig, ModelConfig, TrainingConfig

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
_SMALL_TRAINING = TrainingConfig(
    optimizer="adam", learning_rate=1.5e-3, learning_rate_schedule="linear", epochs=16
)
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
_NORMALIZED = DecodingConfig(beam_size=12, length_penalty=0.6)

# The paper's RNNsearch-50*: "until the performance on the development set stopped improving".
_LONG_TRAINING = TrainingConfig(epochs=1000, early_stopping="bleu", patience=5)


class _Presets(dict[str, Config]):
    def __missing__(self, name: str) -> Config:
        raise KeyError(f"no preset {name}: choose one of {', '.join(self)}")


def _both(name: str, model: ModelConfig, training: TrainingConfig) -> dict[str, Config]:
    return {
        f"{architecture}-{name}": Config(
            dataclasses.replace(model, architecture=architecture), training, _NORMALIZED
        )
        for architecture in ARCHITECTURES
    }


# The paper's models have its initial weights and its optimizer. The two sizes for a CPU depart
# from it in initial weights (wider), optimizer (Adam, linear schedule) and ranking (by length); the
# small one also has dropout.
PRESETS: dict[str, Config] = _Presets(
    {
        **{
            f"{architecture}-{length}": Config(
                ModelConfig(architecture=architecture), TrainingConfig(max_length=length)
            )
            for architecture in ARCHITECTURES
            for length in (30, 50)
        },
        "rnnsearch-50*": Config(ModelConfig(), _LONG_TRAINING),
        **_both("small", _SMALL, _SMALL_TRAINING),
        **_both("tiny", _TINY, _TINY_TRAINING),
    }
)
