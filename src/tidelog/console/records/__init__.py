"""Reading records for a page: of one partition, or of several merged by time; within bounds, whatever is asked for.

places.py          what is read: partitions, their first and last offsets, where reading begins
directed_logs.py   the log of one partition, entry by entry, towards newer or towards older ones
portions.py        a portion of several logs, in the order of time, with a filter
patterns.py        regular expressions, in a process that is ended if they take too long
pattern_worker.py  what runs in that process
filtering.py      tests entries against what is wanted
live.py            the newest records of a topic, reading by reading
downloads.py       records as a file, piece by piece
"""
