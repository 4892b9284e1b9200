"""Scripts that a page contains: Vega, Vega-Lite and vega-embed in one bundle, with their licences."""

from __future__ import annotations

import functools
from importlib.resources import files


@functools.cache
def bundle() -> str:
    """Return the JavaScript of Vega, Vega-Lite and vega-embed, which needs no network."""
    import vl_convert

    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # the snippet is optional


@functools.cache
def resource(name: str) -> str:
    """Return the text of a file of this package: `page.css`, `page.js` or `licences.txt`."""
    return files("assignor.page").joinpath(name).read_text(encoding="utf-8")
