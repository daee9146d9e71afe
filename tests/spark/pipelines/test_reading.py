from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.spark.pipelines.reading import parse_pipeline, pipeline_from, read_pipeline_file
from tidelog.spark.pipelines.records import client_options
from tidelog.spark.pipelines.settings import (
    PIPELINES,
    InvalidSettings,
    Mirror,
    Outbox,
    SinkDatabase,
    Transform,
)

SINK = """
pipeline = "sink-db"
name = "orders-to-table"
once = true

[source]
bootstrap-servers = "127.0.0.1:9092"
topics = ["orders"]
options.kafka.client.id = "me"
options."failOnDataLoss" = false

[value]
format = "json"
schema = "id BIGINT"

[database]
url = "postgresql://app:${env:PASSWORD}@127.0.0.1/app"
table = "orders"
mode = "upsert"
keys = ["id"]
"""


def test_a_file_becomes_settings() -> None:
    pipeline = parse_pipeline(SINK, {"PASSWORD": "secret"})
    assert isinstance(pipeline, SinkDatabase)
    assert pipeline.run.name == "orders-to-table"
    assert pipeline.run.once
    assert pipeline.source.topics == ("orders",)
    assert pipeline.source.options == {"kafka.client.id": "me", "failOnDataLoss": "false"}
    assert pipeline.database.url == "postgresql://app:secret@127.0.0.1/app"
    assert pipeline.database.keys == ("id",)
    assert pipeline.value.malformed == "fail"
    assert pipeline.spark.master == ""


def test_one_topic_needs_no_list() -> None:
    pipeline = parse_pipeline(SINK.replace('["orders"]', '"orders"'), {"PASSWORD": ""})
    assert isinstance(pipeline, SinkDatabase)
    assert pipeline.source.topics == ("orders",)


def test_every_pipeline_can_be_described() -> None:
    run = {"name": "p"}
    source = {"bootstrap_servers": "a:1", "topics": ["t"]}
    target = {"bootstrap_servers": "b:1"}
    assert isinstance(pipeline_from("mirror", {**run, "source": source, "target": target}), Mirror)
    transform = {**run, "source": source, "target": target, "query": {"sql": "SELECT value FROM records"}}
    assert isinstance(pipeline_from("transform", transform), Transform)
    outbox = {"url": "sqlite:x.db", "options": {"route.topic.replacement": "${routedByValue}"}}
    made = pipeline_from("outbox", {**run, "outbox": outbox, "target": target})
    assert isinstance(made, Outbox)
    assert made.outbox.options == {"route.topic.replacement": "${routedByValue}"}


@pytest.mark.parametrize(
    ("outbox", "told"),
    [
        ({"mode": "wal"}, "must be one of poll, log"),
        ({"slot": "relay"}, "did you mean mode"),
        ({"mode": "log", "delete_relayed": True}, "delete_relayed has no effect"),
        ({"mode": "log", "slot": "A-b"}, "slot = 'A-b'"),
    ],
)
def test_modes_of_the_outbox_are_checked(outbox: dict[str, Any], told: str) -> None:
    tables = {"name": "p", "target": {"bootstrap_servers": "b:1"}}
    with pytest.raises(InvalidSettings, match=told):
        pipeline_from("outbox", {**tables, "outbox": {"url": "postgresql://h/d", **outbox}})


