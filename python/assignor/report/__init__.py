"""Views of what happened: the report on a recording, findings, lag, tables, text and metrics."""

from assignor.report.report import Report

__all__ = ["Report"]
