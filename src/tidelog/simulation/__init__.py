"""Whole histories of real server and client code on one deterministic event loop.

    machines/    processes, virtual time, network, disks, and the world they form
    faults/      what goes wrong and when
    workloads/   what clients do
    checks/      what clients saw, whether it was allowed, and invariants of brokers
    scenario.py  what a seed stands for
    setup.py     brokers, topics and clients of a scenario
    ending.py    the end of a run: let clients finish, read everything again
    run.py       one seed
    campaign.py  many seeds

Everything random is drawn from the seed, so a failure is repeated by its seed. Nothing here opens a socket or a file,
reads a clock or starts a thread.
"""
