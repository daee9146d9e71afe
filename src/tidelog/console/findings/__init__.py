"""What readings mean. Pure: no clock, no disk, no network; the time is an argument.

rates.py      how fast counters grow
in_sync.py    which followers are behind, since when, and when they leave the in-sync set
differences.py  two states of one thing, field by field
metadata_records.py  records of the metadata log as rows, and what each is about
attention.py  what needs attention, in words
"""
