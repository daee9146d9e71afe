"""Measurements. `make bench` runs them all; `python -m benchmarks NAME ...` some of them."""
