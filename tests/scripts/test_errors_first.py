"""What is wrong is told before TensorFlow is imported."""

import json
import lzma
import subprocess
import sys
from pathlib import Path

import pytest
from scripted_engine import made_model

CODE = """
import contextlib, importlib, io, json, sys

class NoTensorFlow:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("tensorflow", "keras"):
            raise AssertionError(f"{name} is imported")

sys.meta_path.insert(0, NoTensorFlow())
said = []
for name, flags in json.load(sys.stdin):
    script = importlib.import_module(f"rnnsearch_tf.scripts.{name}")
    with contextlib.redirect_stderr(io.StringIO()) as errors:
        status = script.run(flags)
    said.append([status, errors.getvalue()])
json.dump(said, sys.stdout)
"""

PAIRS = ["--source=en", "--target=fr"]
TEST = ["--source=en", "--reference=fr"]
TEXT = ["--train_source=en", "--train_target=fr"]
TRAIN = [*TEXT, "--model_dir=new"]
MODEL = "--model_dir=model"
OTHER = ["translate", "score", "align", "evaluate", "lexicon", "export"]
NEEDED = {
    "translate": ["--input=en"], "score": PAIRS, "align": PAIRS, "evaluate": TEST,
    "lexicon": PAIRS, "export": ["--export_dir=exports"],
}  # fmt: skip

CASES = [
    *((name, [f"--model_dir={folder}", *NEEDED[name]], message) for name in OTHER
      for folder, message in {
          "none": "none: no such model directory",
          "empty": "no config.json",
          "broken": "config.json: not JSON",
          "no_words": "source.vocab: No such file",
          "no_weights": "no best.weights.h5",
      }.items()),
    *((name, [MODEL, *NEEDED[name][:-1], f"{NEEDED[name][-1].partition('=')[0]}=none"],
       "none: No such file or directory") for name in OTHER if name != "export"),
    ("translate", [MODEL, "--input=binary"], "--input binary: binary, compressed, or UTF-16"),
    ("translate", [MODEL, "--input=bad.gz"], "bad.gz: not a complete gzip file"),
    ("translate", [MODEL, "--input=packed"], "--input packed: binary, compressed, or"),
    ("translate", [MODEL, "--input=empty"], "empty: Is a directory"),
    ("translate", [f"{MODEL},other", "--input=en"], "other: other vocabularies than model"),
    ("translate", [f"{MODEL},german", "--input=en"], "german: other source_language (de) than mod"),
    ("translate", [f"{MODEL},graphs", "--input=en"], "graphs is an export: an ensemble takes"),
    ("align", [MODEL, *PAIRS, "--reverse_model_dir=none"], "none: no such model directory"),
    ("evaluate", [MODEL, *TEST, "--system=none"], "--system none: No such file"),
    ("evaluate", [MODEL, *TEST, "--system=x:none"], "--system x:none: No such file"),
    ("evaluate", [MODEL, *TEST, "--system=moses:none"], "--system none: No such file"),
    ("evaluate", [MODEL, *TEST, "--system=moses:short"], "short has 1 lines, the source has 2"),
    ("evaluate", [MODEL, *TEST, "--system=moses:empty"], "no config.json"),
    ("evaluate", [MODEL, *TEST, "--hypotheses=short"], "short has 1 lines, the source has 2"),
    ("evaluate", [MODEL, *TEST, "--reference=short"], "short has 1 lines, the source has 2"),
    ("evaluate", [MODEL, *TEST, "--alignments=none"], "--alignments none: No such file"),
    ("evaluate", [MODEL, "--tsv=en"], "en: line 1 has no tab"),
    *((name, [MODEL, *NEEDED[name], "--candidate_words=9"], "rnnsearch-lexicon learns it")
      for name in ("translate", "evaluate", "export")),
    ("export", [MODEL, "--export_dir=exports", "--version=1"], "nothing was overwritten"),
    ("translate", ["--flagfile=flags"], "none: no such model directory"),
    ("client", ["--input=none"], "--input none: No such file"),
    ("client", ["--ca_certificate=none"], "--ca_certificate none: No such file"),
    ("plot", ["--model_dir=none", "--output=a.png"], "none: no such model directory"),
    ("plot", ["--evaluations=none", "--output=a.png"], "none: No such file"),
    ("plot", ["--evaluations=bad.yaml", "--output=a.png"], "bad.yaml: not JSON"),
    *(("train", [*TEXT, f"--model_dir={folder}/new"],
       f"--model_dir {folder}/new: {folder}: cannot be written")
      for folder in ["/proc"] if Path("/proc").exists()),
    ("reproduce", ["--data=none"], "none/train.en: no such file"),
    ("reproduce", ["--data=empty"], "empty/train.en: no such file"),
    ("select", ["--in_domain_source=none"], "none: No such file"),
    ("demo", ["--output=en"], "--output en: "),
    ("train", ["--train_source=en", "--train_target=none", "--model_dir=new"],
     "--train_target none: No such file"),
    ("train", [*TRAIN, "--valid_source=en", "--valid_target=short"], "short has 1"),
    ("train", [*TRAIN, "--config=bad.yaml"], "unknown field hiden_size (did you mean hidden_s"),
    ("train", [*TRAIN, "--config=adadelta.yaml"], "0.0015 is that of adam"),
    ("train", [*TRAIN, "--tokenizer=sentencepiece", "--subword_models=none"],
     "--subword_models none: No such file"),
    ("train", [*TRAIN, "--train_alignments=none"], "--train_alignments none: No such file"),
    ("train", [*TRAIN, "--strategy=multi_worker"], "TF_CONFIG is not {"),
    ("train", [*TEXT, MODEL, "--tokenizer=whitespace", "--preset=rnnsearch-50", "--hidden_size=7"],
     "hidden_size is 1000, not 7; resume it with --config="),
    ("train", [*TEXT, MODEL, "--preset=rnnencdec-50"], "architecture is rnnsearch, not rnnencdec"),
]  # fmt: skip

