"""The `tidelog` command. Each command is a module in `commands/`; what they are made of is beside it.

main.py                finds the module of a command, and turns failures into one line
session.py             options that lead to a cluster, properties of clients, running asynchronous code
properties.py          other properties, from files and options
failures.py            what a command raises when it cannot do its work
output.py              JSON for programs, Kafka's columns for everybody else
option_groups.py       options that several commands have
cluster_options.py     those of every command of a cluster
topic_selection.py     topics and partitions as people choose them
partition_files.py     JSON files that say something for each of several partitions
passwords.py           passwords, never from the command line
times.py               points in time and durations as people type them
commands/              one module for each command
dump_log/              how `dump-log` reads files and prints them
local_cluster/         `up --nodes N` and `up --cores N`: several processes on this machine
cluster_report.py      `cluster`: nodes, quorum and partitions as lines
reassignments.py       `cluster`: moving replicas
spreading.py           `cluster --spread-over`: which replicas to move (pure)
topics_description.py  `topics --describe`
groups_description.py  `groups --describe`
groups_offsets.py      `groups --reset-offsets`, `--delete-offsets`
acl_arguments.py       `acls`: options become ACLs
line_reader.py         `produce`: a line becomes a record
record_format.py       `consume`: a record becomes a line
formatters.py          `consume --formatter`: records of coordinators
"""
