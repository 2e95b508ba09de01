"""The images are built, and started as the user that they name, with a root that nobody can write to."""

import subprocess

import pytest

from tests.deploy.go_tools import needs_tools
from tests.deploy.images import needs_root
from tests.deploy.pods import Container, ProxyInContainer, assert_judges

pytestmark = [needs_tools, needs_root, pytest.mark.timeout(3_600)]


def started_plainly(image, folder, *arguments, command=None, volume="/var/lib/tsproxy"):
    """As `docker run --read-only` starts it: the image's user and one volume."""
    uid, gid = map(int, image.config["User"].split(":"))
    container = {
        "args": arguments,
        "securityContext": {"readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "decisions", "mountPath": volume}],
    }
    if command:
        container["command"] = command
    pod = {"securityContext": {"runAsUser": uid, "runAsGroup": gid}, "containers": [container]}
    return Container(image, pod, folder)


@pytest.mark.broker
async def test_a_proxy_serves_and_judges_with_a_root_that_nobody_can_write_to(
    kafka_440, topic, proxy_image, tmp_path
):
    await kafka_440.create_topic(topic)
    container = started_plainly(
        proxy_image,
        tmp_path,
        *("run", "--upstream", kafka_440.bootstrap_servers, "--listen", "127.0.0.1:0"),
        *("--admin", "127.0.0.1:0", "--decisions", "/var/lib/tsproxy/decisions", "--log-format", "json"),
    )
    async with ProxyInContainer(container) as proxy:
        await assert_judges(proxy, topic)
        (tmp_path / "probe").mkdir()
        port = proxy.admin_address.rpartition(":")[2]
        health = [word.replace("9464", port) for word in proxy_image.config["Healthcheck"]["Test"][1:]]
        probe = started_plainly(proxy_image, tmp_path / "probe", *health[1:], command=health[:1])
        assert await probe.run() == (0, "")
        status = (await asked(proxy_image, tmp_path / "look", "cat", f"/proc/{proxy.pid}/status"))[1]
    uid = proxy_image.config["User"].partition(":")[0]
    assert f"Uid:\t{uid}\t{uid}\t{uid}\t{uid}\n" in status
    assert "CapEff:\t0000000000000000\n" in status
    assert {line["event"] for line in proxy.log} & {"native_code_missing", "not_json"} == set()
    assert [line["event"] for line in proxy.decisions()].count("decision") == 1


async def asked(image, folder, *command):
    folder.mkdir()
    return await started_plainly(image, folder, *command[1:], command=list(command[:1])).run()


async def test_the_image_has_all_that_the_documents_offer_to_a_proxy(proxy_image, tmp_path):
    """Logins by Kerberos and by AWS's IAM, regular expressions, uvloop."""
    modules = "gssapi, aws_msk_iam_sasl_signer, re2, uvloop"
    assert await asked(proxy_image, tmp_path / "look", "python", "-c", f"import {modules}") == (0, "")


def test_the_user_can_write_to_the_volume_and_to_what_all_users_can(proxy_image):
    """Without the read-only root: what the modes of the files say."""
    uid, gid = proxy_image.config["User"].split(":")
    find = ["setpriv", f"--reuid={uid}", f"--regid={gid}", "--clear-groups"]
    find += ["find", "/", "-xdev", "-path", "/dev", "-prune", "-o"]
    find += ["-writable", "!", "-type", "l", "!", "-perm", "-1000", "-print"]
    done = subprocess.run(["chroot", proxy_image.root, *find], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["/var/lib/tsproxy"]
