"""What a foreign client needs for SASL_SSL with SCRAM-SHA-512, in the words of each."""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.planted_secrets import watch

from tidelog.config.properties import parse_properties

MECHANISM = "SCRAM-SHA-512"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScramLogin:
    user: str
    password: str
    authority: Path

    @classmethod
    def of_administrator(cls, data_dir: Path) -> ScramLogin:
        """From the file that `tidelog up --secure` writes for librdkafka."""
        read = parse_properties((data_dir / "security" / "librdkafka.conf").read_text())
        password, authority = watch(read["sasl.password"]), Path(read["ssl.ca.location"])
        return cls(user=read["sasl.username"], password=password, authority=authority)

    def java(self) -> dict[str, str]:
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{module} required username="{self.user}" password="{self.password}";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.authority),
        }

    def librdkafka(self) -> dict[str, Any]:
        return {
            "security.protocol": "sasl_ssl",
            "sasl.mechanisms": MECHANISM,
            "sasl.username": self.user,
            "sasl.password": self.password,
            "ssl.ca.location": str(self.authority),
        }

    def kafka_python(self) -> dict[str, Any]:
        return {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
            "ssl_cafile": str(self.authority),
        }

    def aiokafka(self) -> dict[str, Any]:
        return {
            "security_protocol": "SASL_SSL",
            "sasl_mechanism": MECHANISM,
            "sasl_plain_username": self.user,
            "sasl_plain_password": self.password,
            "ssl_context": ssl.create_default_context(cafile=str(self.authority)),
        }

    def kafkajs(self) -> dict[str, Any]:
        return {
            "ssl": {"ca": [self.authority.read_text()]},
            "sasl": {"mechanism": MECHANISM.lower(), "username": self.user, "password": self.password},
        }
