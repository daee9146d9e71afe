"""One log directory (an entry of `log.dirs`).

log_directory.py          its logs from opening to closing
directory_checkpoints.py  the offsets of all logs that the next start needs
future_logs.py            copies of logs that are being moved here
new_logs.py               the directory of a new log
directory_record.py       keeps `.tidelog-state` up to date
directory_state.py        the content of `.tidelog-state`
disk_health.py            whether the directory can still be used
checkpoints.py            the format of checkpoint files
meta_properties.py        `meta.properties`: cluster, node and directory id
partition_metadata.py     `partition.metadata`: the topic id of a partition
removal.py                files and directories that wait to be removed
"""
