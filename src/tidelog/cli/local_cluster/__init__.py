"""`tidelog up --nodes N` and `tidelog up --cores N`: several processes on this machine, under one command.

nodes.py              `--nodes`: each node is a controller too, with replication, to try out fail-over
cores.py              `--cores`: partitions spread over processes, one copy of each; what dies is started again
core_settings.py      the properties that the processes of `--cores` start with
core_placement.py     where the partitions are
core_report.py        what `--cores` says: where it listens, which processes have no partitions yet
restarts.py           how often, and after which pause, a process is started again (pure)
collected_metrics.py  one page with the metrics of all processes
data_directory.py     what a data directory holds, and which starts on it are refused
node_files.py         the properties file and the formatted directory of each process
start_security.py     how what is started is reached: openly, or with `--secure`
announcement.py       the words by which a node says that it serves
processes.py          the processes themselves, which end when this one does
attached_console.py   the console of `--console`, which ends when this process does
ports.py              ports that are free
"""
