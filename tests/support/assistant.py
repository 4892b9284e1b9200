"""The client of the official SDK, which asks the server of `assignor mcp` over standard input and output."""

from __future__ import annotations

import asyncio
import os
import sys
from typing import TYPE_CHECKING, Any

from mcp import Client, StdioServerParameters, stdio_client

if TYPE_CHECKING:
    from collections.abc import Iterable

Call = tuple[str, dict[str, Any]]
"""Name of a tool, and its arguments."""

_SECONDS = 120


def ask(options: list[str], calls: Iterable[Call]) -> tuple[list[Any], list[Any]]:
    """Start `assignor mcp` with options, and return its tools and its answers to the calls."""
    return asyncio.run(asyncio.wait_for(_asked(options, calls), _SECONDS))


async def _asked(options: list[str], calls: Iterable[Call]) -> tuple[list[Any], list[Any]]:
    arguments = ["-m", "assignor", "mcp", *options]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=dict(os.environ))
    async with Client(stdio_client(server)) as client:
        listed = await client.list_tools()
        return listed.tools, [await client.call_tool(name, given) for name, given in calls]


def text(answer: Any) -> str:
    """Return the text of an answer."""
    (content,) = answer.content
    return str(content.text)
