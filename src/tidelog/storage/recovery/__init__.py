"""Loading a log, quickly after a clean shutdown, and after checking it otherwise.

recovery.py          the steps of loading one log
load_request.py      what is known of a log before it is loaded
segment_recovery.py  one segment: its valid part, its indexes rebuilt
evidence.py          how the last run ended, and what must be there
clean_shutdown.py    `.kafka_cleanshutdown`
leftovers.py         what a crash leaves beside good files
damage.py            damage, which is reported and never cut off
"""
