"""The search for planted secrets finds them in whatever form, and nothing where nothing is."""

import base64
import gzip
import json
import zipfile
from urllib.parse import quote, quote_plus

import pytest

from tests import planted
from tests.planted import traces, traces_in_folder

SECRET = 'pässword/with="signs" & more+'
SECRETS = {"password": SECRET}
RAW = SECRET.encode()

TOLD = {
    "plain": f"a line with {SECRET} in it",
    "capitals": SECRET.upper(),
    "bytes": b"\x00user\x00" + RAW,
    "repr of bytes": {"token": b"\x00user\x00" + RAW},
    "repr of a text": [SECRET],
    "JSON": json.dumps({"password": SECRET}),
    "base64 alone": base64.b64encode(RAW).decode(),
    "base64 of more, one byte before": base64.b64encode(b"\0" + RAW + b"behind").decode(),
    "base64 of more, two bytes before": base64.b64encode(b"u:" + RAW).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(b"user:" + RAW).decode(),
    "hex": RAW.hex(),
    "hex in capitals, with blanks": RAW.hex(" ").upper(),
    "hex dump in two lines": f"{RAW[:16].hex(' ')}\n{RAW[16:].hex(' ')}",
    "numbers": list(RAW),
    "URL": f"https://x/?q={quote(SECRET)}",
    "form": f"q={quote_plus(SECRET)}",
    "percent of all": "".join(f"%{byte:02X}" for byte in RAW),
    "the first half": f"{SECRET[: len(SECRET) // 2]}…",
    "the second half": RAW[len(RAW) // 2 :],
    "UTF-16": SECRET.encode("utf-16-le"),
}


@pytest.mark.parametrize("told", TOLD.values(), ids=TOLD)
def test_a_secret_is_found_in_each_form(told):
    found = traces(told, SECRETS)
    assert found
    assert all(each.startswith("password as ") for each in found)


def test_nothing_is_found_where_no_secret_is():
    assert traces({"user": "alice", "token": "***", "bytes": bytes(range(256))}, SECRETS) == []


def test_files_are_searched_packed_or_not_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(planted, "_BLOCK_BYTES", 1_000)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "proxy.log").write_bytes(b"x" * 990 + RAW + b"x" * 5_000)  # across two blocks
    (tmp_path / "lines.jsonl.gz").write_bytes(gzip.compress(base64.b64encode(RAW)))
    with zipfile.ZipFile(tmp_path / "a.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("inside", RAW.hex() * 10)
    (tmp_path / "torn.gz").write_bytes(gzip.compress(RAW + bytes(range(256)) * 40)[:-20])
    (tmp_path / "clean.log").write_text("nothing")
    (tmp_path / "server.properties").write_bytes(RAW)
    found = {
        each.partition(":")[0] for each in traces_in_folder(tmp_path, SECRETS, leave_out=["*.properties"])
    }
    assert found == {"sub/proxy.log", "lines.jsonl.gz", "torn.gz", "a.zip"}
    assert traces_in_folder(tmp_path / "sub", {"token": "another secret"}) == []


def test_a_secret_that_would_be_found_by_chance_is_no_secret():
    with pytest.raises(AssertionError, match="by chance"):
        traces("text", {"password": "hunter2"})
