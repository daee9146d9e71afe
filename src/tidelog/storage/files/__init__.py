"""Files: the port through which all file work goes.

filesystem.py        the port, and the failure that file work ends in
local_filesystem.py  the file system of the machine
open_files.py        descriptors, used sparingly
slices.py            parts of files that are sent without being read
file_names.py        Kafka's names of files and directories
"""
