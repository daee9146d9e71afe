"""Compaction: the last value of each key stays, offsets never change. Begin with `compaction.py`."""