def test_the_slot_is_named_after_the_pipeline() -> None:
    tables = {"target": {"bootstrap_servers": "b:1"}, "outbox": {"url": "postgresql://h/d", "mode": "log"}}
    made = pipeline_from("outbox", {"name": "Shop.orders-1", **tables})
    assert isinstance(made, Outbox)
    assert made.slot == "tidelog_shop_orders_1"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('pipeline = "sink-db"', "", "pipeline must be one of transform, mirror, outbox, sink-db"),
        ('pipeline = "sink-db"', 'pipeline = "sinkdb"', "but is 'sinkdb'"),
        ('name = "orders-to-table"', "", "the setting run.name is missing"),
        ('name = "orders-to-table"', 'name = "a b"', r"\[run\] name = 'a b'"),
        ("[value]", "[valu]", "valu is not a setting; did you mean value"),
        ("topics =", "topic =", "source.topic is not a setting; did you mean topics"),
        ('topics = ["orders"]', "topics = 3", "source.topics must be a list of texts"),
        ('topics = ["orders"]', "", "either topics or topic_pattern"),
        ("once = true", 'once = "yes"', "run.once = 'yes' must be true or false"),
        ('schema = "id BIGINT"', "", "needs a schema"),
        ('format = "json"', "", "did you mean format"),
        ('format = "json"', 'format = "avro"', "must be one of raw, json"),
        ('keys = ["id"]', "", "needs keys"),
        ('mode = "upsert"', "", "did you mean mode"),
        ("${env:PASSWORD}", "${env:NOBODY}", "no variable NOBODY"),
        ("[database]", "[database", "this is not TOML"),
    ],
)
def test_mistakes_are_told_with_their_place(old: str, new: str, told: str) -> None:
    assert old in SINK
    with pytest.raises(InvalidSettings, match=told):
        parse_pipeline(SINK.replace(old, new), {"PASSWORD": "x"})


def test_all_mistakes_are_told_at_once() -> None:
    with pytest.raises(InvalidSettings) as problem:
        pipeline_from("sink-db", {"source": {"topics": 1}, "database": {"tabel": "x"}})
    told = problem.value.problems
    assert len(told) >= 5
    assert any("source.bootstrap_servers is missing" in one for one in told)


def test_a_mirror_onto_the_same_cluster_needs_a_prefix() -> None:
    content = {
        "name": "m",
        "source": {"bootstrap_servers": "a:1", "topics": ["t"]},
        "target": {"bootstrap_servers": "a:1"},
    }
    with pytest.raises(InvalidSettings, match="mirrored endlessly"):
        pipeline_from("mirror", content)
    assert isinstance(pipeline_from("mirror", {**content, "mirror": {"topic_prefix": "b."}}), Mirror)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="cannot read"):
        read_pipeline_file(tmp_path / "none.toml")
    path = tmp_path / "bad.toml"
    path.write_text("x = ")
    with pytest.raises(InvalidSettings, match=re.escape(str(path))):
        read_pipeline_file(path)


@given(
    st.recursive(
        st.one_of(st.text(), st.integers(), st.booleans(), st.floats()),
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=3)),
        max_leaves=10,
    ),
    st.sampled_from(["source", "value", "database", "run", "spark"]),
)
def test_whatever_is_written_the_answer_is_settings_or_problems(content: object, table: str) -> None:
    tables: dict[str, object] = {
        "name": "p",
        "source": {"bootstrap_servers": "a:1", "topics": ["t"]},
        "database": {"url": "sqlite:x.db", "table": "t"},
    }
    tables[table] = content
    with suppress(InvalidSettings):
        assert isinstance(pipeline_from("sink-db", tables), SinkDatabase)


def test_the_settings_of_the_guide_are_settings() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "guide" / "pipelines.md").read_text()
    start, *sections = re.split(r"^## (transform|sink-db|outbox|mirror)$", guide, flags=re.MULTILINE)
    (common,) = toml_blocks(start)
    kinds = sections[::2]
    assert sorted(kinds) == sorted(PIPELINES)
    for kind, section in zip(kinds, sections[1::2], strict=True):
        known = {field.name for field in fields(PIPELINES[kind])}
        known |= {"name", "checkpoint", "once", "interval", "retry_for"}
        tables = {name: value for name, value in common.items() if name in known}
        # A second block of a section changes what the first one says.
        for block in toml_blocks(section):
            tables |= block
            assert isinstance(pipeline_from(kind, tables), PIPELINES[kind])


def toml_blocks(text: str) -> list[dict[str, Any]]:
    return [tomllib.loads(block) for block in re.findall(r"```toml\n(.*?)```", text, re.DOTALL)]


def test_producers_options_do_not_reach_clients_that_only_look_at_topics() -> None:
    given = {
        "kafka.compression.type": "zstd",
        "kafka.security.protocol": "SSL",
        "kafka.isolation.level": "x",
        "topic": "t",
    }
    assert client_options("h:1", given) == {"security.protocol": "SSL", "bootstrap.servers": "h:1"}
