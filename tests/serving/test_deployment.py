"""The files in export/: that they hold together, and that their README asks for what there is."""

import json
import re
import shlex
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from tfserving.batching_parameters import BatchingParameters, read_batching_parameters
from tfserving.model_config import read_model_config

EXPORT = Path(__file__).parents[2] / "export"
README = (EXPORT / "README.md").read_text("utf-8")

# Flags that TensorFlow Serving defines in tensorflow_serving/model_servers/main.cc, less those
# for TPUs, TFLite and XLA. Of others the server only complains, and goes on without them.
MODEL_SERVER_FLAGS = {
    "port", "grpc_socket_path", "grpc_channel_arguments", "grpc_max_threads",
    "enable_grpc_healthcheck_service", "rest_api_port", "rest_api_num_threads",
    "rest_api_timeout_in_ms", "rest_api_enable_cors_support", "enable_batching",
    "batching_parameters_file", "enable_per_model_batching_parameters",
    "allow_version_labels_for_unavailable_models", "model_config_file",
    "model_config_file_poll_wait_seconds", "model_name", "model_base_path", "num_load_threads",
    "num_unload_threads", "max_num_load_retries", "load_retry_interval_micros",
    "file_system_poll_wait_seconds", "flush_filesystem_caches", "tensorflow_session_parallelism",
    "tensorflow_session_config_file", "tensorflow_intra_op_parallelism",
    "tensorflow_inter_op_parallelism", "use_alts_credentials", "ssl_config_file",
    "platform_config_file", "per_process_gpu_memory_fraction", "saved_model_tags",
    "enable_model_warmup", "num_request_iterations_for_warmup", "version",
    "monitoring_config_file", "remove_unused_fields_from_bundle_metagraph",
    "enable_signature_method_name_check", "enable_profiler", "thread_pool_factory_config_file",
    "mixed_precision", "enable_serialization_as_tensor_content",
}  # fmt: skip

REST_TIMEOUT_S = 30  # the server's own, unless --rest_api_timeout_in_ms says otherwise


def the_model() -> Any:
    """The only entry of models.config."""
    (model,) = read_model_config(str(EXPORT / "models.config"), may_label_unavailable=True)
    return model


def batching() -> BatchingParameters:
    return read_batching_parameters(EXPORT / "batching_parameters.txt")


def metrics_path() -> str:
    """The path in monitoring.config, which has this form and no other."""
    lines = (EXPORT / "monitoring.config").read_text("utf-8").splitlines()
    text = " ".join(" ".join(line for line in lines if not line.startswith("#")).split())
    form = r'prometheus_config \{ enable: true path: "(/[\w/]+)" \}'
    found = re.fullmatch(form, text)
    assert found is not None
    return found[1]


def documents(*names: str) -> list[Any]:
    """YAML files of export/, with all their documents."""
    return [
        document
        for name in names
        for document in yaml.safe_load_all((EXPORT / name).read_text("utf-8"))
    ]


def compose() -> dict[str, Any]:
    """The services, without CPUS in the environment."""
    text = (EXPORT / "docker-compose.yml").read_text("utf-8")
    return yaml.safe_load(text.replace("${CPUS:-2}", "2"))["services"]


def kustomization() -> dict[str, Any]:
    (document,) = documents("kustomization.yaml")
    return document


MANIFESTS = sorted(str(path.relative_to(EXPORT)) for path in EXPORT.glob("kubernetes/*.yaml"))


def manifests(kind: str) -> list[Any]:
    return [document for document in documents(*MANIFESTS) if document["kind"] == kind]


def deployment() -> dict[str, Any]:
    (document,) = manifests("Deployment")
    return document["spec"]


def pod() -> dict[str, Any]:
    return deployment()["template"]["spec"]


def container() -> dict[str, Any]:
    (only,) = pod()["containers"]
    return only


def flags(arguments: list[str]) -> dict[str, str]:
    """--name=value and --name of a command line."""
    values = dict(
        argument.removeprefix("--").partition("=")[::2]
        for argument in arguments
        if argument.startswith("--")
    )
    assert len(values) == len(arguments), arguments
    return values


SERVERS = {
    "compose": lambda: flags(compose()["serving"]["command"]),
    "kubernetes": lambda: flags(container()["args"]),
}


def test_labels_name_listed_versions():
    model = the_model()
    versions = list(model.model_version_policy.specific.versions)
    assert versions and len(versions) == len(set(versions))
    assert "stable" in model.version_labels
    assert set(model.version_labels.values()) <= set(versions)


