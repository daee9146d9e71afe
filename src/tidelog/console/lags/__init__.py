"""Reading how far groups are behind: what they have committed, where the logs end, and how many records are between.

log_marks.py   where logs start and end, and how far committed records go, of many partitions
log_counts.py  counts the records that are not read yet, within bounds: each part of a log is read once
holding.py     which open transactions records are behind
group_lags.py  the lags of many groups: for the list of groups, and `lag_by_topic` for the list of topics
"""
