"""RNNsearch: neural machine translation by jointly learning to align and translate.

The names in `__all__` are imported on first use, so that `import rnnsearch_tf` alone loads neither
TensorFlow nor Keras.
"""

import importlib
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rnnsearch_tf.client import Client, ServingError, Tls, UnavailableError, VersionStatus
    from rnnsearch_tf.config import Config, DecodingConfig, ModelConfig, TrainingConfig
    from rnnsearch_tf.data.parallel_corpus import ParallelFiles, ParallelText, TabSeparatedFiles
    from rnnsearch_tf.data.wmt14 import Wmt14
    from rnnsearch_tf.data.word_alignments import WordAlignmentFiles
    from rnnsearch_tf.errors import InputError, UsageError
    from rnnsearch_tf.inference.translator import Translator
    from rnnsearch_tf.layers import (
        BahdanauAttention,
        ContextGRUCell,
        Decoder,
        Encoder,
        GRUCell,
        LastAnnotation,
        MaxoutDeepOutput,
    )
    from rnnsearch_tf.models.ensemble import Ensemble
    from rnnsearch_tf.models.model_directory import ModelDirectory
    from rnnsearch_tf.models.translation_model import TranslationModel
    from rnnsearch_tf.presets import PRESETS
    from rnnsearch_tf.results import Alignment, Hypothesis, Translation
    from rnnsearch_tf.serving.export import export
    from rnnsearch_tf.serving.published import publish
    from rnnsearch_tf.text.vocabulary import Vocabulary
    from rnnsearch_tf.training.initial_model import InitialModel
    from rnnsearch_tf.training.run import train
    from rnnsearch_tf.visualization.alignment_matrix import draw_alignment

__version__ = "0.2.0.dev0"

__all__ = [
    "PRESETS", "Alignment", "BahdanauAttention", "Client", "Config", "ContextGRUCell",
    "Decoder", "DecodingConfig", "Encoder", "Ensemble", "GRUCell", "Hypothesis",
    "InitialModel", "InputError", "LastAnnotation", "MaxoutDeepOutput", "ModelConfig",
    "ModelDirectory", "ParallelFiles", "ParallelText", "ServingError", "TabSeparatedFiles",
    "Tls", "TrainingConfig", "Translation", "TranslationModel", "Translator",
    "UnavailableError", "UsageError", "VersionStatus", "Vocabulary", "Wmt14",
    "WordAlignmentFiles", "draw_alignment", "export", "publish", "train",
]  # fmt: skip

_MODULES = {
    "client": "Client ServingError Tls UnavailableError VersionStatus",
    "config": "Config DecodingConfig ModelConfig TrainingConfig",
    "data.parallel_corpus": "ParallelFiles ParallelText TabSeparatedFiles",
    "data.wmt14": "Wmt14",
    "data.word_alignments": "WordAlignmentFiles",
    "errors": "InputError UsageError",
    "inference.translator": "Translator",
    "layers": (
        "BahdanauAttention ContextGRUCell Decoder Encoder GRUCell LastAnnotation MaxoutDeepOutput"
    ),
    "models.ensemble": "Ensemble",
    "models.model_directory": "ModelDirectory",
    "models.translation_model": "TranslationModel",
    "presets": "PRESETS",
    "results": "Alignment Hypothesis Translation",
    "serving.export": "export",
    "serving.published": "publish",
    "text.vocabulary": "Vocabulary",
    "training.initial_model": "InitialModel",
    "training.run": "train",
    "visualization.alignment_matrix": "draw_alignment",
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names.split()}


if not TYPE_CHECKING:  # a type checker would take any name for one of ours

    def __getattr__(name: str) -> Any:
        """Import a public name, or a subpackage."""
        if name in _MODULE_OF:
            value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
        elif name.isidentifier() and name[0] != "_" and find_spec(f"{__name__}.{name}"):
            value = importlib.import_module(f"{__name__}.{name}")
        else:
            message = f"module {__name__!r} has no attribute {name!r}"
            raise AttributeError(message, name=name, obj=sys.modules[__name__])
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """List the public names, whether they have been imported or not."""
    return sorted({*globals(), *__all__})
