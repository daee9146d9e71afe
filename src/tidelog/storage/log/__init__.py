"""The log of one replica.

log.py                append, roll, cut, flush; the only writer of its segments
reader.py             reading by offset and timestamp, aborted transactions
timestamp_lookup.py   the offset of a timestamp
retention.py          which segments may be deleted
flush.py              syncing without stopping the log
producer_snapshot.py  `.snapshot` files
config.py             the topic's settings that a log obeys
state.py              what a log is made of when it is opened
results.py            what a log answers
"""
