"""Settings of Java clients, translated to those of librdkafka."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from assignor.cluster.properties import parse_properties, to_librdkafka
from assignor.errors import IllegalArgumentError

if TYPE_CHECKING:
    from pathlib import Path

LOGIN = "org.apache.kafka.common.security"
CERTIFICATE = b"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize("before", [b"", b"\n", b"# our root\nsubject=CN = root\n\n", b"Bag Attributes\r\n"])
def test_a_pem_file_may_begin_with_other_text(before: bytes, tmp_path: Path) -> None:
    file = tmp_path / "file.pem"
    file.write_bytes(before + CERTIFICATE)

    assert {"ssl.ca.location": str(file)} == to_librdkafka({"ssl.truststore.location": str(file)})
    expected = {"ssl.certificate.location": str(file), "ssl.key.location": str(file)}
    assert expected == to_librdkafka({"ssl.keystore.location": str(file)})


def test_a_key_store_of_java_is_rejected_with_the_command_that_converts_it(tmp_path: Path) -> None:
    file = tmp_path / "store.jks"
    file.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2" + CERTIFICATE.replace(b"-----BEGIN", b""))

    with pytest.raises(IllegalArgumentError, match=r"keytool -list -rfc -keystore .*store.jks"):
        to_librdkafka({"ssl.truststore.location": str(file)})
    with pytest.raises(IllegalArgumentError, match=r"keytool -importkeystore -srckeystore .*store.jks"):
        to_librdkafka({"ssl.keystore.location": str(file)})


def test_a_key_store_that_is_neither_pem_nor_jks_is_read_as_pkcs12(tmp_path: Path) -> None:
    file = tmp_path / "store.p12"
    file.write_bytes(b"\x30\x82\x0a\x0b")

    assert {"ssl.keystore.location": str(file)} == to_librdkafka({"ssl.keystore.location": str(file)})


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    for name in ("ssl.truststore.location", "ssl.keystore.location"):
        with pytest.raises(IllegalArgumentError, match=f"^cannot read {tmp_path}/none: No such file"):
            to_librdkafka({name: f"{tmp_path}/none"})


@pytest.mark.parametrize(
    ("module", "options", "expected"),
    [
        ("plain.PlainLoginModule", 'username="a" password="b\\"c"', {"sasl.username": "a", "sasl.password": 'b"c'}),
        ("scram.ScramLoginModule", "username='a' password=b", {"sasl.username": "a", "sasl.password": "b"}),
        (
            "oauthbearer.OAuthBearerLoginModule",
            "clientId=a scope=b",
            {"sasl.oauthbearer.method": "oidc", "sasl.oauthbearer.client.id": "a", "sasl.oauthbearer.scope": "b"},
        ),
    ],
)
def test_a_login_module_becomes_settings(module: str, options: str, expected: dict[str, str]) -> None:
    assert expected == to_librdkafka({"sasl.jaas.config": f"{LOGIN}.{module} required {options};"})


def test_an_unknown_login_module_is_named() -> None:
    with pytest.raises(IllegalArgumentError, match="login module 'OtherModule'; known are PlainLoginModule"):
        to_librdkafka({"sasl.jaas.config": "com.example.OtherModule required;"})


def test_a_properties_file_has_escapes_comments_and_continued_lines() -> None:
    data = b"# comment\n! comment\na.b = 1\\\n   2\nc:\\u00e9\\t\nd e\n\nf\n"

    assert {"a.b": "12", "c": "\u00e9\t", "d": "e", "f": ""} == parse_properties(data)
    assert {"a": "\u00e9"} == parse_properties("a=\u00e9".encode("latin-1"))
