"""A server of the page whose every answer is decided by a test, and a model that is no model.

The model's translations are the words in capitals, its weights are drawn by chance. It knows all
words but one.
"""

import json
import re
import threading
from collections.abc import Callable
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

EXPORT = Path(__file__).parents[2] / "export"
PAGE = EXPORT / "page"
# What nginx.conf adds to every answer.
HEADERS = dict(
    re.findall(r'^ *add_header (\S+) "?(.*?)"? always;', (EXPORT / "nginx.conf").read_text(), re.M)
)
LOWEST = -3.4028235e38
READ = {"platypus": "[UNK]", "wmoan": "woman"}
BEYOND = "…"  # stands for a token that is not read
Answer = tuple[int, Any]  # an HTTP status, and JSON or the bytes themselves


def weights(line: str) -> np.ndarray:
    """α [Ty, Tx] of a line, the same at each call, with </s>."""
    words = len(line.split()) + 1
    logits = np.random.default_rng(len(line)).normal(0, 2, (words, words)) + 4 * np.eye(words)
    exponents = np.exp(logits)
    return np.float32(exponents / exponents.sum(1, keepdims=True))


def align(lines: list[str]) -> Answer:
    width = max(len(line.split()) for line in lines) + 3  # two more of padding for the longest
    predictions = []
    for line in lines:
        tokens = [*line.split(), "</s>"]
        padding = width - len(tokens)
        predictions.append(
            {
                "translation": line.upper(),
                "score": -float(len(line)),
                "source_tokens": tokens + [""] * padding,
                "model_input": [READ.get(t, t) for t in tokens] + [""] * padding,
                "target_tokens": [*line.upper().split(), "</s>"] + [""] * padding,
                "word_scores": word_scores(len(tokens)) + [0.0] * padding,
                "alignment": np.pad(weights(line), (0, padding)).tolist(),
                "left_out": float(line.count(BEYOND)),
            }
        )
    return 200, {"predictions": predictions}


def word_scores(count: int) -> list[float]:
    """Probabilities of 1, 1/2, 1/3, ... in nats."""
    return [-float(np.log(i + 1)) for i in range(count)]


def nbest(lines: list[str]) -> Answer:
    predictions = [
        {
            "translations": [line.upper(), f"{line.upper()} BIS", ""],
            "scores": [-float(len(line)), -float(len(line)) - 2.5, LOWEST],
            "normalized_scores": [-1.25, -1.5, LOWEST],
            "words": [[*line.upper().split(), *more, "</s>"] for more in ([], ["BIS"])] + [[""]],
            "word_scores": [word_scores(len(line.split()) + more) for more in (1, 2)] + [[0.0]],
        }
        for line in lines
    ]
    return 200, {"predictions": predictions}


def complete(instances: list[Any]) -> Answer:
    """Two ways to go on with one word, one with another, and one that ends."""
    predictions = []
    for instance in instances:
        before = instance["prefix"].split()
        ways = ["A B", "A C", "D", ""]
        texts = [" ".join([*before, *way.split()]) for way in ways]
        words = [[*text.split(), "</s>"] for text in texts]
        scores = [-1.0 - i for i in range(len(ways))]
        predictions.append(
            {
                "translations": texts, "scores": scores, "normalized_scores": scores,
                "words": words, "word_scores": [word_scores(len(row)) for row in words],
            }
        )  # fmt: skip
    return 200, {"predictions": predictions}


def plain(lines: list[str]) -> Answer:
    return 200, {"predictions": [{"translation": x.upper(), "score": -1.0} for x in lines]}


def describe(lines: list[str]) -> Answer:
    told = {"source_language": "en", "target_language": "fr"}
    told |= {"alignment": "attention", "completions": "yes"}
    return 200, {"predictions": [told] * len(lines)}


def without(signature: str) -> Answer:
    text = f'Serving signature name: "{signature}" not found in signature def'
    return 400, {"error": text}


def state(name: str, message: str = "") -> Answer:
    code = "UNKNOWN" if message else "OK"
    status = {"error_code": code, "error_message": message}
    return 200, {"model_version_status": [{"version": "1", "state": name, "status": status}]}


class Half(bytes):
    """The first half of an answer, behind which the connection ends."""


class Server(ThreadingHTTPServer):
    """Serves the page, and answers of `signatures` and `status`; notes all that it is asked."""

    daemon_threads = True

    def __init__(self, port: int = 0, cors: bool = False):
        super().__init__(("127.0.0.1", port), partial(Handler, directory=str(PAGE)))
        self.cors = cors
        self.signatures: dict[str, Callable[[list[str]], Answer]] = {
            "align": align,
            "nbest": nbest,
            "complete": complete,
            "serving_default": plain,
            "describe": describe,
        }
        self.status: Answer = state("AVAILABLE")
        self.asked: list[tuple[str, str, list[str]]] = []  # path, signature, lines
        self.held: dict[str, threading.Event] = {}  # lines whose answer waits
        self.thread = threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def texts(self) -> list[list[str]]:
        """The lines of each call that has some."""
        return [lines for _, _, lines in self.asked if any(lines)]

    def lines(self, signature: str = "align") -> list[list[str]]:
        return [lines for _, name, lines in self.asked if name == signature]

    def hold(self, line: str) -> threading.Event:
        return self.held.setdefault(line, threading.Event())

    def stop(self) -> None:
        for event in self.held.values():
            event.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        pass  # a browser that has aborted a request reads no answer


class Handler(SimpleHTTPRequestHandler):
    server: Server

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def do_GET(self) -> None:
        if not self.path.startswith("/v1/"):
            return super().do_GET()
        self.server.asked.append((self.path, "", []))
        self.answer(*self.server.status)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        signature, lines = body["signature_name"], body["instances"]
        self.server.asked.append((self.path, signature, lines))
        first = lines[0] if isinstance(lines[0], str) else lines[0]["text"]
        if event := self.server.held.get(first):
            event.wait(60)
        self.answer(*self.server.signatures[signature](lines))

    def answer(self, status: int, content: Any) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) * (2 if isinstance(body, Half) else 1)))
        if self.server.cors:
            self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass
