"""Count words, exactly once: start it several times, kill it when you like, and the counts stay right.

    tidelog up                                  # in another terminal
    tidelog produce --topic lines               # type some lines
    python examples/exactly_once_loop.py --name one
    python examples/exactly_once_loop.py --name two      # as many as there are partitions

Each word of the topic `lines` becomes one record of the topic `words`, with the word as its key.
"""

from __future__ import annotations

import argparse
import asyncio

import tidelog


async def split(records: list[tidelog.ConsumerRecord], producer: tidelog.Producer) -> None:
    """One transaction: whatever is sent here becomes visible together with the offsets of `records`."""
    for record in records:
        for word in (record.value or b"").decode().lower().split():
            await producer.send("words", "1", key=word)


async def main(bootstrap_servers: str, name: str, stop_after: int) -> None:
    async with tidelog.ExactlyOnceLoop(
        "lines",
        bootstrap_servers=bootstrap_servers,
        group_id="word-splitter",
        transactional_id=f"word-splitter-{name}",
        process=split,
    ) as loop:
        committed = 0
        while committed < stop_after or not stop_after:
            count = await loop.step()
            committed += count
            if count:
                print(f"committed {committed} lines")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="127.0.0.1:9092")
    parser.add_argument("--name", default="one", help="this instance's own, and the same after a restart")
    parser.add_argument("--stop-after", type=int, default=0, metavar="LINES", help="0: go on for ever")
    asyncio.run(main(**vars(parser.parse_args())))
