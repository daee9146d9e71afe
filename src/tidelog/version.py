"""The version of this package, in a module that imports nothing."""

VERSION = "0.1.0"
