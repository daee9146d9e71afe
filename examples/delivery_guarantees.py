"""The three guarantees of a producer, and what it takes: at most once, at least once, exactly once.

    tidelog up                                  # in another terminal
    python examples/delivery_guarantees.py

Shows, too, that a configuration which cannot keep its promise is refused before anything is sent.
"""

from __future__ import annotations

import argparse
import asyncio

import tidelog

GUARANTEES: dict[str, dict[str, str | int | bool]] = {
    # Nobody answers, nothing is repeated: a record that gets lost is lost.
    "at most once": {"acks": 0, "retries": 0},
    # What was not acknowledged is sent again, although the acknowledgement may be all that got lost.
    "at least once": {"acks": "all", "enable.idempotence": False},
    # The broker knows a repeated record by its producer id and sequence number. The default.
    "exactly once": {"acks": "all", "enable.idempotence": True},
}


async def main(bootstrap_servers: str, topic: str) -> None:
    for name, options in GUARANTEES.items():
        async with tidelog.Producer(bootstrap_servers, config=options) as producer:
            delivery = await producer.send(topic, name)
            stored = await delivery
        place = f"at offset {stored.offset}" if stored.offset >= 0 else "somewhere, as far as we know"
        print(f"{name}: stored {place}")
    try:
        tidelog.Producer(bootstrap_servers, enable_idempotence=True, acks=1)
    except ValueError as error:
        print(f"refused: {error}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--topic", default="peter-test04")
    asyncio.run(main(**vars(parser.parse_args())))
