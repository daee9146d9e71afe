"""Offsets as brokers store them.

committed.py       what a group has committed: fetch and commit
listing.py         what partitions have: first, last, by time (ListOffsets)
epoch_ends.py      where the epochs of leaders end (OffsetForLeaderEpoch)
group_metadata.py  as whom offsets are committed
"""
