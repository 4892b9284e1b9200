"""HTML of a page: sections with a chart and its table, filters, and everything that the charts need, in one file."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.dependencies import dependency, require
from assignor.errors import IllegalArgumentError
from assignor.page import sections
from assignor.page.cells import SEVERITIES, escape, escape_lines, rows_in_html
from assignor.page.compact import Texts, compact
from assignor.page.data import PageData
from assignor.page.palette import THEMES, mark
from assignor.page.tables import FIRST_GROUPS, TABLES, tables
from assignor.page.timeline import Timeline
from assignor.replay.event_text import group_title
from assignor.validation import check_path, wrong_type

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from assignor.page.data import Live, Row
    from assignor.page.tables import Tables


def write_page(path: str | os.PathLike[str], data: PageData, timeline: Timeline | None = None) -> None:
    """Write a page; an earlier file is replaced when the page is complete.

    Args:
        path: The HTML file.
        data: What the page shows.
        timeline: Counts of earlier events, to which those of `data` are added.

    Raises:
        IllegalArgumentError: The file cannot be written.
        WrongTypeError: An argument has another type.
        MissingDependencyError: altair or vl-convert-python is not installed.
    """
    check_page(path)
    write_html(path, page(data, timeline))


def write_html(path: str | os.PathLike[str], text: str) -> None:
    """Write the HTML of a page; an earlier file is replaced when the page is complete.

    Raises:
        IllegalArgumentError: The file cannot be written.
    """
    place = Path(path)
    part = place.with_name(f".{place.name}.{threading.get_native_id()}")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(place)
    except OSError as error:
        raise IllegalArgumentError(
            f"cannot write the page {path}: {error.strerror}; choose another file or free space"
        ) from error
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def check_page(path: str | os.PathLike[str]) -> None:
    """Check that a page can be made and written to a file, before anything is read.

    Args:
        path: The HTML file.

    Raises:
        IllegalArgumentError: The path is a folder or a device, or its folder does not exist or is not writable.
        MissingDependencyError: altair or vl-convert-python is not installed.
    """
    require("vl_convert", "altair")
    check_path(path, "cannot write the page", is_of_pyarrow=False)
    place = Path(path)
    if place.is_dir():
        raise IllegalArgumentError(f"cannot write the page {path}: it is a folder; give the name of a file")
    if place.exists() and not place.is_file():
        raise IllegalArgumentError(f"cannot write the page {path}: it is not a regular file; give another file")
    if not place.parent.is_dir():
        raise IllegalArgumentError(f"cannot write the page {path}: the folder {place.parent} does not exist; create it")
    if not os.access(place.parent, os.W_OK):
        raise IllegalArgumentError(f"cannot write the page {path}: the folder {place.parent} is not writable")


def page(data: PageData, timeline: Timeline | None = None, live: Live | None = None) -> str:
    """Return the HTML of a page.

    Args:
        data: What the page shows.
        timeline: Counts of earlier events, to which those of `data` are added.
        live: How the browser gets newer pages; None for a page in a file.

    Raises:
        WrongTypeError: An argument has another type.
        MissingDependencyError: altair or vl-convert-python is not installed.
    """
    if not isinstance(data, PageData):
        raise wrong_type("data", "a PageData", data)
    if timeline is not None and not isinstance(timeline, Timeline):
        raise wrong_type("timeline", "a Timeline or None", timeline)
    with ThreadPoolExecutor(1) as executor:  # creating the bundle takes seconds, in which other threads can run
        library = executor.submit(bundle)
        found = tables(data, timeline)
        from assignor.page.axes import bounds, config
        from assignor.page.charts import charts, data_sets, label_width

        since, until = bounds(found)
        specifications = charts(found)
        texts = Texts()
        content = {
            "since": since,
            "until": until,
            "step": found.step,
            "otherStep": found.other_step,
            "firstGroups": FIRST_GROUPS,
            "groups": [group_title(group) for group in found.shown],
            "labelWidth": label_width(found),
            "charts": specifications,
            "datasets": _data_sets(found, data_sets(found), texts, since),
            "texts": texts.found,
            "families": {cause: mark(cause).family for cause in found.causes},
            "severities": SEVERITIES,
            "themes": {name: config(theme) for name, theme in THEMES.items()},
        }
        return "".join(_document(data.title, found, set(specifications), content, library.result(), live))


def _data_sets(found: Tables, of_charts: Mapping[str, list[Row]], texts: Texts, since: int) -> dict[str, Any]:
    """Return the rows that the script reads: those of the charts, and those of tables that are not in the HTML."""
    groups = {group: rank for rank, group in enumerate(found.shown)}
    sets = {name: compact(rows, groups, texts, since, rows_in_html(name)) for name, rows in of_charts.items()}
    for name in TABLES:
        rows = (getattr(found, name) or [])[rows_in_html(name) :]
        if name not in sets and rows:
            sets[name] = compact(rows, groups, texts, since)
    return sets


def _document(
    title: str, found: Tables, charts: set[str], content: Mapping[str, Any], library: str, live: Live | None
) -> Iterator[str]:
    scripts = [library.replace("</script", r"<\/script"), resource("page.js"), *([resource("live.js")] if live else [])]
    yield "<!doctype html>\n"
    yield '<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_policy(scripts, is_live=live is not None)}">\n'
    yield f'<title>Consumer groups of {escape(title)}</title>\n<link rel="icon" href="data:,">\n'
    yield f"<style>\n{''.join(_colours())}{resource('page.css')}</style>\n</head>\n<body>\n"
    yield from sections.body(title, found, charts, live)
    source = "Made with assignor from the records of the topic <code>__consumer_offsets</code>."
    yield f"<footer>\n<p>Times are in UTC. {source}</p>\n"
    licences = escape_lines(resource("licences.txt").rstrip("\n"))
    yield f"<details><summary>Licences of the scripts in this page</summary><pre>{licences}</pre></details>\n"
    yield "</footer>\n"
    yield f'<script type="application/json" id="page-data">{_json(content)}</script>\n'
    for script in scripts:
        yield f"<script>{script}</script>\n"
    yield "</body>\n</html>\n"


def _policy(scripts: list[str], *, is_live: bool) -> str:
    """Return a policy that allows the scripts of the page, and no request but that for a newer page."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(each.encode()).digest()).decode()}'" for each in scripts
    )
    asked = "; connect-src 'self'" if is_live else ""
    return f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src {hashes}{asked}"


def _colours() -> Iterator[str]:
    for name, theme in THEMES.items():
        named = {field: value for field, value in theme._asdict().items() if field != "families"}
        named |= {f"family-{number}": value for number, value in enumerate(theme.families)}
        rules = " ".join(f"--{field}: {value};" for field, value in named.items())
        yield (
            f"@media (prefers-color-scheme: {name}) {{ :root {{ {rules} }} }}\n"
            if name == "dark"
            else f":root {{ {rules} }}\n"
        )


def _json(content: Mapping[str, Any]) -> str:
    """Return JSON that cannot end the script element that contains it."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":")).replace("<", r"\u003c")


@functools.cache
def bundle() -> str:
    """Return the JavaScript of Vega, Vega-Lite and vega-embed, which needs no network."""
    with dependency("vl_convert"):
        import vl_convert
    return str(vl_convert.javascript_bundle())  # type: ignore[call-arg]  # the snippet is optional


@functools.cache
def resource(name: str) -> str:
    """Return the text of a file of this package: `page.css`, `page.js`, `live.js` or `licences.txt`."""
    return files("assignor.page").joinpath(name).read_text(encoding="utf-8")
