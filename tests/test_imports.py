"""Imports run one way, between subpackages and within them; only the scripts know flags."""

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import rnnsearch_tf

PACKAGE = Path(rnnsearch_tf.__file__).parent

# Every module of the package, from the ground up: subpackages import only earlier ones, and modules
# only earlier modules of their subpackage. A new module is put after all that it imports.
SUBPACKAGES = {
    "": """
        __init__ allocation errors extras terminal tables limits json_files result_html results
        given_texts bars progress interrupts windows tensor_types digests config presets
        tf_functions threads provenance files
    """,
    "text": """
        __init__ unspaced composed_form cleaning canonical_composition letters nonbreaking_prefixes
        word_tokenizer vocabulary moses subword_model_pb2 typography subwords letter_noise
        subword_sampling tokenizers vectorizer sentences
    """,
    "layers": """
        initializers precision scan embedding gated_recurrence gru attention
        attentive_recurrence lexical deep_output encoder decoder __init__
    """,
    "models": """
        __init__ losses translation_step translation_model ensemble weights_file model_directory
    """,
    "synthetic": """
        __init__ morphology sentence_pair lexicon rules derivation grammar
    """,
    "client": """
        contract address errors results call failures serving_pb2
        tensor_messages grpc_transport http_exchange rest_transport client
        __init__
    """,
    "data": """
        __init__ permutation lines parallel_corpus wmt14 sentence_pairs word_alignments
        prepared_corpus prepared_alignments preparation sampled_pairs batching subwords
        training_data held_out sampling selection selection.ngram_model selection.pairs
        selection.moore_lewis
    """,
    "decoding": "__init__ scoring continuations candidates beam_search prefix model_search",
    "aligner": "__init__ hmm hmm_training hmm_aligner",
    "inference": """
        __init__ exported length_batching weight_storage prepared_weights lexicon_file spelling
        letter_case unk_replacement n_best words target_prefix text_model loading
        side_by_side translator
    """,
    "evaluation": """
        __init__ best_weights metrics length_bins likelihood calibration unk_free significance
        scores evaluator
    """,
    "alignment": """
        __init__ error_rate links symmetrization extraction formats word_aligner lexicon
    """,
    "visualization": """
        __init__ image_files fonts alignment_page alignment_matrix curves sample_page
    """,
    "serving": "__init__ kit model_card signatures warmup export published",
    "training": """
        __init__ checks cluster optimizers distribution train_step logs checkpoints progress_bar
        tensorboard initial_model jax_batches jax_train_step validation trainer jax_validation run
    """,
    "pipelines": "__init__ jobs shards translation selection",
    "reproduction": "__init__ models results claims assessment report reproduce",
    "demo": "__init__",
    "scripts": """
        __init__ shared shared.text_output shared.file_flags shared.help_text shared.command
        shared.quiet_start shared.text_input shared.line_stream shared.resumable_file
        shared.finite_values shared.translation_lines shared.beam_flags shared.figure_flags
        shared.decoding_flags shared.chosen_models shared.alignment_flags
        shared.alignment_evaluation shared.pair_flags shared.systems shared.text_warnings
        shared.settings_file align aligner beam_select beam_translate client demo evaluate
        export lexicon plot publish reproduce score select train translate
    """,
    "__main__": "__init__",
}
WITHOUT_TENSORFLOW = (
    "layers",
    "models",
    "client",
    "synthetic",
    "",  # the package itself
    "bars",
    "config",
    "digests",
    "errors",
    "extras",
    "files",
    "given_texts",
    "presets",
    "progress",
    "result_html",
    "results",
    "terminal",
    "windows",
)
FORBIDDEN_NAMES = {"utils", "util", "helpers", "helper", "misc", "common"}


def full_name(subpackage: str, name: str) -> str:
    """("client", "call") -> rnnsearch_tf.client.call; `__init__` is the subpackage itself."""
    return ".".join(
        part for part in ("rnnsearch_tf", subpackage, name) if part not in ("", "__init__")
    )


