"""What goes wrong.

plan.py         which faults happen when, drawn from the seed
replacement.py  replaced disks and failing directories, where that is survivable
"""
