"""Proxies that this machine may lack."""

from pathlib import Path

import pytest

from benchmarks.proxies import nginx_stream_module
from benchmarks.tools import MissingError


def nginx_that_says(tmp_path: Path, options: str) -> Path:
    program = tmp_path / "nginx"
    program.write_text(f"#!/bin/sh\necho 'configure arguments: {options}' >&2\n")
    program.chmod(0o755)
    return program


def test_the_module_is_in_the_folder_that_nginx_names(tmp_path):
    nginx = nginx_that_says(tmp_path, f"--with-stream=dynamic --modules-path={tmp_path} --with-x")
    with pytest.raises(MissingError, match="libnginx-mod-stream"):
        nginx_stream_module(nginx)
    (tmp_path / "ngx_stream_module.so").touch()
    assert nginx_stream_module(nginx) == tmp_path / "ngx_stream_module.so"


def test_without_such_a_folder_it_is_relative_to_the_prefix(tmp_path):
    nginx = nginx_that_says(tmp_path, "--with-stream=dynamic")
    assert nginx_stream_module(nginx) == Path("modules/ngx_stream_module.so")