def test_a_batch_has_room_for_the_largest_requests():
    from rnnsearch_tf.scripts.client import COMMAND
    from rnnsearch_tf.serving.warmup import _SHAPES

    warm_up = max(sentences for shapes in _SHAPES.values() for sentences, _ in shapes)
    assert batching().max_batch_size >= warm_up
    client_batch: Any = COMMAND.flags["batch_size"].default
    assert batching().max_batch_size >= client_batch
    assert f"`max_batch_size` ({batching().max_batch_size:,})" in README
    assert batching().batch_timeout_micros < REST_TIMEOUT_S * 1_000_000


@pytest.mark.parametrize("server", SERVERS)
def test_the_model_servers_flags(server):
    values = SERVERS[server]()
    assert set(values) <= MODEL_SERVER_FLAGS
    assert (values["port"], values["rest_api_port"]) == ("8500", "8501")
    assert values["enable_batching"] in ("", "true")
    assert values["allow_version_labels_for_unavailable_models"] in ("", "true")
    # For the 32 requests of a batch that is computed, and those of the next.
    assert values["rest_api_num_threads"] == values["grpc_max_threads"] == "64"
    for name, file in values.items():
        if name.endswith("_file"):
            assert (EXPORT / Path(file).relative_to("/config")).is_file()


def test_all_deployments_start_the_same_server():
    (command,) = re.findall(r"^CMD (\[.*?\])", (EXPORT / "Dockerfile").read_text(), re.M | re.S)
    image = flags(json.loads(command.replace("\\\n", "")))
    for server in SERVERS.values():
        other = server()
        differing = {name for name in {*image, *other} if image.get(name) != other.get(name)}
        assert differing <= {"model_config_file_poll_wait_seconds", "grpc_channel_arguments"}


def test_the_image_has_what_the_server_reads():
    text = (EXPORT / "Dockerfile").read_text("utf-8")
    assert f"COPY --from=exports . {the_model().base_path}\n" in text
    (files,) = re.findall(r"^COPY (.*) /config/$", text, re.M)
    read = {Path(file).name for file in SERVERS["compose"]().values() if "/config/" in file}
    assert set(files.split()) == read


def test_requests_are_not_split_because_outputs_differ_in_width():
    # TensorFlow Serving joins the parts of a request along the first axis alone (README.md).
    from rnnsearch_tf.client.contract import SIGNATURES

    sizes = {d for output in SIGNATURES["align"].outputs.values() for d in output.dimensions}
    assert sizes - {"B", "N"}, "every output has one width: splitting could be switched on"
    parameters = (EXPORT / "batching_parameters.txt").read_text("utf-8")
    settings = [line for line in parameters.splitlines() if not line.startswith("#")]
    assert not any("splitting" in line or "execution" in line for line in settings)


def test_the_image_of_the_server_is_for_the_only_platform_that_there_is():
    assert compose()["serving"]["platform"] == "linux/amd64"
    upload: Any = manifests("Pod")[0]["spec"]
    for spec in (pod(), upload):
        assert spec["nodeSelector"] == {"kubernetes.io/arch": "amd64"}
    assert "--platform linux/amd64" in README


@pytest.mark.parametrize("server", SERVERS)
def test_tensorflow_has_as_many_threads_as_cpus(server):
    limits = {
        "compose": lambda: compose()["serving"]["deploy"]["resources"]["limits"]["cpus"],
        "kubernetes": lambda: container()["resources"]["limits"]["cpu"],
    }
    values = SERVERS[server]()
    cpus = limits[server]()
    assert values["tensorflow_intra_op_parallelism"] == "1"
    assert values["tensorflow_inter_op_parallelism"] == cpus


def test_what_compose_mounts_is_there():
    for service in compose().values():
        for volume in service["volumes"]:
            if isinstance(volume, dict):
                assert volume["source"].startswith("${EXPORT_DIR")
                assert volume["target"] == the_model().base_path
                assert not volume["bind"]["create_host_path"]
            else:
                host = volume.rsplit(":", 2)[0]
                assert (EXPORT / host).exists(), host


def test_compose_publishes_the_ports_the_servers_listen_on():
    published = {
        name: {port.rsplit(":", 1)[1] for port in service["ports"]}
        for name, service in compose().items()
    }
    values = SERVERS["compose"]()
    (listen,) = re.findall(r"^ *listen (\d+);", (EXPORT / "nginx.conf").read_text(), re.M)
    assert published == {"serving": {values["port"], values["rest_api_port"]}, "page": {listen}}


def test_logs_are_rotated():
    for service in compose().values():
        assert service["logging"]["driver"] == "local"  # the default keeps everything


