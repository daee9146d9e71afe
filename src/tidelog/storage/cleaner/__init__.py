"""Compaction: the last value of each key stays, offsets never change.

selection.py     how dirty a log is, and which log to compact first
grouping.py      which neighbouring segments become one
compaction.py    one compaction of one log, in small steps
key_map.py       the last offset of each key, in bounded memory
batch_filter.py  what becomes of one batch
large_batch.py   batches that are filtered record by record
transactions.py  transactions in the compacted part, and their markers
exchange.py      puts a compacted segment into place
gaps.py          `.tidelog-gaps`: where offsets may be missing
"""
