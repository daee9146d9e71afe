"""The log of one replica.

log.py                its offsets, what is known about its records, its lifetime
appending.py          appending as leader or follower, rolling
reader.py             reading by offset, aborted transactions, batches at a timestamp
timestamp_lookup.py   the offset of a timestamp
truncation.py         cutting off the end, or everything
retention.py          removing old segments
compacting.py         beginning a compaction
describing.py         what its segments are, for those who look at it
flush.py              syncing without stopping the log
producer_snapshot.py  `.snapshot` files
config.py             the topic's settings that apply to a log
environment.py        what the logs of one directory share
results.py            the results of a log's methods
"""
