"""The indexes beside a segment's log file.

entry_file.py         a file of fixed-size entries
sparse_index.py       sorted entries, searched on disk
offset_index.py       `.index`: positions of offsets
time_index.py         `.timeindex`: offsets of timestamps
transaction_index.py  `.txnindex`: aborted transactions
"""
