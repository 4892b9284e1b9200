"""Page with charts: what happened to the groups of a cluster, as one HTML file that works without a network."""

from assignor.page.data import PageData
from assignor.page.html import check_page, page, write_page

__all__ = ["PageData", "check_page", "page", "write_page"]
