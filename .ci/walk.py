"""End-to-end checks of an installed wheel, as student, practitioner, operator, Keras engineer.

Usage: walk.py TEST_PYTHON CLIENT_BIN STAND_INS, in an empty folder: a Python with the packages of
the tests, the commands of an environment of the client alone, and tests/stand_ins.
"""

import json
import subprocess
import sys
import time
from pathlib import Path

TEST_PYTHON, CLIENT_BIN, STAND_INS = sys.argv[1:]
SIZES = [f"--{name}_size=32" for name in ("embedding", "hidden", "attention", "maxout")]
SERVER = """
import os, sys, tfserving
with tfserving.running(os.path.abspath("exports")) as server:
    print(server.grpc, server.rest, flush=True)
    sys.stdin.read()
"""


def run(*command: str, status: int = 0, text: str = "", told: str = "") -> str:
    """Run a command as a user does, with what it prints shown; return its output."""
    started = time.monotonic()
    done = subprocess.run(command, input=text, capture_output=True, encoding="utf-8", check=False)
    print(f"$ {' '.join(command)}   [{time.monotonic() - started:.1f} s]")
    for line in (done.stdout + done.stderr).splitlines()[-6:]:
        print(f"    {line}")
    assert done.returncode == status, (done.returncode, done.stdout, done.stderr)
    assert told in done.stderr, (told, done.stderr)
    return done.stdout


def student() -> None:
    """Look at an equation in the code, and at what the attention of a layer does."""
    print("== student")
    import numpy as np

    import rnnsearch_tf
    from rnnsearch_tf import BahdanauAttention

    print(rnnsearch_tf.__version__, BahdanauAttention.__doc__.splitlines()[0])
    annotations = np.random.rand(2, 3, 8).astype("float32")
    context, weights = BahdanauAttention(5)(np.ones((2, 4), "float32"), annotations)
    assert abs(float(np.sum(weights)) - 2) < 1e-5 and context.shape == (2, 8)


def practitioner() -> None:
    """Train on own text, translate, align, evaluate; figures need an extra."""
    print("== practitioner")
    from rnnsearch_tf.synthetic.grammar import generate

    for name, count, seed in (("train", 300, 1), ("valid", 10, 2)):
        pairs = list(generate(count, seed, 1, 8))
        Path(f"{name}.en").write_text("".join(f"{p.source}\n" for p in pairs), "utf-8")
        Path(f"{name}.fr").write_text("".join(f"{p.target}\n" for p in pairs), "utf-8")
    files = [
        f"--{part}_{side}={part}.{language}"
        for part in ("train", "valid")
        for side, language in (("source", "en"), ("target", "fr"))
    ]
    train = ["rnnsearch-train", "--preset=rnnsearch-tiny", "--model_dir=model", *files, *SIZES]
    run("rnnsearch-train", "--model_dir=model", *files[1:], status=2, told="--train_source")
    run(*train, "--max_updates=4", "--max_length=10")
    model = "--model_dir=model"
    needed = 'pip install "rnnsearch-tf[subwords] @ git+'
    run("rnnsearch-translate", text="It is cold.\n", status=1, told=needed)  # the pretrained model
    lines = run("rnnsearch-translate", model, text="The man is here.\n\nIt is cold.\n").split("\n")
    assert len(lines) == 4 and not lines[1]
    run("rnnsearch-align", model, "--source=valid.en", "--target=valid.fr", "--output=links")
    run("rnnsearch-evaluate", model, "--source=valid.en", "--reference=valid.fr")
    run(
        *("rnnsearch-translate", model, "--figures=figures"),
        status=1,
        told='pip install "rnnsearch-tf[plot] @ git+',
    )


def operator() -> None:
    """Export, write the files around the server, and call it without TensorFlow."""
    print("== operator")
    run("rnnsearch-export", "--model_dir=model", "--export_dir=exports", "--kit=serving")
    assert Path("serving/docker-compose.yml").exists() and Path("serving/page/index.html").exists()
    with subprocess.Popen(
        [TEST_PYTHON, "-c", SERVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={"PYTHONPATH": STAND_INS, "PATH": "/usr/bin:/bin"},
    ) as server:
        assert server.stdin and server.stdout
        grpc, rest = server.stdout.readline().split()
        client = f"{CLIENT_BIN}/rnnsearch-client"
        for url in (f"grpc://{grpc}", rest):
            run(client, f"--server={url}", "--status")
            run(client, f"--server={url}", text="The man is here.\n")
            found = run(client, f"--server={url}", "--signature=align", text="It is cold.\n")
            assert json.loads(found)["hypotheses"][0]["alignment"]
        server.stdin.close()
    run(
        f"{CLIENT_BIN}/rnnsearch-translate",
        "--model_dir=model",
        status=1,
        told="is not installed: pip install",
    )
    run(
        f"{CLIENT_BIN}/python",
        "-c",
        "import time; t = time.time(); import rnnsearch_tf.client.grpc_transport;"
        "print(f'import {time.time() - t:.2f} s')",
    )


def keras_engineer() -> None:
    """Train a model of their own with the package's layers."""
    print("== Keras engineer")
    import keras
    import numpy as np

    from rnnsearch_tf import BahdanauAttention, Encoder

    ids = keras.Input((None,), dtype="int32")
    annotations, summary = Encoder(vocabulary_size=20, embedding_size=6, units=7)(ids)
    context, _ = BahdanauAttention(5)(summary, annotations)
    model = keras.Model(ids, keras.layers.Dense(1)(context))
    model.compile("adam", "mse")
    sentences = np.random.randint(4, 20, (8, 5))
    sentences[:, -1] = 1  # </s>
    losses = model.fit(sentences, np.ones(8), epochs=3, verbose=0).history["loss"]
    assert losses[-1] < losses[0], losses
    model.save_weights("own.weights.h5")
    print(f"    keras {keras.__version__}: losses {losses}")


for walk in (student, practitioner, operator, keras_engineer):
    walk()
