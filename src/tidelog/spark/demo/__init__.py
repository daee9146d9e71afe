"""`make run`: a Spark job is killed in the middle of a commit, and its output still equals its input exactly."""
