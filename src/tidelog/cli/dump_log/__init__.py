"""What `tidelog dump-log` prints, file by file.

options.py    what is shown of them
batches.py    segments and metadata snapshots
indexes.py    the files beside a segment, and what is wrong with them
decoders.py   keys and values, read in one of several ways
json_form.py  messages as the JSON that Kafka's tools print
"""
