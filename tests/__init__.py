"""Tests of assignor, one folder for each part of the package."""
