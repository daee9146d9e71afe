"""Offsets as brokers store them.

committed.py       what a group has committed: fetch and commit
listing.py         what partitions have: first, last, by time (ListOffsets)
group_metadata.py  as whom offsets are committed
"""
