"""The job that is killed: the ready pipeline `transform`, as the TOML file that describes it. No I/O.

Only the delivery differs between the two runs that are compared.
"""

from __future__ import annotations

import json
from pathlib import Path

# What the pipeline does. `tidelog.spark.demo.orders.expected_result` says the same in Python.
SQL = "SELECT record.key, to_json(struct(id, price * quantity AS total)) AS value FROM records"

_FILE = """\
pipeline = "transform"
name = {name}
checkpoint = {checkpoint}
once = true

[source]
bootstrap_servers = {servers}
topics = [{source}]
max_records_per_batch = {orders_per_batch}

[value]
format = "json"
schema = "id BIGINT, price BIGINT, quantity BIGINT"

[query]
sql = {sql}

[target]
bootstrap_servers = {servers}
topic = {target}
options.delivery = {delivery}

[spark]
master = "local[2]"
config."spark.driver.extraJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
"""


def pipeline_file(
    *, servers: str, source: str, target: str, delivery: str, checkpoint: Path, orders_per_batch: int
) -> str:
    quoted = {
        "name": target,
        "checkpoint": str(checkpoint),
        "servers": servers,
        "source": source,
        "target": target,
        "delivery": delivery,
        "sql": SQL,
    }
    # Strings of JSON are strings of TOML as well.
    return _FILE.format(**{name: json.dumps(text) for name, text in quoted.items()}, orders_per_batch=orders_per_batch)
