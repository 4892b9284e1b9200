"""Tests of the package, the command line, the documentation and the structure of the project."""
