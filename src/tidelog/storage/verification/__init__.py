"""Reading everything that is stored and telling what is wrong with it. Begin with `directory.py`."""
