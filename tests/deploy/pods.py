"""Starts a container of a pod where no kubelet is: its command, as its user, in its image, with its files.

A mount namespace has an overlay over the files of the image, with the pod's volumes at their places. Then
chroot and setpriv start the command without privileges. This is no sandbox: network and processes are those
of the machine.
"""

import asyncio
import os
import shlex
from asyncio.subprocess import PIPE
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

from tests.deploy.images import Image
from tsproxy.clock import Clock
from tsproxy.testing.proxy import RunningProxy

ENTER = """
set -e
mount -t tmpfs -o mode=755 none "$PLACE"
mkdir "$PLACE/upper" "$PLACE/work" "$PLACE/root"
mount -t overlay overlay -o "lowerdir=$IMAGE,upperdir=$PLACE/upper,workdir=$PLACE/work" "$PLACE/root"
mkdir -p "$PLACE/root/proc" "$PLACE/root/dev"
mount --rbind /proc "$PLACE/root/proc"
mount --rbind /dev "$PLACE/root/dev"
cp /etc/hosts "$PLACE/root/etc/hosts"
"""
TOKENS = "tokens of the service account"
LEAVE_ROOT = (
    "setpriv --reuid={uid} --regid={gid} --groups={gid} --no-new-privs --bounding-set=-all --inh-caps=-all"
)


class Container:
    """The container `container` of the pod specification `pod`.

    `objects` are what the chart renders beside it, `made` (name -> file -> content) are the operator's
    ConfigMaps and Secrets. Tokens of its service account come from `made`, by audience. Claims and emptyDirs
    are folders below `folder`.
    """

    def __init__(
        self,
        image: Image,
        pod: Mapping[str, Any],
        folder: Path,
        *,
        objects: list[dict[str, Any]] | None = None,
        made: Mapping[str, Mapping[str, str | bytes]] | None = None,
    ) -> None:
        [self.container] = pod["containers"]
        self._image = image
        self._pod = pod
        self._folder = folder
        maps = [each for each in objects or () if each["kind"] == "ConfigMap"]
        self._data = {each["metadata"]["name"]: each["data"] for each in maps} | dict(made or {})
        self._user = (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"])
        self.volumes: dict[str, Path] = {}
        for mount in self.container["volumeMounts"]:
            self._volume(mount["name"])

    def command(self) -> list[str]:
        """The command that enters the container and starts its program."""
        uid, gid = self._user
        own = self.container.get("command") or self._image.config["Entrypoint"]
        words = [*own, *(self.container.get("args") or self._image.config["Cmd"])]
        environment = self._image.environment | self._environment()
        script = ENTER
        for mount in self.container["volumeMounts"]:
            target = f'"$PLACE/root{mount["mountPath"]}"'
            script += (
                f"mkdir -p {target}\nmount --bind {shlex.quote(str(self.volumes[mount['name']]))} {target}\n"
            )
            if mount.get("readOnly"):
                script += f"mount -o remount,bind,ro {target}\n"
        if self.container["securityContext"]["readOnlyRootFilesystem"]:
            script += 'mount -o remount,ro "$PLACE/root"\n'
        settings = [f"{name}={value}" for name, value in environment.items()]
        leave = shlex.split(LEAVE_ROOT.format(uid=uid, gid=gid))
        folder = self.container.get("workingDir") or self._image.config.get("WorkingDir") or "/"
        inside = ["env", "-i", *settings, *leave, "env", f"--chdir={folder}", *words]
        script += f'exec chroot "$PLACE/root" {shlex.join(inside)}\n'
        place = self._folder / "place"
        place.mkdir(exist_ok=True)
        before = f"PLACE={shlex.quote(str(place))}\nIMAGE={shlex.quote(str(self._image.root))}\n"
        return ["unshare", "--mount", "--propagation=private", "sh", "-c", before + script]

    async def run(self) -> tuple[int, str]:
        """Exit status and output of a container that ends by itself."""
        process = await asyncio.create_subprocess_exec(*self.command(), stdout=PIPE, stderr=PIPE)
        out, errors = await process.communicate()
        assert process.returncode is not None
        return process.returncode, (out + errors).decode()

    def _environment(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for source in self.container.get("envFrom", ()):
            found |= self._text_of(source["secretRef"]["name"])
        for each in self.container.get("env", ()):
            if "value" in each:
                found[each["name"]] = each["value"]
            else:
                wanted = each["valueFrom"]["secretKeyRef"]
                found[each["name"]] = self._text_of(wanted["name"])[wanted["key"]]
        return found

    def _text_of(self, secret: str) -> dict[str, str]:
        data = self._data[secret]
        return {key: value if isinstance(value, str) else value.decode() for key, value in data.items()}

    def _volume(self, name: str) -> None:
        place = self._folder / "volumes" / name
        place.mkdir(parents=True, exist_ok=True)
        self.volumes[name] = place
        source = next((each for each in self._pod.get("volumes", ()) if each["name"] == name), {})
        for each in source.get("projected", {}).get("sources", [source]):
            self._fill(place, each)
        if {"configMap", "secret", "projected"} & source.keys():
            return
        os.chown(place, *self._user)  # as fsGroup does

    def _fill(self, place: Path, source: Mapping[str, Any]) -> None:
        """Write what Kubernetes would write, readable for the pod's group."""
        if token := source.get("serviceAccountToken"):
            data, paths = self._data[TOKENS], {token["audience"]: token["path"]}
        elif named := source.get("configMap") or source.get("secret"):
            data = self._data[named.get("secretName") or named["name"]]
            items = named.get("items")
            paths = {each["key"]: each["path"] for each in items} if items else {key: key for key in data}
        else:
            return
        for key, path in paths.items():
            content = data[key]
            file = place / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
            os.chown(file, 0, self._user[1])
            file.chmod(0o440)


async def assert_judges(proxy, topic):
    """A good record is stored, and one that is two hours ahead is rejected."""
    async with AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer:
        await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms())
        with pytest.raises(InvalidTimestampError):
            await producer.send_and_wait(topic, b"x", timestamp_ms=Clock().now_ms() + 7_200_000)


class ProxyInContainer(RunningProxy):
    """A `RunningProxy` that is the container of a pod."""

    def __init__(self, container: Container) -> None:
        super().__init__(decisions=container.volumes["decisions"] / "decisions")
        self._container = container

    def _command(self) -> list[str]:
        return self._container.command()
