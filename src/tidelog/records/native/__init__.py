"""The compiled twins of modules of `tidelog.records`, where they have been built.

`hatch_build.py` puts them here; `tidelog.records.implementation` knows which they are, and whether they are used.
"""
