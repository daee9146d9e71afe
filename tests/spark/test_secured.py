"""Spark over SASL_SSL: source, sink and pipelines with the kafka.* options of Spark's own connector.

Trust stores are files that the workers open; secrets are in no plan, no message and no log.
"""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from support.database_rows import query
from support.filled_topics import new_topic_name
from support.identities import pkcs12_trust_store
from support.pipeline_runs import pipeline_run, run_in_session

from tidelog.client.consumer import Consumer
from tidelog.security.certificates import DevelopmentAuthority
from tidelog.spark.sink.options import sink_options
from tidelog.spark.source.options import batch_options
from tidelog.testing.broker_thread import BrokerThread

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

HOST = "127.0.0.1"
PASSWORD = "planted-user-secret"
STORE_PASSWORD = "planted-store-secret"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


@dataclass(frozen=True, slots=True, kw_only=True)
class Secured:
    servers: str
    # As users of Spark's own connector have them.
    options: dict[str, str]

    @property
    def all_options(self) -> dict[str, str]:
        return {"kafka.bootstrap.servers": self.servers, **self.options}


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    directory = tmp_path_factory.mktemp("security")
    authority = DevelopmentAuthority.new()
    keystore, truststore = directory / "keystore.pem", directory / "truststore.p12"
    keystore.write_bytes(authority.issue("broker", hosts=(HOST,)).keystore)
    truststore.write_bytes(pkcs12_trust_store(authority, STORE_PASSWORD))
    properties = {
        "listeners": f"SASL_SSL://{HOST}:0",
        "listener.security.protocol.map": "SASL_SSL:SASL_SSL",
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} user_spark="{PASSWORD}";',
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
    }
    options = {
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": f'{PLAIN} username="spark" password="{PASSWORD}";',
        "kafka.ssl.truststore.type": "PKCS12",
        "kafka.ssl.truststore.location": str(truststore),
        "kafka.ssl.truststore.password": STORE_PASSWORD,
    }
    with BrokerThread(properties=properties) as running:
        yield Secured(servers=running.bootstrap_servers, options=options)


def values(secured: Secured, topic: str, count: int) -> list[str]:
    async def read() -> list[str]:
        config = {name.removeprefix("kafka."): text for name, text in secured.all_options.items()}
        more = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
        found: list[str] = []
        async with Consumer(topic, config={**config, **more}) as consumer:
            while len(found) < count:
                found += [(record.value or b"").decode() for record in await consumer.poll(timeout_ms=1000)]
        return sorted(found)

    return asyncio.run(read())


def assert_no_secret(text: str) -> None:
    assert "planted" not in text


def test_rows_go_in_and_out(spark: SparkSession, secured: Secured, tmp_path: Path) -> None:
    topic, other = new_topic_name("secured"), new_topic_name("secured")
    rows = spark.range(100).selectExpr("CAST(id AS STRING) AS value")
    rows.write.format("tidelog").options(**secured.all_options, topic=topic).mode("append").save()
    stream = (
        spark.readStream.format("tidelog")
        .options(**secured.all_options, subscribe=topic, startingOffsets="earliest")
        .load()
    )
    writer = stream.select("value").writeStream.format("tidelog").options(**secured.all_options, topic=other)
    written = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    written.awaitTermination()
    again = spark.read.format("tidelog").options(**secured.all_options, subscribe=other).load()
    found = sorted(row.value.decode() for row in again.select("value").collect())
    assert found == sorted(str(number) for number in range(100)) == values(secured, other, 100)
    shown = io.StringIO()
    with redirect_stdout(shown):
        again.explain("extended")
        written.explain(True)
    assert "tidelog" in shown.getvalue()
    assert_no_secret(shown.getvalue())
    assert_no_secret(json.dumps(written.lastProgress, default=str))
    for file in (tmp_path / "checkpoint").rglob("*"):
        if file.is_file():
            assert_no_secret(file.read_bytes().decode(errors="replace"))


def test_options_are_not_shown(secured: Secured) -> None:
    assert_no_secret(repr(batch_options({**secured.all_options, "subscribe": "t"})))
    assert_no_secret(repr(sink_options({**secured.all_options, "topic": "t"})))


def test_mirror(spark: SparkSession, secured: Secured, tmp_path: Path) -> None:
    topic = new_topic_name("mirrored")
    spark.range(20).selectExpr("CAST(id AS STRING) AS value").write.format("tidelog").options(
        **secured.all_options, topic=topic
    ).mode("append").save()
    tables = {
        "run": {"name": topic},
        "source": {"bootstrap_servers": secured.servers, "topics": [topic], "options": secured.options},
        "target": {"bootstrap_servers": secured.servers, "options": secured.options},
        "mirror": {"topic_prefix": "copy."},
    }
    shown = run_in_session(spark, "mirror", tables, tmp_path / "checkpoint")
    assert values(secured, f"copy.{topic}", 20) == sorted(str(number) for number in range(20))
    assert_no_secret(shown)


def test_outbox(spark: SparkSession, secured: Secured, tmp_path: Path) -> None:
    kind, url = new_topic_name("order"), f"sqlite:///{tmp_path / 'shop.db'}"
    outbox = {"url": url, "create_table": True}
    tables = {
        "run": {"name": kind},
        "outbox": outbox,
        "target": {"bootstrap_servers": secured.servers, "options": secured.options},
    }
    run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
    columns = "id, aggregatetype, aggregateid, type, payload"
    query(url, f"INSERT INTO outbox ({columns}) VALUES ('1', '{kind}', 'a', 'made', '{{}}')")
    run_in_session(spark, "outbox", tables, tmp_path / "checkpoint")
    assert values(secured, f"outbox.event.{kind}", 1) == ["{}"]


def test_a_pipeline_with_a_wrong_password_ends_with_the_reason(secured: Secured, tmp_path: Path) -> None:
    """It is not taken for a broker that is away for a while: retry_for is ten minutes."""
    wrong = {**secured.options, "kafka.sasl.jaas.config": f'{PLAIN} username="spark" password="planted-guess";'}
    listed = "\n".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in wrong.items())
    toml = f"""\
pipeline = "transform"
[run]
name = "refused"
once = true
checkpoint = {json.dumps(str(tmp_path / "checkpoint"))}
[source]
bootstrap_servers = {json.dumps(secured.servers)}
topics = ["t"]
[source.options]
{listed}
[query]
sql = "SELECT value FROM records"
[target]
bootstrap_servers = {json.dumps(secured.servers)}
topic = "u"
[target.options]
{listed}
"""
    with pipeline_run(tmp_path, "refused", toml) as run:
        shown = run.wait_until_done(code=1)
    assert "the broker refuses the user 'spark' with PLAIN" in shown
    assert_no_secret(shown)