def test_nginx_finds_the_model_server_and_the_page():
    conf = (EXPORT / "nginx.conf").read_text("utf-8")
    service, port = re.findall(r"set \$model_server (\S+):(\d+);", conf)[0]
    assert service in compose()
    assert port == SERVERS["compose"]()["rest_api_port"]
    root = re.findall(r"root (\S+);", conf)[0]
    assert f"./page:{root}:ro" in compose()["page"]["volumes"]
    name = the_model().name
    pattern, target = re.findall(r"rewrite (\S+) (\S+) break;", conf)[0]
    stable = f"/v1/models/{name}/labels/stable"
    for method in (":predict", "/metadata"):
        asked = re.sub(pattern, target.replace("$1", r"\1"), f"/v1/models/{name}{method}")
        assert asked == stable + method
    for method in ("", "/versions/1:predict", "/labels/canary:predict"):
        assert not re.search(pattern, f"/v1/models/{name}{method}")
    assert int(re.findall(r"proxy_read_timeout (\d+)s;", conf)[0]) > REST_TIMEOUT_S


def stable_metadata() -> str:
    """What is answered with 200 only when the stable version can be asked."""
    return f"/v1/models/{the_model().name}/labels/stable/metadata"


class ModelServer(HTTPServer):
    status = 200


@pytest.fixture
def model_server() -> Iterator[ModelServer]:
    """A server that answers `status` at stable_metadata(), and 404 elsewhere."""

    class Handler(BaseHTTPRequestHandler):
        server: ModelServer

        def do_GET(self) -> None:
            self.send_response(self.server.status if self.path == stable_metadata() else 404)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ModelServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.skipif(not shutil.which("timeout"), reason="the command timeout is missing")
def test_composes_health_check(model_server):
    kind, *command = compose()["serving"]["healthcheck"]["test"]
    assert kind == "CMD"
    assert "127.0.0.1/8501" in command[-1]
    port = model_server.server_address[1]
    command[-1] = command[-1].replace("/8501", f"/{port}").replace("$$", "$")

    def healthy() -> bool:
        return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0

    assert healthy()
    for status in (400, 404, 503):
        model_server.status = status
        assert not healthy()
    model_server.status = 200
    assert healthy()
    command[-1] = command[-1].replace(f"/{port}", "/1")  # where nobody listens
    assert not healthy()


@pytest.mark.parametrize("version", ["1.30", "1.36"])
@pytest.mark.parametrize("name", MANIFESTS)
def test_manifests_are_kubernetes(name, version):
    for document in documents(name):
        kubernetes_validate.validate(document, version, strict=True)


def test_kustomize_reads_every_manifest_and_every_config_file():
    content = kustomization()
    assert set(content["resources"]) == set(MANIFESTS) - {"kubernetes/upload.yaml"}
    (generated,) = (g for g in content["configMapGenerator"] if g["name"] == "rnnsearch-config")
    given = {Path(file).name for file in SERVERS["kubernetes"]().values() if "/config/" in file}
    assert set(generated["files"]) == given
    assert all((EXPORT / name).is_file() for name in generated["files"])
    volumes = {volume["name"]: volume for volume in pod()["volumes"]}
    assert volumes["config"]["configMap"]["name"] == generated["name"]


@pytest.mark.parametrize("kind", ["Deployment", "Pod"])
def test_volumes_are_mounted_and_there(kind):
    claims = {claim["metadata"]["name"] for claim in manifests("PersistentVolumeClaim")}
    (document,) = manifests(kind)
    spec = document["spec"]["template"]["spec"] if kind == "Deployment" else document["spec"]
    volumes = {volume["name"]: volume for volume in spec["volumes"]}
    mounts = {mount["name"]: mount["mountPath"] for mount in spec["containers"][0]["volumeMounts"]}
    assert set(volumes) == set(mounts)
    assert mounts["models"] == the_model().base_path
    assert volumes["models"]["persistentVolumeClaim"]["claimName"] in claims


def test_selectors_match_the_pods():
    labels = deployment()["template"]["metadata"]["labels"].items()
    (budget,) = manifests("PodDisruptionBudget")
    own, budgets = deployment()["selector"], budget["spec"]["selector"]
    services = [service["spec"]["selector"] for service in manifests("Service")]
    for selector in (own["matchLabels"], budgets["matchLabels"], *services):
        assert selector and selector.items() <= labels
    (scaler,) = manifests("HorizontalPodAutoscaler")
    (target,) = manifests("Deployment")
    named = {"name": target["metadata"]["name"], "kind": "Deployment", "apiVersion": "apps/v1"}
    assert scaler["spec"]["scaleTargetRef"] == named
    assert "replicas" not in deployment()
    assert "cpu" in container()["resources"]["requests"]  # what the scaler's per cent are of