ORDER = [
    full_name(subpackage, name)
    for subpackage, names in SUBPACKAGES.items()
    for name in names.split()
]


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FACE = "rnnsearch_tf"  # its public names lie above it, and are imported on first use
PATHS = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def part(module: str) -> str:
    """rnnsearch_tf.layers.gru -> layers; "" for the package itself."""
    return module.partition(".")[2].partition(".")[0]


def import_nodes(node: ast.AST, inside_functions: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child
        elif inside_functions or not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from import_nodes(child, inside_functions)


def without_type_checking(tree: ast.Module) -> ast.Module:
    """The module without its blocks `if TYPE_CHECKING:`."""
    kept = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return ast.Module(kept, tree.type_ignores)


@functools.cache
def imported(module: str, inside_functions: bool = True) -> frozenset[str]:
    """The full names a module imports: "absl.flags", "rnnsearch_tf.layers.gru.GRUCell"."""
    names = set()
    tree = ast.parse(PATHS[module].read_text("utf-8"))
    if module == FACE:
        tree = without_type_checking(tree)
    for node in import_nodes(tree, inside_functions):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{module} has a relative import"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return frozenset(names)


def our_modules(module: str) -> set[str]:
    """The modules of the package that a module imports, also inside functions."""
    ours = {name for name in imported(module) if name.split(".")[0] == "rnnsearch_tf"}
    return {name if name in PATHS else name.rpartition(".")[0] for name in ours} - {module}


def test_imports_are_seen():
    assert our_modules("rnnsearch_tf.layers.gru") == {
        "rnnsearch_tf.config",
        "rnnsearch_tf.layers.gated_recurrence",
        "rnnsearch_tf.layers.initializers",
        "rnnsearch_tf.layers.precision",
        "rnnsearch_tf.tensor_types",
    }


def test_the_face_imports_nothing_of_the_package():
    assert our_modules(FACE) == set()


@pytest.mark.parametrize("module", PATHS)
def test_modules_import_each_other_and_not_the_public_names(module):
    assert not imported(module) & {f"{FACE}.{name}" for name in rnnsearch_tf.__all__}


def test_every_module_has_a_room():
    assert sorted(ORDER) == sorted(PATHS), set(ORDER) ^ set(PATHS)


@pytest.mark.parametrize("module", PATHS)
def test_imports_point_down(module):
    before = set(ORDER[: ORDER.index(module)])
    assert our_modules(module) <= before, f"{module} imports {our_modules(module) - before}"


@pytest.mark.parametrize("module", [m for m in PATHS if part(m) in WITHOUT_TENSORFLOW])
def test_layers_models_and_client_import_no_tensorflow(module):
    for name in imported(module, inside_functions=False):
        assert name.split(".")[0] not in ("tensorflow", "tensorflow_datasets")


@pytest.mark.parametrize("module", [m for m in PATHS if part(m) != "scripts"])
def test_only_scripts_know_flags(module):
    assert not imported(module) & {"absl.flags", "absl.app", "argparse", "optparse"}


@pytest.mark.parametrize("module", PATHS)
def test_every_module_has_a_name_that_says_something(module):
    assert not FORBIDDEN_NAMES & set(module.split("."))


# --- Windows --------------------------------------------------------------------------------------

NOT_ON_WINDOWS = {"fcntl", "grp", "pty", "pwd", "resource", "termios", "tty"}


def needs_posix(path: Path) -> bool:
    """Whether importing a file imports what Windows lacks, and skips no test."""
    tree = ast.parse(path.read_text("utf-8"))
    nodes = list(import_nodes(tree, False))
    names = {alias.name for node in nodes for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}
    if not names & NOT_ON_WINDOWS:
        return False
    skips = {f"pytest.importorskip({name!r}" for name in NOT_ON_WINDOWS}
    return not any(skip in ast.unparse(node) for node in tree.body for skip in skips)


def test_windows_can_import_all_modules_and_tests():
    files = [*PATHS.values(), *Path(__file__).parent.rglob("*.py")]
    assert [path for path in files if needs_posix(path)] == []
