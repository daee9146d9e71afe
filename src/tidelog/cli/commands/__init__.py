"""One module for each command, named as the command. What they share is in `tidelog.cli`.

up.py                   up, server: start a node, or a cluster
storage_format.py       format: the directories of a node
topics.py               topics
configs.py              configs
groups.py               groups
users.py                users: passwords of SCRAM
acls.py                 acls
quotas.py               quotas
transactions.py         transactions
cluster.py              cluster
produce.py              produce
consume.py              consume
get_offsets.py          get-offsets
delete_records.py       delete-records
log_dirs.py             log-dirs
broker_api_versions.py  broker-api-versions
dump_log.py             dump-log
verify.py               verify: where a log directory is damaged
console.py              console: a page in the browser
pipeline.py             pipeline: ready Spark jobs
simulate.py             simulate: clusters in virtual time, broken by seed
doctor.py               doctor: what works on this machine
tour.py                 tour: a broker at work, in a page of text
"""
