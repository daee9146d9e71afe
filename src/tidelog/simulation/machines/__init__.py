"""Machines, and the world in which they run.

world.py       machines, clients, and faults as they happen
node.py        a machine with a broker on it
process.py     what is paused or killed together
loop.py        the event loop with virtual time
network.py     hosts, links and listeners
transport.py   one side of a connection
disk.py        a disk that forgets what was not synced
filesystem.py  the file system port of one process
clock.py       wrong clocks, repeatable randomness
"""
