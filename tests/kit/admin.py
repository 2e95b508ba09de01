"""The rights and the passwords of a cluster's users, changed at the brokers' own listener."""

import asyncio

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

AUTHORIZER = {"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}
UNSECURED_TOKENS = {
    "listener.name.clients.oauthbearer.sasl.jaas.config": (
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;"
    )
}
"""The validator that takes tokens without a signature."""
ALLOW, DENY = AclPermissionType.ALLOW, AclPermissionType.DENY
LITERAL = ResourcePatternType.LITERAL
ANY = ("*", LITERAL)
_EVERY_RIGHT = AclBindingFilter(
    ResourceType.ANY, None, ResourcePatternType.ANY, None, None, AclOperation.ANY, AclPermissionType.ANY
)
PATIENCE_S = 60


def internal(kafka):
    """The address for administration, which needs no login."""
    node = kafka.node(kafka.node_ids[0])
    return f"{node.host}:{node.internal_port}"


def own_login(mechanism, user, password, **more):
    """Settings by which the proxy's own connection logs in as this user."""
    login = {"mechanism": mechanism, "username": user, "password": password}
    return {f"upstream.admin.sasl.{name}": value for name, value in login.items()} | more


def right(operation, pattern, permission=ALLOW, user="proxy", kind=ResourceType.TOPIC):
    """A right of this user; the pattern is a name and its kind, or a name alone."""
    name, how = (pattern, LITERAL) if isinstance(pattern, str) else pattern
    return AclBinding(kind, name, how, f"User:{user}", "*", operation, permission)


async def grant(kafka, *rights):
    await _changed(kafka, "create_acls", rights)


async def is_granted(kafka, one):
    """Whether the broker knows this right."""
    admin = AdminClient({"bootstrap.servers": internal(kafka)})
    return await asyncio.to_thread(lambda: admin.describe_acls(_filter(one)).result(PATIENCE_S))


async def take_back(kafka, *rights):
    """Take back these rights, or all that there are."""
    await _changed(kafka, "delete_acls", [*map(_filter, rights)] or [_EVERY_RIGHT])


def _filter(one):
    how = one.resource_pattern_type
    return AclBindingFilter(
        one.restype, one.name, how, one.principal, one.host, one.operation, one.permission_type
    )


async def set_password(kafka, user, password, mechanism=ScramMechanism.SCRAM_SHA_512):
    info = ScramCredentialInfo(mechanism, 4096)
    upsertion = UserScramCredentialUpsertion(user, info, password.encode())
    await _changed(kafka, "alter_user_scram_credentials", [upsertion])


async def _changed(kafka, call, what):
    def change():
        admin = AdminClient({"bootstrap.servers": internal(kafka)})  # its end would end the request
        for future in getattr(admin, call)(list(what)).values():
            future.result(PATIENCE_S)

    await asyncio.to_thread(change)
