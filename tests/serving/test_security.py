"""What the files in export/ promise about security, property by property."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from scripted_page_server import HEADERS

EXPORT = Path(__file__).parents[2] / "export"


def documents(name: str) -> list[Any]:
    return list(yaml.safe_load_all((EXPORT / name).read_text("utf-8")))


def services() -> dict[str, Any]:
    """The services of docker-compose.yml and of compose/monitoring.yml."""
    files = ("docker-compose.yml", "compose/monitoring.yml")
    return {name: s for file in files for name, s in documents(file)[0]["services"].items()}


def pods() -> dict[str, Any]:
    """The specs of the pods, by the name of their file."""
    return {
        "deployment": documents("kubernetes/deployment.yaml")[0]["spec"]["template"]["spec"],
        "upload": documents("kubernetes/upload.yaml")[0]["spec"],
    }


def user(service: dict[str, Any]) -> int:
    return int(service.get("user", "0").split(":")[0])


# Of each service of docker-compose.yml.
SERVICE_PROPERTIES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "not root": lambda service: user(service) > 0,
    "no capabilities": lambda service: service["cap_drop"] == ["ALL"] and "cap_add" not in service,
    "no new privileges": lambda service: "no-new-privileges:true" in service["security_opt"],
    "the default seccomp profile": lambda service: "seccomp" not in str(service["security_opt"]),
    "a root file system for reading": lambda service: service["read_only"],
    "files of the host for reading": lambda service: all(
        volume["read_only"] if isinstance(volume, dict) else volume.endswith(":ro")
        for volume in service["volumes"]
        if isinstance(volume, dict) or volume[0] in "./"
    ),
    "no more of the host": lambda service: (
        not ({"privileged", "network_mode", "pid", "ipc", "devices"} & set(service))
    ),
    "ports of this machine alone, if not asked": lambda service: all(
        port.startswith("${LISTEN:-127.0.0.1}:") for port in service["ports"]
    ),
    "ports for which nobody needs to be root": lambda service: all(
        int(port.rpartition(":")[2]) > 1024 for port in service["ports"]
    ),
    "a limit of memory": lambda service: "memory" in service["deploy"]["resources"]["limits"],
    "an image of a digest": lambda service: bool(
        re.fullmatch(r"\$\{\w+_IMAGE:\?run \./pin_images\.sh first\}", service["image"])
    ),
}


def test_a_gpu_takes_no_protection_away():
    (serving,) = documents("compose/gpu.yml")[0]["services"].values()
    assert set(serving) == {"environment", "deploy"}


def test_grafana_has_no_password_that_everybody_knows():
    password = services()["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"]
    assert password.startswith("${GRAFANA_PASSWORD:?")


@pytest.mark.parametrize("name", SERVICE_PROPERTIES)
@pytest.mark.parametrize("service", services())
def test_services(service, name):
    assert SERVICE_PROPERTIES[name](services()[service])


def only(pod: dict[str, Any]) -> dict[str, Any]:
    (container,) = pod["containers"]
    return container


# Of each pod, which has one container.
POD_PROPERTIES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "not root": lambda pod: (
        pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] > 0
    ),
    "the default seccomp profile": lambda pod: (
        pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    ),
    "no account at the cluster": lambda pod: pod["automountServiceAccountToken"] is False,
    "no capabilities": lambda pod: (
        only(pod)["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    ),
    "no new privileges": lambda pod: (
        only(pod)["securityContext"]["allowPrivilegeEscalation"] is False
    ),
    "a root file system for reading": lambda pod: only(pod)["securityContext"][
        "readOnlyRootFilesystem"
    ],
    "no more of the host": lambda pod: (
        not (
            {"hostNetwork", "hostPID", "hostIPC"} & set(pod)
            or any("hostPath" in volume for volume in pod["volumes"])
        )
    ),
    "a limit of memory": lambda pod: "memory" in only(pod)["resources"]["limits"],
    "an image of a digest": lambda pod: only(pod)["image"] == "TF_SERVING_IMAGE",
}


@pytest.mark.parametrize("name", POD_PROPERTIES)
@pytest.mark.parametrize("pod", ["deployment", "upload"])
def test_pods(pod, name):
    assert POD_PROPERTIES[name](pods()[pod])


def test_the_servers_volumes_are_for_reading():
    assert all(
        mount["readOnly"] for mount in only(pods()["deployment"])["volumeMounts"]
        if mount["name"] != "tmp"
    )  # fmt: skip


# The network. (labels of the pod that connects, those of its namespace) -> ports that it reaches.


OWN = {"kubernetes.io/metadata.name": "default"}
MONITORING = {"kubernetes.io/metadata.name": "monitoring"}
PROMETHEUS = {"app.kubernetes.io/name": "prometheus"}
PEERS: dict[str, tuple[dict[str, str], dict[str, str], set[str]]] = {
    "any pod": ({"app": "shop"}, OWN, set()),
    "a pod without labels": ({}, OWN, set()),
    "a server": ({"app": "rnnsearch"}, OWN, set()),
    "a proxy": ({"rnnsearch-rest": "allowed"}, OWN, {"http"}),
    "an operator": ({"rnnsearch-grpc": "allowed"}, OWN, {"grpc"}),
    "a pod elsewhere that takes the label": ({"rnnsearch-grpc": "allowed"}, MONITORING, set()),
    "Prometheus": (PROMETHEUS, MONITORING, {"http"}),
    "another pod beside Prometheus": ({"app": "shop"}, MONITORING, set()),
    "a Prometheus elsewhere": (PROMETHEUS, OWN, set()),
}


def matches(selector: dict[str, Any], labels: dict[str, str]) -> bool:
    assert set(selector) <= {"matchLabels"}
    return selector.get("matchLabels", {}).items() <= labels.items()


def admits(source: dict[str, Any], labels: dict[str, str], namespace: dict[str, str]) -> bool:
    """Whether an entry of `from` is about a pod; without a namespaceSelector it is the own one."""
    assert source and set(source) <= {"podSelector", "namespaceSelector"}
    where = matches(source["namespaceSelector"], namespace) if "namespaceSelector" in source else (
        namespace == OWN
    )  # fmt: skip
    return where and matches(source.get("podSelector", {}), labels)


@pytest.mark.parametrize("peer", PEERS)
def test_who_reaches_which_port(peer):
    labels, namespace, expected = PEERS[peer]
    (policy,) = documents("kubernetes/networkpolicy.yaml")
    reached = {
        port["port"]
        for rule in policy["spec"]["ingress"]
        if any(admits(source, labels, namespace) for source in rule["from"])
        for port in rule["ports"]
    }
    assert reached == expected


def test_the_policy_is_about_the_servers_and_lets_them_reach_nobody():
    (policy,) = documents("kubernetes/networkpolicy.yaml")
    (deployment,) = documents("kubernetes/deployment.yaml")
    assert policy["spec"]["podSelector"] == deployment["spec"]["selector"]
    assert set(policy["spec"]["policyTypes"]) == {"Ingress", "Egress"}
    assert policy["spec"]["egress"] == []
    ports = {port["name"] for port in only(pods()["deployment"])["ports"]}
    ruled = {port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]}
    assert ruled == ports


# Images.


DIGEST = "sha256:" + "0123456789abcdef" * 4


def pin(tmp_path: Path, answer: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run pin_images.sh in a copy of the folder, with a docker that answers this."""
    for name in ("pin_images.sh", "kustomization.yaml", "models.config", "monitoring.config",
                 "batching_parameters.txt"):  # fmt: skip
        shutil.copy(EXPORT / name, tmp_path)
    for name in ("kubernetes", "monitoring", "page"):
        shutil.copytree(EXPORT / name, tmp_path / name, dirs_exist_ok=True)
    (tmp_path / "bin").mkdir(exist_ok=True)
    docker = tmp_path / "bin" / "docker"
    docker.write_text(f"#!/bin/sh\necho Name: $4\ncat <<'END'\n{answer}\nEND\n")
    docker.chmod(0o755)
    path = f"{docker.parent}{os.pathsep}{os.environ['PATH']}"
    command = [str(tmp_path / "pin_images.sh"), *arguments]
    return subprocess.run(command, env={"PATH": path}, capture_output=True, text=True, check=False)


