"""Send records in a transaction, with single calls, as one does it in Java.

    tidelog up                                  # in another terminal
    python examples/exactly_once_producer.py

Readers with isolation.level=read_committed see all of the records or none. Each producer that runs at the same time
needs a transactional.id of its own; one that comes with the same id takes over, and the one before is fenced.
"""

from __future__ import annotations

import argparse
import asyncio

import tidelog


async def main(bootstrap_servers: str, topic: str, transactional_id: str, count: int) -> None:
    config: dict[str, str | int | bool] = {
        "bootstrap.servers": bootstrap_servers,
        # The first four are the defaults here. They are written out because exactly once needs all of them.
        "enable.idempotence": True,
        "acks": "all",
        "max.in.flight.requests.per.connection": 5,
        "retries": 5,
        "transactional.id": transactional_id,
    }
    async with tidelog.Producer(config=config) as producer:
        # Asks the coordinator for a producer id and a new epoch; what a predecessor has left open is aborted.
        await producer.init_transactions()
        await producer.begin_transaction()
        try:
            for number in range(count):
                await producer.send(topic, f"Apache Kafka is a distributed streaming platform - {number}")
            await producer.flush()
            await producer.commit_transaction()
        except tidelog.FatalError:
            # Another producer has taken over, or the broker does not let us: nothing can be aborted any more.
            raise
        except tidelog.OutcomeUnknown:
            # The commit may have happened. Aborting now would say otherwise.
            raise
        except Exception:
            await producer.abort_transaction()
            raise
    print("Message sent successfully")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--topic", default="peter-test05")
    parser.add_argument("--transactional-id", default="peter-transaction-01")
    parser.add_argument("--count", type=int, default=1)
    asyncio.run(main(**vars(parser.parse_args())))
