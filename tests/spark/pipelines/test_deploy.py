"""The examples of services: what they name exists, and the times in them fit together."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.tidelog_process import tidelog_command

from tidelog.spark.pipelines.reading import read_pipeline_file
from tidelog.spark.pipelines.run import FINISH_BATCH_SECONDS
from tidelog.spark.pipelines.settings import Pipeline, SinkDatabase

DEPLOY = Path(__file__).resolve().parents[3] / "examples" / "deploy"
UNIT = DEPLOY / "tidelog-pipeline@.service"
ENVIRONMENT = {"KAFKA": "kafka:9092", "POSTGRES": "postgres:5432", "PASSWORD": "secret"}


@pytest.fixture(scope="module")
def options_of_run() -> set[str]:
    done = subprocess.run(
        [tidelog_command(), "pipeline", "run", "--help"],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
        env={"COLUMNS": "300", "PATH": "/usr/bin:/bin", "NO_COLOR": "1", "TERM": "dumb", **_python_path()},
    )
    return set(re.findall(r"--[a-z][a-z-]+", done.stdout))


def _python_path() -> dict[str, str]:
    return {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}


@pytest.fixture(scope="module")
def settings() -> Pipeline:
    return read_pipeline_file(DEPLOY / "orders.toml", ENVIRONMENT)


def test_the_settings_are_those_of_a_pipeline(settings: Pipeline) -> None:
    assert isinstance(settings, SinkDatabase)
    assert settings.service.port == 9464
    assert settings.run.retry_for.seconds == 3600


def test_systemd_accepts_the_unit(tmp_path: Path) -> None:
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    text = UNIT.read_text()
    # systemd looks for the program, which is not where the example has it.
    unit = tmp_path / "tidelog-pipeline@orders.service"
    unit.write_text(text.replace("/opt/tidelog/bin/tidelog", tidelog_command()).replace("User=tidelog", "User=root"))
    done = subprocess.run(
        [analyze, "verify", "--man=no", str(unit)], capture_output=True, text=True, timeout=60, check=False
    )
    about_it = [line for line in (done.stdout + done.stderr).splitlines() if unit.name in line or "Unknown" in line]
    assert about_it == []


def test_the_unit_runs_a_command_that_exists_and_lets_it_finish(options_of_run: set[str]) -> None:
    unit = configparser.RawConfigParser(strict=False, delimiters=("=",), comment_prefixes=("#",))
    unit.optionxform = str  # type: ignore[assignment, method-assign]
    unit.read_string(UNIT.read_text())
    service = unit["Service"]
    words = service["ExecStart"].split()
    assert words[:3] == ["/opt/tidelog/bin/tidelog", "pipeline", "run"]
    assert {word for word in words if word.startswith("--")} <= options_of_run
    # Only the pipeline is asked to end: Spark's JVM would otherwise end under it.
    assert service["KillMode"] == "mixed"
    assert float(service["TimeoutStopSec"]) > FINISH_BATCH_SECONDS


def test_the_manifest_runs_the_same_and_probes_it(options_of_run: set[str], settings: Pipeline) -> None:
    yaml: Any = pytest.importorskip("yaml")
    service, workload = yaml.safe_load_all((DEPLOY / "kubernetes.yaml").read_text())
    assert (service["kind"], workload["kind"]) == ("Service", "StatefulSet")
    assert workload["spec"]["replicas"] == 1
    assert workload["spec"]["serviceName"] == service["metadata"]["name"]
    pod = workload["spec"]["template"]["spec"]
    assert workload["spec"]["selector"]["matchLabels"] == workload["spec"]["template"]["metadata"]["labels"]
    (container,) = pod["containers"]
    assert container["command"][:3] == ["tidelog", "pipeline", "run"]
    given = {word for word in (*container["command"], *container["args"]) if word.startswith("--")}
    assert given <= options_of_run
    assert pod["terminationGracePeriodSeconds"] > FINISH_BATCH_SECONDS
    assert {one["name"] for one in container["env"]} >= set(ENVIRONMENT)
    port = str(container["ports"][0]["containerPort"])
    assert container["args"][container["args"].index("--service-port") + 1] == port == str(settings.service.port)
    assert service["spec"]["ports"][0]["port"] == int(port)
    for name in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[name]["httpGet"] == {"path": "/healthz", "port": "service"}
    for name in ("startupProbe", "livenessProbe"):
        # A pipeline that waits for its database is not to be killed.
        probe = container[name]
        assert probe["periodSeconds"] * probe["failureThreshold"] > settings.run.retry_for.seconds
    mounts = {one["name"] for one in container["volumeMounts"]}
    volumes = {one["name"] for one in pod["volumes"]}
    claims = {one["metadata"]["name"] for one in workload["spec"]["volumeClaimTemplates"]}
    assert mounts == volumes | claims