def test_images_are_pinned(tmp_path):
    # The digests of the list and, further in, of each platform's image.
    assert pin(tmp_path, f"Digest:    {DIGEST}\n  Name: x@sha256:1\n  Digest: 2").returncode == 0
    images = dict(line.split("=") for line in (tmp_path / ".env").read_text().splitlines())
    assert re.fullmatch(rf"tensorflow/serving:2\.\d+\.\d+@{DIGEST}", images["TF_SERVING_IMAGE"])
    assert re.fullmatch(rf"nginx:[\w.-]+@{DIGEST}", images["NGINX_IMAGE"])
    used = {re.findall(r"\$\{(\w+)", service["image"])[0] for service in services().values()}
    assert used == set(images)
    pinned = (tmp_path / ".env").read_text()
    others = "GRAFANA_PASSWORD=secret\nLISTEN=0.0.0.0"
    (tmp_path / ".env").write_text(f"TF_SERVING_IMAGE=mine\n{others}")
    again = pin(tmp_path, f"Digest: {DIGEST}")
    assert (again.returncode, again.stdout) == (0, pinned)
    assert (tmp_path / ".env").read_text() == f"{pinned}{others}\n"


def test_where_other_lines_cannot_be_read_images_are_not_pinned(tmp_path):
    (tmp_path / ".env").mkdir()  # which grep cannot read, even as root
    failed = pin(tmp_path, f"Digest: {DIGEST}")
    assert failed.returncode == 1
    assert failed.stderr.startswith("grep: .env: ")
    assert not list((tmp_path / ".env").iterdir())


