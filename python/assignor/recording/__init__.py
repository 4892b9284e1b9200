"""Recordings of `__consumer_offsets`: the folder with their files, and the report on their groups."""

from assignor.recording.folder import COLUMNS, Recording
from assignor.recording.report import Report

__all__ = ["COLUMNS", "Recording", "Report"]
