"""Tests of assignor, one folder per room."""
