"""What readings mean. Pure: no clock, no disk, no network; the time is an argument.

rates.py      how fast counters grow
counted_log.py  how many records are between two offsets: neither control records nor gaps
lag.py        how far groups are behind, and when they catch up
reset_plan.py what a reset of committed offsets would change
holding_back.py  which open transactions hold back which partitions, and which groups wait for them
transaction_timeline.py  what has become of a transactional id, from its records
hanging.py    which open transactions nobody ends, and why
in_sync.py    which followers are behind, since when, and when they leave the in-sync set
differences.py  two states of one thing, field by field
metadata_records.py  records of the metadata log as rows, and what each is about
configurations.py  where values of properties come from, and what they would be otherwise
security_words.py  why users, ACLs and quotas are not told; ACLs as texts
documentation.py  documentation of properties as text
visible_text.py  text with what cannot be seen made visible
json_text.py  JSON as it is written, with all digits of its numbers
payload_forms.py  keys and values as JSON, text or hex
coordinator_records.py  records of groups and transactions as people read them
entry_documents.py  entries of a log as rows and in detail
positions.py  which partitions are read, from where, as addresses say it
record_filter.py  which records are wanted
record_drafts.py  a record that somebody has written down, as bytes
live_window.py  the newest records, with the ends of their transactions
exports.py    records as JSON Lines and CSV
pipeline_jobs.py  the pipelines that are known, each once
published_queries.py  what notes of the sink for Spark say
attention.py  what needs attention, in words
"""