def test_the_image_for_gpus_is_pinned_when_it_is_asked_for(tmp_path):
    pin(tmp_path, f"Digest: {DIGEST}", "gpu")
    assert re.match(
        r"TF_SERVING_IMAGE=tensorflow/serving:\S+-gpu@", (tmp_path / ".env").read_text()
    )
    wrong = pin(tmp_path, f"Digest: {DIGEST}", "tpu")
    assert (wrong.returncode, wrong.stderr) == (2, "usage: pin_images.sh [gpu]\n")


@pytest.mark.parametrize("answer", ["", "Digest: latest", "Digest: sha256:123", "ERROR: not found"])
def test_without_a_digest_the_images_stay_as_they_were(tmp_path, answer):
    (tmp_path / ".env").write_text("before")
    failed = pin(tmp_path, answer)
    assert failed.returncode != 0
    assert "no digest is known for tensorflow/serving" in failed.stderr
    assert (tmp_path / ".env").read_text() == "before"


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_kustomize_builds_with_pinned_images_alone(tmp_path):
    build = ["kubectl", "kustomize", str(tmp_path)]
    pin(tmp_path, "no digest")
    refused = subprocess.run(build, capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert ".env" in refused.stderr
    pin(tmp_path, f"Digest: {DIGEST}")
    built = subprocess.run(build, capture_output=True, text=True, check=True).stdout
    images = re.findall(r"image: (.*)", built)
    assert [image.partition("@")[2] for image in images] == [DIGEST]
    assert "NGINX_IMAGE" not in built


@pytest.fixture(scope="module")
def with_components(tmp_path_factory):
    """A function from names of components to the resources that kustomize builds with them."""
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not installed")
    folder = tmp_path_factory.mktemp("export")
    pin(folder, f"Digest: {DIGEST}")
    text = (folder / "kustomization.yaml").read_text()

    def build(*names: str) -> list[Any]:
        changed = text
        for name in names:
            assert f"  # - {name}\n" in text
            changed = changed.replace(f"  # - {name}\n", f"  - {name}\n")
        (folder / "kustomization.yaml").write_text(changed)
        command = ["kubectl", "kustomize", str(folder)]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        return list(yaml.safe_load_all(built.stdout))

    return build


def by_kind(resources: list[Any], kind: str) -> list[Any]:
    return [resource for resource in resources if resource["kind"] == kind]


COMPONENTS = re.findall(r"  # - (\S+)", (EXPORT / "kustomization.yaml").read_text("utf-8"))


@pytest.mark.parametrize("names", [*((name,) for name in COMPONENTS), tuple(COMPONENTS)])
def test_components_are_kubernetes_and_as_safe(with_components, names):
    resources = with_components(*names)
    for resource in resources:
        if resource["kind"] not in ("PodMonitor", "PrometheusRule"):  # the Operator's
            kubernetes_validate.validate(resource, "1.36", strict=True)
    for deployment in by_kind(resources, "Deployment"):
        pod = deployment["spec"]["template"]["spec"]
        for name, holds in POD_PROPERTIES.items():
            assert holds(pod) or name == "an image of a digest", name
        assert only(pod)["image"].endswith(f"@{DIGEST}")


def test_what_components_change(with_components):
    resources = with_components("kubernetes/gpu", "kubernetes/baked", "monitoring")
    pod = by_kind(resources, "Deployment")[0]["spec"]["template"]["spec"]
    assert only(pod)["resources"]["limits"]["nvidia.com/gpu"] == "1"
    assert {volume["name"] for volume in pod["volumes"]} == {"config", "tmp"}
    assert {mount["name"] for mount in only(pod)["volumeMounts"]} == {"config", "tmp"}
    assert not by_kind(resources, "HorizontalPodAutoscaler")
    assert not by_kind(resources, "PersistentVolumeClaim")
    (dashboard,) = (
        r for r in by_kind(resources, "ConfigMap") if "dashboard.json" in r["data"]
    )  # fmt: skip
    assert dashboard["metadata"]["labels"] == {"grafana_dashboard": "1"}


def test_from_outside_only_nginx_is_reached_and_over_tls(with_components):
    resources = with_components("kubernetes/ingress")
    (ingress,) = by_kind(resources, "Ingress")
    (rule,) = ingress["spec"]["rules"]
    (path,) = rule["http"]["paths"]
    (tls,) = ingress["spec"]["tls"]
    assert tls["hosts"] == [rule["host"]]
    services = {service["metadata"]["name"]: service for service in by_kind(resources, "Service")}
    backend = services[path["backend"]["service"]["name"]]["spec"]
    assert path["backend"]["service"]["port"]["name"] in {p["name"] for p in backend["ports"]}
    (page,) = (
        d["spec"]["template"]
        for d in by_kind(resources, "Deployment")
        if backend["selector"].items() <= d["spec"]["template"]["metadata"]["labels"].items()
    )
    assert re.fullmatch(rf"nginx:\S+@{DIGEST}", only(page["spec"])["image"])
    # To the model servers by the label that their policy asks for, from the controller alone.
    (policy,) = documents("kubernetes/ingress/networkpolicy.yaml")
    assert matches(policy["spec"]["podSelector"], page["metadata"]["labels"])
    (allowed,) = policy["spec"]["ingress"]
    assert all(source["namespaceSelector"] for source in allowed["from"])
    (model_server, names) = policy["spec"]["egress"]
    assert [port["port"] for port in names["ports"]] == [53, 53]
    budgets = [each["spec"]["selector"] for each in by_kind(resources, "PodDisruptionBudget")]
    assert any(matches(selector, page["metadata"]["labels"]) for selector in budgets)
    _, wait = only(page["spec"])["lifecycle"]["preStop"]["exec"]["command"]
    longest = 40  # proxy_read_timeout of nginx.conf
    assert int(wait) + longest < page["spec"]["terminationGracePeriodSeconds"]
    (own,) = documents("kubernetes/networkpolicy.yaml")
    assert model_server["to"] == [{"podSelector": own["spec"]["podSelector"]}]
    assert page["metadata"]["labels"]["rnnsearch-rest"] == "allowed"


def test_the_page_is_whole_in_kubernetes():
    files = (EXPORT / "page").iterdir()
    (generated,) = (
        generator["files"]
        for generator in documents("kustomization.yaml")[0]["configMapGenerator"]
        if generator["name"] == "rnnsearch-page"
    )
    assert sorted(generated) == sorted(f"page/{file.name}" for file in files)


# The page's web server.


def test_unfinished_uploads_have_room_in_the_pod():
    """Those that come in chunks are in files."""
    conf = (EXPORT / "kubernetes/ingress/nginx.conf").read_text("utf-8")
    uploads, size = (
        int(re.findall(rf"{name} (\d+)k?;", conf)[0])
        for name in ("limit_conn unfinished", "client_max_body_size")
    )
    page = documents("kubernetes/ingress/page.yaml")[0]["spec"]["template"]["spec"]
    (cache,) = (v["emptyDir"] for v in page["volumes"] if v["name"] == "cache")
    assert uploads * size < 1024 * int(cache["sizeLimit"].removesuffix("Mi"))


def test_the_policy_of_nginx_is_that_of_the_page_and_forbids_frames():
    html = (EXPORT / "page" / "index.html").read_text("utf-8")
    (of_page,) = re.findall(r'Content-Security-Policy"\s+content="(.*?)"', html)
    assert HEADERS["Content-Security-Policy"] == f"{of_page}; frame-ancestors 'none'"
    assert HEADERS["X-Content-Type-Options"] == "nosniff"
    assert HEADERS["Referrer-Policy"] == "no-referrer"
    assert HEADERS["Cache-Control"] == "no-cache"
    assert "unsafe" not in of_page
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=", html)
