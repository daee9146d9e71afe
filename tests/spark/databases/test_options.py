from __future__ import annotations

import pytest

from tidelog.spark.databases.options import (
    OFFSET,
    PARTITION,
    TOPIC,
    DatabaseUrl,
    Engine,
    InvalidDatabaseOption,
    Mode,
    parse_sink_options,
    parse_url,
    split_table,
    table_columns,
)


@pytest.mark.parametrize(
    ("text", "engine", "location"),
    [
        ("postgresql://me@host/db", Engine.POSTGRESQL, "postgresql://me@host/db"),
        ("postgres://host/db", Engine.POSTGRESQL, "postgres://host/db"),
        ("host=127.0.0.1 dbname=x", Engine.POSTGRESQL, "host=127.0.0.1 dbname=x"),
        ("sqlite:///orders.db", Engine.SQLITE, "orders.db"),
        ("sqlite:////var/orders.db", Engine.SQLITE, "/var/orders.db"),
        ("sqlite:/var/orders.db", Engine.SQLITE, "/var/orders.db"),
        ("sqlite:with%20space.db", Engine.SQLITE, "with space.db"),
    ],
)
def test_addresses_lead_to_an_engine(text: str, engine: Engine, location: str) -> None:
    assert parse_url(text) == DatabaseUrl(engine=engine, location=location)


@pytest.mark.parametrize("text", ["", "mysql://root:secret@host/db", "sqlite:", "sqlite://host/x.db", "orders.db"])
def test_other_addresses_are_refused_without_telling_the_password(text: str) -> None:
    with pytest.raises(InvalidDatabaseOption) as problem:
        parse_url(text)
    assert "secret" not in str(problem.value)


NEEDED = {"url": "sqlite:x.db", "table": "orders", "pipeline": "p"}


def test_options_are_read() -> None:
    options = parse_sink_options({**NEEDED, "mode": "UPSERT", "keys": "id, region", "takesOver": "q"})
    assert (options.mode, options.keys, options.takes_over) == (Mode.UPSERT, ("id", "region"), "q")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"url": "sqlite:x.db"}, "table, pipeline"),
        ({**NEEDED, "mode": "merge"}, "append or upsert"),
        ({**NEEDED, "mode": "upsert"}, "needs keys"),
        ({**NEEDED, "keys": "id"}, "did you mean mode=upsert"),
    ],
)
def test_options_that_cannot_work_are_refused(options: dict[str, str], told: str) -> None:
    with pytest.raises(InvalidDatabaseOption, match=told):
        parse_sink_options(options)


def test_columns_of_the_table_are_those_that_are_not_beside_it() -> None:
    origin = (TOPIC, PARTITION, OFFSET)
    assert table_columns(("id", *origin, "name"), ("id",)) == ("id", "name")
    with pytest.raises(InvalidDatabaseOption, match="key columns code"):
        table_columns(("id", *origin), ("code",))
    with pytest.raises(InvalidDatabaseOption, match="which row is newer"):
        table_columns(("id", "name"), ("id",))
    with pytest.raises(InvalidDatabaseOption, match="no columns"):
        table_columns(origin, ())


def test_tables_have_at_most_a_schema() -> None:
    assert split_table("orders") == ("orders",)
    assert split_table('sales."Orders"') == ("sales", "Orders")
    for wrong in ("a.b.c", "", "a."):
        with pytest.raises(InvalidDatabaseOption):
            split_table(wrong)
