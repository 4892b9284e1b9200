"""Real broker with an authorizer: users with SASL/PLAIN, without and with TLS, besides a listener for the tests."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from tests.broker.cluster import Cluster, free_ports

if TYPE_CHECKING:
    from pathlib import Path

PASSWORD = 'se"cret'

_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def quoted(text: str) -> str:
    """Return text as a quoted value of sasl.jaas.config in a properties file, where a backslash is doubled."""
    return '"' + text.replace('"', '\\\\"') + '"'


class SecuredCluster(Cluster):
    """One broker with StandardAuthorizer; users of the plaintext listener may do everything.

    Attributes:
        sasl: Address of the listener with SASL/PLAIN.
        tls: Address of the listener with SASL/PLAIN over TLS.
        certificate: PEM file with the certificate of the broker.
    """

    def __init__(self, folder: Path, users: tuple[str, ...]) -> None:
        plain, sasl, tls, controller = free_ports(4)
        self.sasl, self.tls = f"127.0.0.1:{sasl}", f"127.0.0.1:{tls}"
        self.certificate = folder / "certificate.pem"
        keys = folder / "keys.pem"
        command = (
            "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=broker -addext subjectAltName=IP:127.0.0.1"
        )
        paths = ["-keyout", str(keys), "-out", str(self.certificate)]
        subprocess.run([*command.split(), *paths], check=True, capture_output=True)
        keys.write_text(keys.read_text() + self.certificate.read_text())
        names = " ".join(f"user_{user}={quoted(PASSWORD)}" for user in users)
        listeners = f"PLAINTEXT://127.0.0.1:{plain},SASL_PLAINTEXT://{self.sasl},SASL_SSL://{self.tls}"
        settings = {
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"{listeners},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,"
            "SASL_SSL:SASL_SSL",
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_LOGIN} {names};",
            "listener.name.sasl_ssl.plain.sasl.jaas.config": f"{_LOGIN} {names};",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(keys),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        super().__init__(folder, settings)
        self.port = plain

    def client_file(self, folder: Path, user: str, *, tls: bool = False, password: str = PASSWORD) -> Path:
        """Write the settings of a user as Kafka's tools read them, and return the file."""
        path = folder / f"{user}.properties"
        path.write_text(
            f"# settings of {user}\n"
            f"security.protocol = {'SASL_SSL' if tls else 'SASL_PLAINTEXT'}\n"
            "sasl.mechanism=PLAIN\n"
            f"sasl.jaas.config={_LOGIN} \\\n   username={quoted(user)} password={quoted(password)};\n"
            + (f"ssl.truststore.type=PEM\nssl.truststore.location={self.certificate}\n" if tls else "")
        )
        return path
