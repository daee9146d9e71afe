"""One module for each API, with its name: what it declares about itself (`API`), and its handler.

A module without handler is that of an API which the active controller or the quorum answers as it is. A handler gets
the parts of the node that it uses through its constructor; `server/wiring.py` builds them all.

    catalogue.py              all declarations, and which listener serves which
    ports.py                  narrow views of the node that several handlers use
    produce_checks.py         Produce: the records themselves, before anything is appended
    transactional_produce.py  Produce: what the coordinator is asked, and what its answers mean
    legacy_produce.py         Produce: versions that are advertised and refused
"""
