"""Options of a command from a file and from variables of the environment, for a process that a service manager starts.

The command line comes first, then the environment, then the file, then the default.
"""

from __future__ import annotations

import argparse
import difflib
import re
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assignor.errors import IllegalArgumentError
from assignor.validation import check_path, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    Parse = Callable[[Sequence[str]], argparse.Namespace]

_OF_KUBERNETES = re.compile(
    r".+_(SERVICE_HOST=.*|SERVICE_PORT(_.+)?=.*|PORT=(tcp|udp|sctp)://.*|PORT_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?=.*)"
)
"""Variables that Kubernetes sets in each container for each Service: one can be named `assignor-watch`."""

_FLAGS = {"true": True, "1": True, "false": False, "0": False}


def add_config(command: argparse.ArgumentParser) -> None:
    """Add the option `--config`."""
    command.add_argument(
        "--config",
        metavar="FILE",
        help="read options from this TOML file, in which a key is an option without its dashes; variables such as "
        f"{_variable(command.prog)}_CONFIG come before the file, and options here before both",
    )


def configure(
    given: argparse.Namespace,
    actions: Sequence[argparse.Action],
    parse: Parse,
    environment: Mapping[str, str],
    program: str,
) -> None:
    """Fill in the options that the command line does not have.

    Args:
        given: Options of the command line; None for each one that is not there. The result is written to it.
        actions: Options of the command.
        parse: Function that returns the options of a command line as `given` has them.
        environment: Variables of the environment.
        program: The command, such as `assignor watch`, whose variables begin with `ASSIGNOR_WATCH_`.

    Raises:
        IllegalArgumentError: The file cannot be read or is not TOML, or an option does not exist or has a wrong value.
    """
    options = {_key(action): action for action in actions}
    found: dict[str, Any] = {}
    variables = {f"{_variable(program)}_{_variable(key)}": action for key, action in options.items()}
    for variable, text in environment.items():
        action = variables.get(variable)
        if action is None:
            if variable.startswith(f"{_variable(program)}_") and not _OF_KUBERNETES.fullmatch(f"{variable}={text}"):
                raise _unknown("the environment", "variable", variable, variables, program)
        elif text:
            found[action.dest] = _value(action, _of_text(action, text, variable), variable, parse)
    path = given.config or found.get("config")
    for key, value in ({} if path is None else _read(path)).items():
        if key not in options or key == "config":
            raise _unknown(path, "option", key, options, program)
        place = f"{path}: {key}"
        found.setdefault(options[key].dest, _value(options[key], value, place, parse))
    for action in actions:
        if getattr(given, action.dest) is None:
            setattr(given, action.dest, found.get(action.dest, action.default))


def _key(action: argparse.Action) -> str:
    return action.option_strings[-1].removeprefix("--")


def _variable(name: str) -> str:
    return re.sub("[- ]", "_", name).upper()


def _read(path: str) -> dict[str, Any]:
    """Return the keys and values of a file."""
    check_path(path, "--config", is_of_pyarrow=False)
    try:
        return tomllib.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise IllegalArgumentError(f"--config {path}: {error.strerror}; give a file that can be read") from None
    except (ValueError, RecursionError) as error:  # not TOML, or not UTF-8
        raise IllegalArgumentError(f"--config {path} is not TOML: {error}") from None


def _of_text(action: argparse.Action, text: str, place: str) -> object:
    """Return the value of a variable."""
    if action.nargs == 0:
        if text.lower() not in _FLAGS:
            raise IllegalArgumentError(f"{place} must be true or false, not {shown(text)}")
        return _FLAGS[text.lower()]
    return text.split(",") if _is_list(action) else text


def _is_list(action: argparse.Action) -> bool:
    return isinstance(action.default, list)


def _value(action: argparse.Action, value: object, place: str, parse: Parse) -> Any:
    """Return a value as the command line has it, with the same checks.

    Raises:
        IllegalArgumentError: The value is not one of the option.
    """
    if action.nargs == 0:
        if not isinstance(value, bool):
            raise IllegalArgumentError(f"{place} must be true or false, not {shown(value)}")
        return value
    values = list(value) if isinstance(value, list) and _is_list(action) else [value]
    if not values:
        return []
    if any(isinstance(each, bool) or not isinstance(each, str | int | float) for each in values):
        wanted = "text, a number or a list of them" if _is_list(action) else "text or a number"
        raise IllegalArgumentError(f"{place} must be {wanted}, not {shown(value)}")
    try:
        return getattr(parse([f"--{_key(action)}={each}" for each in values]), action.dest)
    except argparse.ArgumentError as error:
        raise IllegalArgumentError(f"{place}: {error.message}") from None


def _unknown(place: object, what: str, name: str, names: Iterable[str], program: str) -> IllegalArgumentError:
    similar = difflib.get_close_matches(name, list(names), 1)
    hint = f"did you mean {similar[0]}? " if similar else ""
    return IllegalArgumentError(
        f"{place} has the unknown {what} {shown(name)}; {hint}`{program} --help` lists the options"
    )
