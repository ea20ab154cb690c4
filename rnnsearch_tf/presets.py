"""Named settings: the paper's models, and two smaller sizes for a CPU."""

from rnnsearch_tf.config import ARCHITECTURES, Config, DecodingConfig, ModelConfig, TrainingConfig

_SMALL = Config(
    ModelConfig(
        source_vocabulary_size=10_000,
        target_vocabulary_size=10_000,
        embedding_size=256,
        hidden_size=256,
        attention_size=256,
        maxout_size=256,
        initial_weights="glorot",
        dropout=0.35,
    ),
    TrainingConfig(
        optimizer="adam", learning_rate=1.5e-3, learning_rate_schedule="linear", epochs=16
    ),
    DecodingConfig(beam_size=12, length_penalty=0.6),
)
_TINY = _SMALL.with_settings(
    source_vocabulary_size=2_000,
    target_vocabulary_size=2_000,
    embedding_size=128,
    hidden_size=128,
    attention_size=128,
    maxout_size=128,
    dropout=0.0,
    max_length=30,
    learning_rate=2e-3,
    epochs=4,
)


class _Presets(dict[str, Config]):
    def __missing__(self, name: str) -> Config:
        raise KeyError(f"no preset {name}: choose one of {', '.join(self)}")


def _both(name: str, config: Config) -> dict[str, Config]:
    return {f"{a}-{name}": config.with_settings(architecture=a) for a in ARCHITECTURES}


# The paper's models have its initial weights and its optimizer. The two sizes for a CPU depart
# from it in initial weights (wider), optimizer (Adam, linear schedule) and ranking (with a length
# penalty); the small one also has dropout.
PRESETS: dict[str, Config] = _Presets(
    {
        **{
            f"{architecture}-{length}": Config().with_settings(
                architecture=architecture, max_length=length
            )
            for architecture in ARCHITECTURES
            for length in (30, 50)
        },
        # "Until the performance on the development set stopped improving" (the paper).
        "rnnsearch-50*": Config().with_settings(epochs=1000, early_stopping="bleu", patience=5),
        **_both("small", _SMALL),
        **_both("tiny", _TINY),
    }
)
