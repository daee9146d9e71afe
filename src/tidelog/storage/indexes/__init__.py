"""The indexes beside a segment's log file.

sparse_index.py       sorted fixed-size entries, searched on disk
offset_index.py       `.index`: positions of offsets
time_index.py         `.timeindex`: offsets of timestamps
transaction_index.py  `.txnindex`: aborted transactions
"""
