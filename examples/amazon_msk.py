"""Amazon MSK with IAM: the token provider is a function that calls Amazon's own signer.

    pip install tidelog aws-msk-iam-sasl-signer-python
    python examples/amazon_msk.py --bootstrap-servers b-1.example.kafka.eu-central-1.amazonaws.com:9098 \\
        --region eu-central-1

The credentials are those that boto3 finds: the environment, a profile, or the role of the machine. Every other identity
provider works alike: `sasl_oauth_token_provider` is any function, async or not, that returns a token and when it ends.
It is called again before that, and connections go on with the new token.
"""

from __future__ import annotations

import argparse
import asyncio

from aws_msk_iam_sasl_signer import MSKAuthTokenProvider

import tidelog


async def main(servers: str, region: str, authorities: str | None) -> None:
    def token() -> tuple[str, int]:
        """It takes its time for the network, and therefore runs in a thread."""
        signed, expires_at_ms = MSKAuthTokenProvider.generate_auth_token(region)
        return signed, expires_at_ms

    async with tidelog.Admin(
        servers,
        security_protocol="SASL_SSL",
        sasl_mechanism="OAUTHBEARER",
        sasl_oauth_token_provider=token,
        # Amazon's certificates are signed by authorities that the operating system knows.
        ssl_ca_location=authorities,
    ) as admin:
        for topic in await admin.list_topics():
            print(topic.name)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="List the topics of an Amazon MSK cluster.")
    parser.add_argument("--bootstrap-servers", required=True)
    parser.add_argument("--region", required=True)
    parser.add_argument("--ca", help="a PEM file with another authority")
    arguments = parser.parse_args()
    asyncio.run(main(arguments.bootstrap_servers, arguments.region, arguments.ca))