USAGE = [
    ("train", [*TEXT, "--model_dir=lr=1,bs=2"], "must not contain a comma"),
    ("train", [*TRAIN, "--train_source=fr"], "--train_source is given 2 times: separate files"),
    ("train", [*TRAIN, "--optimizer=adadelta"], "0.0015 is that of adam"),
    ("train", [*TRAIN, "--config=adam.yaml", "--optimizer=adadelta"], "0.0003 is that of adam"),
    ("train", ["--flagfile=twice"], "--train_source is given 2 times: separate files"),
    ("train", ["--flagfile", "twice"], "--train_source is given 2 times: separate files"),
    ("score", ["--flagfile=no_value"], "--output has no value: --word_scores follows it"),
    ("score", [MODEL, *PAIRS, "--flagfile="], "--flagfile is empty"),
    ("translate", [MODEL, "--input=en", "--input=fr"], "--input is given 2 times: it takes one"),
    ("translate", ["--no-correct_spelling"], "(did you mean --nocorrect_spelling?)"),
    ("translate", ["--corect_spelling"], "(did you mean --correct_spelling?)"),
    ("translate", ["stray"], "unexpected argument 'stray'"),
    ("plot", [MODEL, "--evaluations=en", "--output=a.png"],
     "--evaluations cannot be combined with --model_dir"),
    ("train", ["--flagfile"], "--flagfile with no argument"),
    ("train", [*TRAIN, "--noprint_config=true"], "--noprint_config=true does not take an argument"),
    ("plot", [MODEL, "--model_dir=other", "--output=a.png"], "--model_dir is given 2 times"),
    ("train", [*TRAIN, "--subwords=300"], "--subwords needs --tokenizer=sentencepiece"),
    ("lexicon", [f"{MODEL},model", *PAIRS], "one model is needed, not an ensemble"),
    ("train", [*TRAIN, "--data_dir=x"], "--data_dir needs --wmt14"),
    *((name, [], "required: ") for name in [*OTHER[1:], "publish", "plot", "reproduce"]),
    *((name, [], "required: ") for name in ["select", "train"]),
    ("translate", [MODEL, "--beam_size=2", "--n_best=3"], "n_best 3: must be from 1 to"),
    ("score", [MODEL, "--tsv=en", "--source=en"], "--tsv cannot be combined with"),
    ("score", [MODEL, "--source=en"], "--source and --target must be given together"),
    ("train", ["--train_source=en", "--train_target=en", "--model_dir=new"],
     "--train_target en: --train_source names the same"),
    ("train", ["--train_source=en,fr", "--train_target=fr,./fr", "--model_dir=new"],
     "--train_target ./fr: --train_source names the same file"),
    ("train", [*TRAIN, "--valid_source=en", "--valid_target=./en"],
     "--valid_target ./en: --valid_source names the same file"),
    ("export", [MODEL, "--export_dir=exports", "--weights_dtype=int8"], "choose one of float32"),
    ("train", [*TRAIN, "--valid_source=en"],
     "--valid_source and --valid_target must be given together"),
    ("train", [*TRAIN, "--valid_split=1.5"], "--valid_split 1.5: must be a whole number"),
    ("train", ["--train_source=en,./en", "--train_target=fr,fr", "--model_dir=new",
               "--valid_split=9"], "give each training file only once"),
    ("train", [*TRAIN, "--wmt14=all"], "--wmt14 cannot be combined with"),
    ("train", [*TRAIN, "--preset=none"], "--preset none: choose one of"),
    ("train", [*TRAIN, "--train_alignments=en"], "needs a --guided_alignment_weight"),
    ("train", [*TRAIN, "--strategy=multi_worker", "--workers=a,b"],
     "--workers and --worker_index must be given together"),
    ("train", [*TRAIN, "--strategy=multi_worker", "--workers=a,b", "--worker_index=2"],
     "--worker_index 2: of 2 workers, the last is 1"),
    ("train", [*TRAIN, "--r_drop=3", "--dropout=0"], "--r_drop needs a --dropout above 0"),
    ("train", [*TRAIN, "--r_drop=1", "--jit_compile"],
     "--r_drop cannot be combined with --jit_compile"),
    ("train", [*TRAIN, "--workers=a,b"], "--workers needs --strategy=multi_worker"),
    ("train", [*TRAIN, "--worker_index=-1"], "--worker_index -1: must be at least 0"),
    ("train", [*TRAIN, "--tokenizer=sentencepiece", "--joint_subwords", "--subword_models=en,fr"],
     "--subword_models has one model for each side"),
    ("train", [*TRAIN, "--subword_sampling=0.1"], "needs --tokenizer=sentencepiece"),
    ("train", [*TRAIN, "--letter_noise=0.1"], "--letter_noise needs --tokenizer=sentencepiece"),
    ("train", [*TRAIN, "--early_stopping=bleu"], "--early_stopping needs a validation set"),
    ("train", [*TRAIN, "--source_language=fi"], "train with --tokenizer=sentencepiece, or"),
    ("train", [*TRAIN, "--trian_source=en"], "unknown flag --trian_source (did you mean --train_s"),
    ("evaluate", [MODEL, *TEST, "--system=fr:en", "--system=fr:fr"], "two systems named fr"),
    ("evaluate", [MODEL, *TEST, "--system=X:fr"], "X:fr: a name has at least two characters"),
    ("evaluate", [MODEL, *TEST, "--compare=fr"], "--compare is now --system"),
    ("align", [MODEL], "required: --source and --target, or --tsv"),
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the flags name."""
    path = tmp_path_factory.mktemp("files")
    for name in ("model", "no_words", "no_weights"):
        made_model(path / name)
    (path / "model/checkpoints").mkdir()
    (path / "model/checkpoints/ckpt-1.index").touch()
    made_model(path / "other", ["another"])
    made_model(path / "german", source_language="de")
    (path / "no_words/source.vocab").unlink()
    (path / "no_weights/best.weights.h5").unlink()
    (path / "broken").mkdir()
    (path / "broken/config.json").write_text("{")
    (path / "empty").mkdir()
    (path / "exports/1").mkdir(parents=True)
    (path / "graphs/1").mkdir(parents=True)
    (path / "graphs/1/saved_model.pb").touch()
    (path / "en").write_text("line 1\nline 2\n")
    (path / "fr").write_text("line 3\nline 4\n")
    (path / "short").write_text("line 3\n")
    (path / "binary").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    (path / "bad.gz").write_bytes(b"plain")
    (path / "packed").write_bytes(lzma.compress(b"text"))
    (path / "bad.yaml").write_text("model:\n  hiden_size: 3\n")
    (path / "adadelta.yaml").write_text("training:\n  optimizer: adadelta\n")
    (path / "adam.yaml").write_text("training: {optimizer: adam, learning_rate: 3e-4}\n")
    (path / "flags").write_text("--model_dir=none\n", "utf-8-sig")
    (path / "no_value").write_text("--model_dir=model\n--output\n--word_scores\n")
    (path / "twice").write_text("--train_source=en\n--train_source=fr\n")
    return path


def test_errors_are_told_first(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TF_CONFIG", "{}")
    finished = subprocess.run(
        [sys.executable, "-c", CODE],
        input=json.dumps([[name, flags] for name, flags, _ in [*CASES, *USAGE]]),
        cwd=folder, capture_output=True, check=False, text=True,
    )  # fmt: skip
    assert finished.returncode == 0, finished.stderr
    for i, ((name, flags, message), (status, said)) in enumerate(
        zip([*CASES, *USAGE], json.loads(finished.stdout), strict=True)
    ):
        assert status == (1 if i < len(CASES) else 2), (name, flags, status, said)
        assert message in said, (name, flags, said)
        assert said.count("\n") == 1, said
