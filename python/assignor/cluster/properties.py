"""Settings of Java clients: the format of their files, and the settings of librdkafka with the same meaning."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from assignor.errors import IllegalArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)\s*[=:]?\s*(.*)", re.DOTALL)
_LOGIN = re.compile(r"""(\w[\w.]*)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;]+))""")

_PEM = re.compile(rb"^-----BEGIN", re.MULTILINE)  # text such as the certificate's subject may precede it
_JAVA_KEY_STORE = b"\xfe\xed\xfe\xed"

_SAME_VALUE = {
    "sasl.mechanism": "sasl.mechanisms",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "ssl.truststore.certificates": "ssl.ca.pem",
    "request.timeout.ms": "socket.timeout.ms",
}
"""Settings of Java clients to settings of librdkafka with the same values."""

_OF_JAVA = re.compile(
    r"""(key|value)\.deserializer | security\.providers | ssl\.(protocol|provider|(key|trust)manager\.algorithm)
    | ssl\.(truststore|keystore)\.type | ssl\.truststore\.password | ssl\.(engine\.factory\.class|secure\.random.*)
    | (default\.api|socket\.connection\.setup)\.timeout.* | retries | metric.* | auto\.include\.jmx\.reporter
    | bootstrap\.controllers | sasl\.client\.callback\.handler\.class | sasl\.login\.(?!callback).*
    | sasl\.kerberos\.(ticket|min\.time).* | (send|receive)\.buffer\.bytes | max\.poll\.records
    | interceptor\.classes | partition\.assignment\.strategy | group\..* | enable\.auto\.commit | auto\.offset\.reset
    | isolation\.level | exclude\.internal\.topics | client\.dns\.lookup""",
    re.VERBOSE,
)
"""Settings of Java clients that have no effect in a client that only reads, or that exist only for Java itself."""


def parse_properties(data: bytes) -> dict[str, str]:
    r"""Parse a file in the format of `java.util.Properties`.

    The text is UTF-8, or Latin-1 if it is not valid UTF-8.

    Example:
        >>> parse_properties(b"# comment\nsasl.mechanism = PLAIN\nclient.id:a\\\n   b\n")
        {'sasl.mechanism': 'PLAIN', 'client.id': 'ab'}
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    found: dict[str, str] = {}
    line = ""
    for part in re.split(r"\r\n|\r|\n", text):
        part = part.lstrip(" \t\f")
        if not line and (not part or part[0] in "#!"):
            continue
        line += part
        if (len(line) - len(line.rstrip("\\"))) % 2:
            line = line[:-1]
            continue
        _add(found, line)
        line = ""
    if line:
        _add(found, line)
    return found


def _add(found: dict[str, str], line: str) -> None:
    match = _KEY.fullmatch(line)
    assert match, "every line matches"
    found[_unescape(match[1])] = _unescape(match[2])


def _unescape(text: str) -> str:
    def character(match: re.Match[str]) -> str:
        return chr(int(match[1], 16)) if match[1] else _ESCAPES.get(match[2], match[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", character, text, flags=re.DOTALL)


def to_librdkafka(properties: Mapping[str, str]) -> dict[str, str]:
    """Return settings of a Java client as settings of librdkafka.

    Settings that librdkafka also has keep their name and value. Settings that have no effect on reading, or that exist
    only for Java itself, are omitted.

    Raises:
        IllegalArgumentError: librdkafka has no setting with the same meaning, such as for a Java key store.

    Example:
        >>> login = 'org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";'
        >>> to_librdkafka({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", "sasl.jaas.config": login})
        {'security.protocol': 'SASL_SSL', 'sasl.mechanisms': 'PLAIN', 'sasl.username': 'a', 'sasl.password': 'b'}
    """
    found: dict[str, str] = {}
    for name, value in properties.items():
        if name in _TRANSLATED:
            found |= _TRANSLATED[name](value)
        elif name in _SAME_VALUE:
            found[_SAME_VALUE[name]] = value
        elif not _OF_JAVA.fullmatch(name):
            found[name] = value
    return found


def _login(text: str) -> dict[str, str]:
    """Translate `sasl.jaas.config`."""
    module, _, rest = text.strip().partition(" ")
    given = {
        name: re.sub(r"\\(.)", r"\1", double or single) or plain for name, double, single, plain in _LOGIN.findall(rest)
    }
    module = module.rpartition(".")[2]
    if module in ("PlainLoginModule", "ScramLoginModule"):
        names = {"username": "sasl.username", "password": "sasl.password"}
    elif module == "Krb5LoginModule":
        names = {"principal": "sasl.kerberos.principal", "keyTab": "sasl.kerberos.keytab"}
    elif module == "OAuthBearerLoginModule":
        names = {
            "clientId": "sasl.oauthbearer.client.id",
            "clientSecret": "sasl.oauthbearer.client.secret",
            "scope": "sasl.oauthbearer.scope",
        }
        return {"sasl.oauthbearer.method": "oidc", **{new: given[old] for old, new in names.items() if old in given}}
    else:
        raise IllegalArgumentError(
            f"sasl.jaas.config has the login module {module or text!r}; known are PlainLoginModule, ScramLoginModule, "
            "Krb5LoginModule and OAuthBearerLoginModule"
        )
    return {new: given[old] for old, new in names.items() if old in given}


def _endpoint_identification(text: str) -> dict[str, str]:
    return {"ssl.endpoint.identification.algorithm": text.strip().lower() or "none"}


def _trust_store(text: str) -> dict[str, str]:
    if not _PEM.search(_head(text)):
        raise IllegalArgumentError(
            f"ssl.truststore.location={text}: librdkafka reads PEM files, not Java key stores. Write the output of "
            f"`keytool -list -rfc -keystore {text}` to a file and set ssl.ca.location to its path"
        )
    return {"ssl.ca.location": text}


def _key_store(text: str) -> dict[str, str]:
    head = _head(text)
    if _PEM.search(head):
        return {"ssl.certificate.location": text, "ssl.key.location": text}
    if head.startswith(_JAVA_KEY_STORE):
        raise IllegalArgumentError(
            f"ssl.keystore.location={text}: librdkafka reads PKCS#12 and PEM files, not a Java key store. Convert it "
            f"with `keytool -importkeystore -srckeystore {text} -destkeystore keys.p12 -deststoretype PKCS12`"
        )
    return {"ssl.keystore.location": text}


def _head(file: str) -> bytes:
    """Return the first 64 KiB of a file."""
    try:
        with Path(file).open("rb") as opened:
            return opened.read(1 << 16)
    except OSError as error:
        raise IllegalArgumentError(f"cannot read {file}: {error.strerror}") from error
    except ValueError as error:  # a null character in the path
        raise IllegalArgumentError(f"cannot read {file}: {error}") from error


_TRANSLATED: Mapping[str, Callable[[str], dict[str, str]]] = {
    "sasl.jaas.config": _login,
    "ssl.endpoint.identification.algorithm": _endpoint_identification,
    "ssl.keystore.location": _key_store,
    "ssl.truststore.location": _trust_store,
}
