"""Clients of other languages: a small program in that language does one operation of the contract per line of JSON.

The request is `{"operation": ..., "arguments": {...}}`, the answer `{"result": ...}` or `{"error": "..."}`; bytes
travel as base64. The programs are `InteropClient.java` and `interop_client.cjs` beside this file. What they print to
standard error (the client's own log) goes to a file and is shown when an operation fails.
"""

from __future__ import annotations

import base64
import json
import os
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from support.apache_kafka import java_command
from support.clients.contract import OPERATION_TIMEOUT_SECONDS, ClusterView, Message
from support.clients.credentials import ScramLogin
from support.processes import ProcessFailed, stop_process, tail

_FOLDER = Path(__file__).parent
# Settings of the client as JSON; not in the command, which everybody on the machine can read.
_SECURITY = "TIDELOG_TEST_SECURITY"
# The first answer comes after the program has been compiled and its client loaded.
_START_ALLOWANCE_SECONDS = 30


class JsonLinesClient:
    def __init__(self, name: str, command: Sequence[str], *, log: Path, environment: Mapping[str, str] | None = None):
        self.name = name
        self.writes_null_headers = self.reads_null_headers = name == "java"
        self._log = log
        self._answers: queue.Queue[str] = queue.Queue()
        with log.open("wb") as sink:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env={**os.environ, **(environment or {})},
                start_new_session=True,
            )
        threading.Thread(target=self._collect_answers, daemon=True).start()

    def create_topic(self, topic: str, *, partitions: int = 1, configs: Mapping[str, str] | None = None) -> int:
        return int(self._call("createTopic", topic=topic, partitions=partitions, configs=dict(configs or {})))

    def delete_topic(self, topic: str) -> int:
        return int(self._call("deleteTopic", topic=topic))

    def partition_count(self, topic: str) -> int:
        return int(self._call("partitionCount", topic=topic))

    def describe_topic(self, topic: str) -> Mapping[str, str | None]:
        return dict(self._call("describeTopic", topic=topic))

    def describe_cluster(self) -> ClusterView:
        cluster = self._call("describeCluster")
        return ClusterView(
            cluster_id=cluster["clusterId"],
            controller_id=cluster["controllerId"],
            brokers=frozenset((node["id"], node["host"], node["port"]) for node in cluster["brokers"]),
        )

    def produce(
        self, topic: str, messages: Sequence[Message], *, compression: str = "none", idempotent: bool = False
    ) -> list[int]:
        return list(
            self._call(
                "produce",
                topic=topic,
                messages=[_to_json(message) for message in messages],
                compression=compression,
                idempotent=idempotent,
            )
        )

    def read(self, topic: str, *, partition: int = 0, start: int = 0, count: int) -> list[Message]:
        answer = self._call("read", topic=topic, partition=partition, start=start, count=count)
        return [_from_json(message) for message in answer]

    def offset_for_time(self, topic: str, timestamp_ms: int, *, partition: int = 0) -> int | None:
        found: int | None = self._call("offsetForTime", topic=topic, timestamp=timestamp_ms, partition=partition)
        return found

    def read_in_group(self, topic: str, group: str, *, count: int) -> list[Message]:
        return [_from_json(message) for message in self._call("readInGroup", topic=topic, group=group, count=count)]

    def committed_offset(self, topic: str, group: str, *, partition: int = 0) -> int | None:
        found: int | None = self._call("committedOffset", topic=topic, group=group, partition=partition)
        return found

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        stop_process(self._process)

    def _call(self, operation: str, **arguments: Any) -> Any:
        assert self._process.stdin is not None
        request = json.dumps({"operation": operation, "arguments": arguments})
        self._process.stdin.write(request.encode() + b"\n")
        self._process.stdin.flush()
        try:
            line = self._answers.get(timeout=OPERATION_TIMEOUT_SECONDS + _START_ALLOWANCE_SECONDS)
        except queue.Empty:
            raise ProcessFailed(f"{self.name} did not answer {operation}:\n{tail(self._log)}") from None
        if not line:
            raise ProcessFailed(f"{self.name} ended during {operation}:\n{tail(self._log)}")
        answer = json.loads(line)
        if "error" in answer:
            raise ProcessFailed(f"{self.name} failed to {operation}: {answer['error']}\n{tail(self._log)}")
        return answer["result"]

    def _collect_answers(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._answers.put(line.decode())
        self._answers.put("")


class JavaClient(JsonLinesClient):
    """The Java client, which can also run the command-line tools that come with Apache Kafka."""

    def __init__(self, bootstrap_servers: str, *, jars: Path, log: Path, login: ScramLogin | None = None) -> None:
        self.bootstrap_servers = bootstrap_servers
        security = json.dumps({} if login is None else login.java())
        command = java_command(jars, str(_FOLDER / "InteropClient.java"), bootstrap_servers)
        super().__init__("java", command, log=log, environment={_SECURITY: security})

    def run_tool(self, main_class: str, *arguments: str, text: str = "") -> str:
        """What the tool printed; ProcessFailed if it did not end with success. `text` is its standard input."""
        answer = self._call(
            "runTool",
            mainClass=main_class,
            arguments=["--bootstrap-server", self.bootstrap_servers, *arguments],
            input=text,
        )
        if answer["code"]:
            raise ProcessFailed(f"{main_class} {arguments} ended with {answer['code']}:\n{answer['output']}")
        return str(answer["output"])


def kafkajs_client(
    bootstrap_servers: str, *, node_modules: Path, log: Path, login: ScramLogin | None = None
) -> JsonLinesClient:
    command = ("node", str(_FOLDER / "interop_client.cjs"), bootstrap_servers)
    security = json.dumps({} if login is None else login.kafkajs())
    environment = {"NODE_PATH": str(node_modules), _SECURITY: security}
    return JsonLinesClient("kafkajs", command, log=log, environment=environment)


def _to_json(message: Message) -> dict[str, Any]:
    return {
        "key": _encode(message.key),
        "value": _encode(message.value),
        "timestamp": message.timestamp_ms,
        "headers": [[name, _encode(value)] for name, value in message.headers],
        "partition": message.partition,
    }


def _from_json(message: Mapping[str, Any]) -> Message:
    return Message(
        key=_decode(message["key"]),
        value=_decode(message["value"]),
        timestamp_ms=message["timestamp"],
        headers=tuple((name, _decode(value)) for name, value in message["headers"]),
        partition=message["partition"],
        offset=message["offset"],
    )


def _encode(data: bytes | None) -> str | None:
    return None if data is None else base64.b64encode(data).decode()


def _decode(text: str | None) -> bytes | None:
    return None if text is None else base64.b64decode(text)
