"""The notebooks in colab/: clean, installable from anywhere, and executed end to end."""

import importlib.metadata
import json
import re
import shlex
from pathlib import Path

import nbformat
import pytest
from IPython.core.inputtransformer2 import TransformerManager
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient

COLAB = Path(__file__).parent.parent / "colab"
NAMES = ("train", "attention", "serving", "layers")
PNG = b"\x89PNG"
SECONDS = 600  # a safety net: for a cell

for_each = pytest.mark.parametrize("name", NAMES)


def read(name):
    return nbformat.read(COLAB / f"{name}.ipynb", as_version=nbformat.NO_CONVERT)


def code_of(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def repository(notebook):
    address = re.search(r'REPOSITORY = "(.+?)"', notebook.cells[2].source)
    assert address is not None
    return address[1]


def test_these_are_all():
    assert {path.stem for path in COLAB.glob("*.ipynb")} == set(NAMES)


@for_each
def test_valid_and_without_outputs(name):
    notebook = read(name)
    nbformat.validate(notebook)
    assert notebook.metadata == {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in code_of(notebook):
        assert cell.outputs == []
        assert cell.execution_count is None
    tags = [cell.metadata for cell in notebook.cells if cell.metadata]
    assert tags == [{"tags": ["parameters"]}]


@for_each
def test_the_badge_opens_this_notebook(name):
    notebook = read(name)
    path = repository(notebook).removeprefix("https://github.com/")
    address = f"https://colab.research.google.com/github/{path}/blob/main/colab/{name}.ipynb"
    image = "https://colab.research.google.com/assets/colab-badge.svg"
    assert notebook.cells[0].source.startswith(f"[![Open in Colab]({image})]({address})\n")


@for_each
def test_no_path_of_a_private_machine(name):
    text = (COLAB / f"{name}.ipynb").read_text("utf-8")
    assert not re.search(r"(?<![\w.])/(home|Users|root|work|mnt|tmp|opt|data)/|[A-Z]:\\\\", text)


def install(name, monkeypatch, is_installed, folder, pip_succeeds=True):
    """Run the cell that installs in a folder; return the arguments that pip was given, if any."""
    given: list[str] = []

    def version(package):
        if not (is_installed or (given and pip_succeeds)):
            raise importlib.metadata.PackageNotFoundError(package)
        return "0.2.0"

    class Shell:
        def run_line_magic(self, magic, line):
            given.append(line)
            assert magic == "pip"

        def var_expand(self, line, **_):
            return line

    namespace = {"get_ipython": Shell}
    source = TransformerManager().transform_cell(code_of(read(name))[0].source)
    with monkeypatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(importlib.metadata, "version", version)
        exec(source, namespace)
    # IPython puts the variable's value in.
    return [line.replace("{package}", str(namespace["package"])) for line in given]


@for_each
def test_installs_the_checkout_or_the_repository(name, monkeypatch, tmp_path):
    remote = f"rnnsearch-tf[plot,subwords] @ git+{repository(read(name))}"
    assert install(name, monkeypatch, True, tmp_path) == []
    assert install(name, monkeypatch, False, tmp_path) == [f'install --quiet "{remote}"']
    for folder in (COLAB, COLAB.parent):
        asked = install(name, monkeypatch, False, folder)
        assert asked == [f'install --quiet "{COLAB.parent}[plot,subwords]"']


@for_each
def test_what_cannot_be_installed_is_told_in_a_line(name, monkeypatch, tmp_path):
    with pytest.raises(SystemExit) as stopped:
        install(name, monkeypatch, False, tmp_path, pip_succeeds=False)
    message = str(stopped.value)
    remote = f"rnnsearch-tf[plot,subwords] @ git+{repository(read(name))}"
    assert message.startswith(f"{remote} could not be installed: set REPOSITORY")
    assert "\n" not in message


AS_TESTS_DO = f"""
import gc, sys
sys.path.insert(0, {str(Path(__file__).parent / "stand_ins")!r})
import pytest, quick_graphs, scripted_train_step
quick_graphs.install()
scripted_train_step.use(pytest.MonkeyPatch())
gc.freeze()
gc.set_threshold(50_000, 10, 10)
"""


# In place of an export, a copy of one: to make it takes longer than the rest of the notebook.
COPY = """
from unittest import mock
from rnnsearch_tf.serving import export
def copy(models, folder):
    import pathlib, shutil  # anew: a notebook begins with an empty namespace
    assert models == [{model!r}]
    return shutil.copytree({version!r}, pathlib.Path(folder, "1"))
export.export = mock.create_autospec(export.export, side_effect=copy)
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """The kernel of all notebooks: each would start TensorFlow anew."""
    folder = str(tmp_path_factory.mktemp("jupyter"))
    names = ("JUPYTER_DATA_DIR", "JUPYTER_CONFIG_DIR", "JUPYTER_RUNTIME_DIR", "IPYTHONDIR")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            patch.setenv(name, folder)
        manager = KernelManager(kernel_name="python3")
        manager.start_kernel()
        client = manager.blocking_client()
        client.start_channels()
        client.execute(AS_TESTS_DO, reply=True, timeout=SECONDS)
        client.stop_channels()
        yield manager
        manager.shutdown_kernel(now=True)


@pytest.fixture
def execute(kernel, tmp_path, monkeypatch):
    """Run a notebook in an empty folder with other parameters; return its outputs by cell id.

    A script makes the updates of models in training.
    """
    monkeypatch.chdir(tmp_path)

    def run(name, before="", **parameters):
        notebook = read(name)
        place = next(i for i, cell in enumerate(notebook.cells) if cell.metadata.get("tags"))
        defined = re.findall(r"^(\w+) = |^(\w+), (\w+) = ", notebook.cells[place].source, re.M)
        assert set(parameters) <= {key for keys in defined for key in keys}
        lines = "\n".join(f"{key} = {value!r}" for key, value in parameters.items())
        notebook.cells.insert(place + 1, nbformat.v4.new_code_cell(lines))
        first = f"{before}\n%reset -f\n%cd -q {tmp_path}"
        notebook.cells.insert(0, nbformat.v4.new_code_cell(first))
        NotebookClient(notebook, kernel, timeout=SECONDS).execute()
        return {cell.id: cell.outputs for cell in code_of(notebook)}

    return run


def printed(outputs, stream="stdout"):
    return "".join(
        out.text for out in outputs if out.output_type == "stream" and out.name == stream
    )


@pytest.mark.slow
def test_train(execute):
    outputs = execute("train", GRAMMAR_PAIRS={"train": 300, "valid": 10}, EPOCHS=2)
    assert len(printed(outputs["look"]).splitlines()) == 10
    assert "nothing is left to do" not in printed(outputs["train"], "stderr")
    assert "nothing is left to do" in printed(outputs["resume"], "stderr")
    assert len(re.findall("nats per token, BLEU", printed(outputs["records"]))) == 2
    assert Path("training.png").read_bytes().startswith(PNG)
    assert "image/png" in outputs["draw-curves"][0].data
    assert printed(outputs["translate"]).count("(reference)") == 5
    assert printed(outputs["translate"]).startswith("Translator(rnnsearch, en → fr, ")
    assert "<svg" in outputs["n-best"][0].data["text/html"]
    assert ", 3 hypotheses, α " in outputs["n-best"][0].data["text/plain"]
    assert str(Path("model", "best.weights.h5")) in printed(outputs["list-directory"]).split()


@pytest.mark.slow
def test_attention(execute, model_dir):
    outputs = execute(
        "attention",
        RNNSEARCH_DIR=str(model_dir),
        MORE_SENTENCES=["She does not sleep."],
        TRAINING_PAIRS=300,
        EPOCHS=1,
        PAIRS_PER_BIN=1,
    )
    assert Path("rnnencdec-300", "last.weights.h5").exists()
    assert not Path("rnnsearch-300").exists()
    at_once = outputs["at-once"][0].data
    assert "<svg" in at_once["text/html"]
    for word in ("accord", "économique européen", "signé", "août 1992"):  # by the pretrained model
        assert word.lower() in at_once["text/plain"].lower()
    assert "<svg" in outputs["load"][0].data["text/html"]
    weights = re.findall(r"α = (0\.\d+)$", printed(outputs["attention-by-hand"]), re.M)
    assert len(weights) == 10
    assert sum(map(float, weights)) == pytest.approx(1, abs=0.01)
    assert len(re.findall(r"p = 0\.\d+", printed(outputs["readout-by-hand"]))) == 5
    assert "α = " in printed(outputs["watch"])
    shown = [output.data["text/plain"] for output in outputs["show-attention"]]
    names = [re.findall(r"def (\w+)", code)[0] for code in shown]
    assert names == ["align", "masked_softmax", "call"]
    for number in (1, 2):
        assert Path(f"alignment_{number}.png").read_bytes().startswith(PNG)
    frame = outputs["show-page"][0].data["text/html"]
    assert "<iframe srcdoc=" in frame
    assert "She does not sleep." not in frame  # it shows tokens
    assert "&quot;sleep&quot;" in frame
    assert re.match(r"AER \d\.\d{3}, of \d+ links in 5 sentence pairs", printed(outputs["links"]))
    assert Path("bleu_by_length.png").read_bytes().startswith(PNG)
    assert "RNNencdec: " in printed(outputs["long-sentence"])


@pytest.mark.slow
@pytest.mark.serving
def test_serving(execute, model_dir, export_dir, served):
    copy = COPY.format(model=str(model_dir), version=str(export_dir / "1"))
    outputs = execute("serving", copy, MODEL_DIR=str(model_dir), SERVER=served.rest)
    assert str(Path("exports", "1", "saved_model.pb")) in printed(outputs["write-export"]).split()
    assert not printed(outputs["list-signatures"], "stderr")
    signatures = re.findall(r"^\w+", printed(outputs["list-signatures"]), re.M)
    assert sorted(signatures) == ["align", "describe", "nbest", "score", "serving_default"]
    assert len(printed(outputs["call-default"]).splitlines()) == 2
    assert printed(outputs["call-align"]).splitlines()[-1].lstrip().startswith("</s>  <-  ")
    assert len(printed(outputs["call-nbest"]).splitlines()) == 3  # the export's beam
    assert len(printed(outputs["call-score"]).splitlines()) == 2
    bodies = [json.loads(shlex.split(line)[-1]) for line in curl_lines(outputs["requests"])]
    assert [body.get("signature_name") for body in bodies] == [None, "align", "nbest", "score"]
    answers = re.findall(r'^(\w+): {"predictions": \[', printed(outputs["ask-server"]), re.M)
    assert answers == ["serving_default", "align", "nbest", "score"]
    assert "Client(http://" in printed(outputs["ask-server"])
    assert len(re.findall(r"^ *-\d+\.\d{3}  ", printed(outputs["ask-server"]), re.M)) == 2


@pytest.mark.slow
def test_layers(execute):
    outputs = execute("layers", PAIRS=20, EPOCHS=1, UNITS=4, DATES=["1 May"])
    assert Path("date_1.png").read_bytes().startswith(PNG)
    assert "image/png" in outputs["draw"][0].data
    assert printed(outputs["save"]) == printed(outputs["write"])


def curl_lines(outputs):
    return [line for line in printed(outputs).splitlines() if line.startswith("curl ")]
