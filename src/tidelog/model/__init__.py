"""Words that every layer shares: error codes, ids, ports, and what must always hold.

errors.py            Kafka's error codes, and the exception that carries one to the reply
ids.py               topic ids, partitions, and the numbers that stand for "none"
invariants.py        what `check_invariants` raises
lazy_dataclasses.py  `dataclass`, with methods that are made when they are first used
pipeline_status.py   what a pipeline on Spark tells about itself
ports.py             time and randomness
principal.py         who sends a request
segment_states.py    what the cleaner has done with a segment
transitions.py       tables of states and the steps between them
offset_times.py      timestamps with a meaning of their own in ListOffsets
topics.py            valid topic names, and the names of internal topics
unread.py            bytes that stay in their file until they are sent
"""
