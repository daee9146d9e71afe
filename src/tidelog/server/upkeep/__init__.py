"""What a broker does on its own, without being asked.

housekeeping.py  at intervals: checkpoints, flushes, retention, expiry of producers
old_segments.py  deletes expired segments of one replica
cleaning.py      compacts logs, the dirtiest first
"""
