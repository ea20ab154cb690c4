"""A training run of seconds: its text and its flags."""

from pathlib import Path

SIZES = (
    "--source_vocabulary_size=200",
    "--target_vocabulary_size=200",
    "--embedding_size=8",
    "--hidden_size=11",
    "--attention_size=7",
    "--maxout_size=5",
    "--batch_size=32",
)


def write_corpus(folder: Path) -> None:
    """Write train.{en,fr,links} and valid.{en,fr,links} from the built-in grammar."""
    from rnnsearch_tf.synthetic.grammar import generate

    for name, count, seed in (("train", 300, 1), ("valid", 20, 2)):
        pairs = list(generate(count, seed, 1, 12))
        (folder / f"{name}.en").write_text("".join(p.source + "\n" for p in pairs), "utf-8")
        (folder / f"{name}.fr").write_text("".join(p.target + "\n" for p in pairs), "utf-8")
        links = [" ".join(f"{i}-{j}" for i, j in sorted(p.alignment)) for p in pairs]
        (folder / f"{name}.links").write_text("".join(line + "\n" for line in links), "utf-8")


def training_flags(corpus: Path, preset: str = "rnnsearch-tiny") -> list[str]:
    """Return flags of `rnnsearch-train`; --model_dir is left out."""
    files = [
        f"--{part}_{side}={corpus / part}.{language}"
        for part in ("train", "valid")
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    return [*files, f"--preset={preset}", *SIZES, "--epochs=1"]
