"""The AsyncAPI document of the topic of decisions (`decisions.topic`), for consumers of other teams."""

import json
from typing import Any, Final

from tsproxy.decisions.fields import SCHEMA_VERSION as VERSION
from tsproxy.decisions.fields import EventName

SCHEMA: Final = "decision-log.schema.json"
_HEADERS: Final = {
    "ce_specversion": "the version of CloudEvents, 1.0",
    "ce_type": "`tsproxy.EVENT.vVERSION`, of the line's `event` and `v`",
    "ce_source": "`proxy` of the line",
    "ce_id": "`boot` and `seq` of the line, with a colon between them: unique within `ce_source`",
    "ce_time": "`ts` of the line",
    "ce_subject": "`topic` of the line, if it has one",
    "content-type": "application/json",
}
_PROMISE: Final = """
Proxies tell their decisions about the batches of producers: counts, examples, heartbeats, lives of processes.
Each line of the decision log is a record, in order for each process (the key), at least once: proxy, boot and
seq identify a line that came twice. Within a version fields are only added, and their type and meaning never
change. Ignore unknown fields, and read an unknown word of `reason`, `unit_guess` or `kind` as `other`.
"""
_OPTIONAL: Final = ("ce_subject",)


def headers() -> dict[str, Any]:
    """The JSON Schema of a record's headers, as texts."""
    types = [f"tsproxy.{event.value}.v{VERSION}" for event in EventName]
    return {
        "type": "object",
        "properties": {
            name: {"type": "string", "description": meaning} | ({"enum": types} if name == "ce_type" else {})
            for name, meaning in _HEADERS.items()
        },
        "required": [name for name in _HEADERS if name not in _OPTIONAL],
    }


def text() -> str:
    """The document."""
    document = {
        "asyncapi": "3.0.0",
        "info": {
            "title": "Decisions of tsproxy",
            "version": f"{VERSION}.0.0",
            "description": " ".join(_PROMISE.split()),
        },
        "channels": {
            "decisions": {
                "address": "tsproxy-decisions",
                "description": "The name is that of `decisions.topic.name`.",
                "messages": {"line": {"$ref": "#/components/messages/line"}},
            }
        },
        "operations": {
            "readDecisions": {
                "action": "receive",
                "channel": {"$ref": "#/channels/decisions"},
                "messages": [{"$ref": "#/channels/decisions/messages/line"}],
            }
        },
        "components": {
            "messages": {
                "line": {
                    "contentType": "application/json",
                    "headers": headers(),
                    "payload": {"$ref": SCHEMA},
                    "bindings": {
                        "kafka": {
                            "key": {"type": "string", "description": "`proxy/boot`"},
                            "bindingVersion": "0.5.0",
                        }
                    },
                }
            }
        },
    }
    return json.dumps(document, indent=1) + "\n"
