"""What the partitioners do with records that have no key: how large batches they make, and how evenly they spread.

tidelog up                                  # in another terminal
python examples/partitioners.py
"""

from __future__ import annotations

import argparse
import asyncio
from collections import Counter

import tidelog

RECORDS = 2_000
PARTITIONS = 6


async def main(bootstrap_servers: str, topic: str) -> None:
    async with tidelog.Admin(bootstrap_servers) as admin:
        if topic not in {found.name for found in await admin.list_topics()}:
            await admin.create_topic(topic, partitions=PARTITIONS)
    async with tidelog.Producer(bootstrap_servers) as producer:
        # The leaders of new partitions need a moment, in which records would pile up to large batches.
        for partition in range(PARTITIONS):
            await (await producer.send(topic, "first", partition=partition))
    for name in ("round-robin", "sticky", "uniform-sticky"):
        async with tidelog.Producer(bootstrap_servers, partitioner=name, linger_ms=5) as producer:
            deliveries = []
            for number in range(RECORDS):
                deliveries.append(await producer.send(topic, f"record {number}"))
                if number % 50 == 0:
                    # As if records came over time: a batch that is not full leaves after linger.ms.
                    await asyncio.sleep(0.006)
            spread = Counter([(await delivery).partition for delivery in deliveries])
            size = producer.metrics()["batch-size-avg"]
        print(f"{name:15} {size:6.0f} bytes in a batch, records by partition: {[spread[n] for n in range(PARTITIONS)]}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--topic", default="partitioners")
    asyncio.run(main(**vars(parser.parse_args())))