def test_ports_have_one_name_and_number_throughout():
    ports = {port["name"]: port["containerPort"] for port in container()["ports"]}
    values = SERVERS["kubernetes"]()
    assert ports == {"grpc": int(values["port"]), "http": int(values["rest_api_port"])}
    for service in manifests("Service"):
        for port in service["spec"]["ports"]:
            assert port["name"] == port["targetPort"]
            assert port["port"] == ports[port["name"]]
    annotations = deployment()["template"]["metadata"]["annotations"]
    assert annotations["prometheus.io/port"] == values["rest_api_port"]
    assert annotations["prometheus.io/path"] == metrics_path()


def test_probes():
    asked = container()["startupProbe"]["httpGet"]
    assert asked == {"path": stable_metadata(), "port": "http"}
    for probe in ("readinessProbe", "livenessProbe"):
        assert container()[probe]["tcpSocket"] == {"port": "grpc"}


def test_a_pod_that_stops_answers_what_it_has_begun():
    name, seconds = container()["lifecycle"]["preStop"]["exec"]["command"]
    assert name == "sleep"
    assert REST_TIMEOUT_S < int(seconds) < pod()["terminationGracePeriodSeconds"]
    age = dict([SERVERS["kubernetes"]()["grpc_channel_arguments"].split("=")])
    assert int(age["grpc.max_connection_age_ms"]) < 1000 * int(seconds)
    assert deployment()["strategy"]["rollingUpdate"]["maxUnavailable"] == 0


def commands() -> list[list[str]]:
    """The commands in the README's shell blocks, each as its words."""
    lines, begun = [], ""
    for line in "".join(re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)).splitlines():
        begun += line.removesuffix("\\") + ("" if line.endswith("\\") else "\n")
        if begun.endswith("\n") and begun.count("'") % 2 == 0:
            lines.append(shlex.split(begun, comments=True))
            begun = ""
    assert not begun
    return lines


def requests() -> list[tuple[str, dict[str, Any]]]:
    """(address, body) of each of the README's curl lines that send one."""
    sent = []
    for words in commands():
        if words[:1] == ["curl"] and "-d" in words:
            (address,) = (word for word in words if "/v1/" in word)
            sent.append((address, json.loads(words[words.index("-d") + 1])))
    return sent


def test_the_readmes_requests_are_in_the_signatures():
    from rnnsearch_tf.client.contract import SIGNATURES

    seen = set()
    for address, body in requests():
        assert re.search(r":8501/v1/models/rnnsearch/labels/stable:predict$", address), address
        signature = body.pop("signature_name", "serving_default")
        ((form, values),) = body.items()
        for row in values if form == "instances" else [values]:
            named = row if isinstance(row, dict) else {"text": row}
            assert set(named) == set(SIGNATURES[signature].inputs)
        seen.add((signature, form))
    assert seen >= {(signature, "instances") for signature in SIGNATURES if signature != "complete"}
    assert ("serving_default", "inputs") in seen


def test_the_readmes_answers_have_the_signatures_outputs():
    from rnnsearch_tf.client.contract import SIGNATURES

    blocks = re.findall(r"^```json\n(.*?)^```", README, re.M | re.S)
    for (_, body), block in zip(requests(), blocks, strict=True):
        promised = SIGNATURES[body.get("signature_name", "serving_default")].outputs
        outputs = {name for name, output in promised.items() if not output.since}
        ((form, answer),) = json.loads(block).items()
        if "instances" in body:
            assert form == "predictions"
            assert len(answer) == len(body["instances"])
            assert all(outputs <= set(row) <= set(promised) for row in answer)
        else:
            assert form == "outputs"
            assert set(answer) == outputs
            assert {len(column) for column in answer.values()} == {len(body["inputs"]["text"])}


def test_the_readmes_table_names_every_input_and_output():
    from rnnsearch_tf.client.contract import SIGNATURES

    rows = dict(re.findall(r"^\| `(\w+)` \| (`text`.*)$", README, re.M))
    assert set(rows) == set(SIGNATURES)
    for name, signature in SIGNATURES.items():
        inputs, outputs = rows[name].split(" | ")
        assert set(re.findall(r"`(\w+)`", inputs)) == set(signature.inputs)
        stated = set(re.findall(r"`(\w+)`", outputs))
        inherited = set(SIGNATURES["serving_default"].outputs) if "also" in outputs else set()
        assert stated | inherited == set(signature.outputs)


def test_the_readmes_table_names_every_file_of_the_folder():
    cells = " ".join(re.findall(r"^\| (`.*?) \|", README, re.M))
    named = {name.rstrip("/") for name in re.findall(r"`([\w./-]+)`", cells)}
    assert {path.name for path in EXPORT.iterdir()} - {"README.md"} <= named
