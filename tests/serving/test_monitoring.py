"""Metrics, alert rules and the dashboard in export/: they name what there is, and fire."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).parent
EXPORT = HERE.parents[1] / "export"
MONITORING = EXPORT / "monitoring"
README = (EXPORT / "README.md").read_text("utf-8")

PROMTOOL = shutil.which("promtool")
with_promtool = pytest.mark.skipif(
    PROMTOOL is None, reason="promtool is not installed (Debian's package prometheus has it)"
)


def rules() -> list[dict[str, Any]]:
    (group,) = yaml.safe_load((MONITORING / "alerts.yml").read_text("utf-8"))["groups"]
    return group["rules"]


def dashboard() -> dict[str, Any]:
    return json.loads((MONITORING / "dashboard.json").read_text("utf-8"))


def panel_expressions() -> list[str]:
    return [target["expr"] for panel in dashboard()["panels"] for target in panel["targets"]]


def metrics(expression: str) -> set[str]:
    """The names of TensorFlow's metrics in an expression, histograms without their suffix."""
    names = re.findall(r":tensorflow:[\w:]+", expression)
    return {
        re.sub("_(bucket|sum)$|(?<=latency)_count$|(?<=size)_count$", "", name) for name in names
    }


def described() -> set[str]:
    """The metrics of the table in the README."""
    rows = re.findall(r"^\| (`:tensorflow:.*?) \|", README, re.M)
    return {name for row in rows for name in re.findall(r"`(:tensorflow:[\w:]+)", row)}


def test_the_readme_describes_every_metric_that_is_used():
    expressions = [*(rule["expr"] for rule in rules()), *panel_expressions()]
    assert set().union(*map(metrics, expressions)) == described()


def test_every_alert_says_what_to_do_and_is_in_the_readme():
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "action"}
        assert f"`{rule['alert']}`" in README


def test_the_operators_rules_are_the_same():
    resource = yaml.safe_load((MONITORING / "prometheusrule.yaml").read_text("utf-8"))
    assert resource["spec"] == yaml.safe_load((MONITORING / "alerts.yml").read_text("utf-8"))


def test_all_scrape_jobs_have_the_name_in_the_rules_and_the_servers_path():
    (job,) = yaml.safe_load((MONITORING / "prometheus.yml").read_text("utf-8"))["scrape_configs"]
    monitor = yaml.safe_load((MONITORING / "podmonitor.yaml").read_text("utf-8"))["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]
    (path,) = re.findall(r'path: "(.*)"', (EXPORT / "monitoring.config").read_text("utf-8"))
    assert job["metrics_path"] == endpoint["path"] == path
    labels = monitor["selector"]["matchLabels"]
    assert job["job_name"] == labels[monitor["jobLabel"]]
    for expression in [*(rule["expr"] for rule in rules()), *panel_expressions()]:
        assert set(re.findall(r'job="(\w+)"', expression)) == {job["job_name"]}
    kept = job["metric_relabel_configs"][0]["regex"]
    assert kept == endpoint["metricRelabelings"][0]["regex"]
    assert all(re.fullmatch(kept, name) for name in described())


def test_panels_have_units_descriptions_and_room():
    cells: set[tuple[int, int]] = set()
    for panel in dashboard()["panels"]:
        assert panel["description"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        place = panel["gridPos"]
        own = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not own & cells
        assert max(x for x, _ in own) < 24  # Grafana's columns
        cells |= own
    ids = [panel["id"] for panel in dashboard()["panels"]]
    assert len(ids) == len(set(ids))


def promtool(*arguments: str | Path) -> None:
    assert PROMTOOL is not None
    done = subprocess.run(
        [PROMTOOL, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@with_promtool
def test_prometheus_takes_the_configuration():
    promtool("check", "config", MONITORING / "prometheus.yml")


@with_promtool
def test_alerts_fire_when_they_should(tmp_path):
    shutil.copy(MONITORING / "alerts.yml", tmp_path)
    shutil.copy(HERE / "alerts_test.yml", tmp_path)
    promtool("test", "rules", tmp_path / "alerts_test.yml")


@with_promtool
def test_prometheus_takes_the_panels_expressions(tmp_path):
    expressions = [
        expression.replace("$__rate_interval", "5m").replace("$instance", ".*")
        for expression in panel_expressions()
    ]
    records = [{"record": f"panel:{i}", "expr": e} for i, e in enumerate(expressions)]
    file = tmp_path / "rules.yml"
    file.write_text(json.dumps({"groups": [{"name": "panels", "rules": records}]}))
    promtool("check", "rules", file)
