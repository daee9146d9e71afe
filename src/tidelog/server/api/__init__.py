"""One module for each API, with its name: what it declares about itself (`API`), and its handler.

A module without handler is that of an API which the active controller, the quorum or a coordinator answers as it is, or
that is always refused. A handler is a function over the parts of the node that it uses, or a class where more than one
function uses them; `server/wiring.py` gives them these parts.

    catalogue.py              all declarations, and which listener serves which
    ports.py                  narrow views of the node that several handlers use
    produce_checks.py         Produce: the records themselves, before anything is appended
    transactional_produce.py  Produce: what the coordinator is asked, and what its answers mean
    legacy_produce.py         Produce: versions that are advertised and refused
"""
