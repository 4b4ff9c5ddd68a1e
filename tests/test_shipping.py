"""What is shipped can be built, started and reached; all that is cheap of it in every run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
import websockets
import yaml
from dotenv import dotenv_values

from tests import bare_debian, docs_settings
from tests.journeys.stage import frames, stage
from tests.server.serving import until
from tests.shipping import ROOT, Follower, command, environment, filled, ignored, read_stages
from vivavoce.app.settings import Settings, load_settings, variable

BIN = Path(sys.executable).parent
Told = tuple[str, dict[str, Any], int | None]
PAGE = Path("src/vivavoce/server/static/index.html")
CADDYFILE = ROOT / "deploy" / "Caddyfile"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())


def run(*words: str | Path, **environ: str) -> None:
    done = subprocess.run(
        [str(word) for word in words],
        cwd=ROOT,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


# --- The image file ------------------------------------------------------------------------


def test_the_linter_has_nothing_to_say_about_the_image_file() -> None:
    run(BIN / "hadolint", "Dockerfile")


def test_the_image_runs_as_nobody_special_from_pinned_bases_with_volumes_and_a_probe() -> None:
    stages = read_stages()
    for each in stages:
        assert re.fullmatch(r"[a-z]+:\d+\.\d+\.\d+-[a-z-]+", each.image), each.image
    final = stages[-1]
    assert final.all("USER") == ["10001:10001"]
    assert final.all("VOLUME") == ['["/data", "/models", "/workspace"]']
    assert "/health" in command(final, "HEALTHCHECK")[-1]
    known = {variable(name) for name in Settings.model_fields}
    assert {name for name in environment(final) if name.startswith("VIVAVOCE_")} <= known


def test_no_secret_can_get_into_the_image() -> None:
    for each in read_stages():
        assert not each.all("ARG")
        for name in environment(each):
            assert not re.search(r"KEY|TOKEN|SECRET|PASSWORD|DATABASE", name), name
        for line in each.all("COPY"):
            assert not re.search(r"(^|\s)\.(\s|/\s)", line.rpartition(" ")[0]), line
    for name in (".env", "src/.env", "web/.env.local", ".git/config", "x.db", "src/x.db-wal"):
        assert ignored(ROOT / name), name
    for name in (
        "src/vivavoce/cli/__init__.py",
        "web/package.json",
        "web/.npmrc",
        "agents/x/agent.yaml",
    ):
        assert not ignored(ROOT / name), name


def test_the_image_has_extras_that_there_are() -> None:
    there = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    (named,) = re.findall(r"vivavoce\[([a-z,]+)\]", (ROOT / "Dockerfile").read_text())
    assert set(named.split(",")) <= set(there)
    assert {"engine", "tools", "intents", "postgres", "auth"} <= set(named.split(","))
    # Without Docker it is the same server.
    told = re.findall(r"vivavoce\[([a-z,]+)\]", (ROOT / "docs" / "deploy.md").read_text())
    assert set(named.split(",")) in [set(extras.split(",")) for extras in told]
    assert all(set(extras.split(",")) <= set(there) for extras in told)


# --- compose.yaml ---------------------------------------------------------------------------


def test_the_composition_is_what_the_specification_allows() -> None:
    run(BIN / "check-jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml")


def test_only_the_proxy_and_the_sound_are_published() -> None:
    services = COMPOSE["services"]
    assert all(port.endswith("/udp") for port in services["server"]["ports"])
    assert "ports" not in services["database"]
    assert {port.split(":")[0] for port in services["proxy"]["ports"]} == {"80", "443"}
    assert services["server"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert services["database"]["healthcheck"]["test"]
    for name in ("database", "proxy"):
        assert re.search(r":\d+\.\d+", services[name]["image"])
    named = {v.partition(":")[0] for s in services.values() for v in s["volumes"]} - {"."}
    assert {name for name in named if not name.startswith(".")} == set(COMPOSE["volumes"])


_PLACES = ("data_dir", "models_dir", "workspace", "agents_dir")


def test_no_container_writes_but_where_it_should_nor_takes_all_memory() -> None:
    for name, service in COMPOSE["services"].items():
        assert service["read_only"] is True, name
        assert service["mem_limit"], name
        assert "/tmp" in service["tmpfs"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    server = COMPOSE["services"]["server"]
    places = {volume.split(":")[1]: volume.split(":")[2:] for volume in server["volumes"]}
    for name in _PLACES:  # whatever it is told to use is a volume
        assert server["environment"][variable(name)] in places
    assert places["/config"] == ["ro"]
    assert "pg_isready -h 127.0.0.1" in COMPOSE["services"]["database"]["healthcheck"]["test"][1]


def test_docker_waits_until_the_server_has_ended_in_order_and_knows_it_again() -> None:
    server, settings = COMPOSE["services"]["server"], Settings(_env_file=None)  # type: ignore[call-arg]
    waits = float(filled(server["stop_grace_period"], {}).removesuffix("s"))
    assert waits >= settings.drain_seconds + 2 * settings.shutdown_seconds + 5
    assert filled(server["environment"]["VIVAVOCE_INSTANCE"], {}) == "server"


def test_what_the_composition_asks_for_is_in_the_example() -> None:
    asked = set(re.findall(r"\$\{(\w+)", (ROOT / "compose.yaml").read_text()))
    text = (ROOT / ".env.example").read_text()
    for name in asked:
        assert re.search(rf"^#?{name}=", text, re.M), name
    for service in COMPOSE["services"].values():
        for name, value in service["environment"].items():
            if re.search(r"PASSWORD|TOKEN|SECRET|KEY", name):
                assert value.startswith("${"), "a secret in the file itself"


def test_what_is_set_beside_the_composition_reaches_the_server() -> None:
    needed = {"POSTGRES_PASSWORD": "abc123", "VIVAVOCE_AUTH": "token", "DOMAIN": "voice.example"}
    environ: dict[str, str] = COMPOSE["services"]["server"]["environment"]

    def served(**given: str) -> dict[str, str]:
        return {name: filled(value, needed | given) for name, value in environ.items()}

    plain = served()
    assert plain["VIVAVOCE_DATABASE_URL"] == "postgresql://vivavoce:abc123@database/vivavoce"
    hosts: dict[str, Any] = {"allowed_hosts": plain["VIVAVOCE_ALLOWED_HOSTS"], "_env_file": None}
    assert Settings(**hosts).allowed_hosts == ("voice.example",)
    own = {variable(name) for name in (*_PLACES, "host", "port")}
    for name in set(environ) - own:
        assert "own.example" in served(**{name: "own.example"})[name], f"{name} in .env is lost"
    told = (ROOT / "docs" / "deploy.md").read_text()
    assert all(f"`{name}`" in told for name in own)


# --- .env.example ---------------------------------------------------------------------------


def test_every_setting_is_in_the_example() -> None:
    text = (ROOT / ".env.example").read_text()
    assert text == docs_settings.env_file(), "run `python -m tests.docs_settings --write`"
    names = re.findall(r"^#?(VIVAVOCE_\w+)=", text, re.M)
    assert names == [variable(name) for name in Settings.model_fields]


def test_the_example_as_it_is_and_all_of_it_switched_on_are_valid_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_") or name == "OPENAI_API_KEY":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    plain = load_settings()
    text = (ROOT / ".env.example").read_text()
    for content in (text, re.sub(r"^#(VIVAVOCE_)", r"\1", text, flags=re.M)):
        Path(".env").write_text(content)
        assert len(dotenv_values(".env")) >= 3
        assert load_settings() == plain


# --- The proxy ------------------------------------------------------------------------------


def test_the_proxy_takes_its_file(tmp_path: Path) -> None:
    run(BIN / "caddy", "validate", "--adapter", "caddyfile", "--config", CADDYFILE,
        XDG_DATA_HOME=str(tmp_path), XDG_CONFIG_HOME=str(tmp_path))  # fmt: skip
    run(BIN / "caddy", "fmt", "--diff", CADDYFILE)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
        return port


@contextmanager
def proxy(folder: Path, upstream: str) -> Iterator[tuple[int, Path]]:
    """Caddy with our file in front of a server: its port, and its log."""
    port, log = free_port(), folder / "proxy.log"
    environ = {
        **os.environ,
        "DOMAIN": f"http://127.0.0.1:{port}",
        "UPSTREAM": upstream,
        "XDG_DATA_HOME": str(folder),
        "XDG_CONFIG_HOME": str(folder),
    }
    words = [str(BIN / "caddy"), "run", "--adapter", "caddyfile", "--config", str(CADDYFILE)]
    with log.open("wb") as out:
        child = subprocess.Popen(words, env=environ, stdout=out, stderr=subprocess.STDOUT)
    try:
        yield port, log
    finally:
        child.terminate()
        child.wait(20)


@asynccontextmanager
async def proxied(folder: Path, upstream: str) -> AsyncIterator[tuple[httpx.AsyncClient, Path]]:
    with proxy(folder, upstream) as (port, log):
        await until(lambda: _listens(port), seconds=30)
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as http:
            yield http, log


def _listens(port: int) -> bool:
    with socket.socket() as knock:
        return knock.connect_ex(("127.0.0.1", port)) == 0


async def test_events_come_through_the_proxy_one_by_one_and_tokens_stay_out_of_its_log(
    tmp_path: Path,
) -> None:
    async with stage(tmp_path) as s:
        session, call, _ = await s.talk()
        token = session["stream_token"]["value"]
        async with (
            proxied(tmp_path, s.url.removeprefix("http://")) as (http, log),
            http.stream("GET", "/events", params={"token": token}, timeout=20) as response,
            aclosing(cast("AsyncGenerator[Told, None]", frames(response))) as told,
        ):
            assert response.status_code == 200
            assert "content-encoding" not in response.headers
            for words in ("one", "two", "three"):
                # Said only after the one before was seen: nothing may wait for more.
                await call.user_says(words)
                async with asyncio.timeout(20):
                    async for kind, data, _ in told:
                        if kind == "transcription.completed":
                            assert words in str(data)
                            break
        assert "/events?token=" in log.read_text()
        assert token not in log.read_text()


async def test_websockets_come_through_the_proxy(tmp_path: Path) -> None:
    async def echo(socket: websockets.ServerConnection) -> None:
        async for message in socket:
            await socket.send(message)

    async with websockets.serve(echo, "127.0.0.1", 0) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        async with proxied(tmp_path, f"127.0.0.1:{port}") as (http, _):
            url = str(http.base_url).replace("http", "ws", 1)
            async with websockets.connect(f"{url}/v1/realtime", proxy=None) as client:
                for words in ("one", "two"):
                    await client.send(words)
                    assert await client.recv() == words


# --- The package ----------------------------------------------------------------------------


def _clone(folder: Path) -> Path:
    """What a clean clone has: what git knows, as it stands here."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place)
    return folder


def _without_npm(folder: Path) -> str:
    """A PATH on which there is everything that a build needs but Node.js."""
    folder.mkdir()
    for name in ("git", "sh", "env"):
        if found := shutil.which(name):
            (folder / name).symlink_to(found)
    return str(folder)


def test_without_the_page_there_is_no_package_and_it_says_why(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "clone")
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(tmp_path / "dist"), "."],
        cwd=clone,
        env={**os.environ, "PATH": _without_npm(tmp_path / "bin")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode != 0
    assert "there is no npm" in done.stdout + done.stderr
    assert "make page" in done.stdout + done.stderr
    assert not list((tmp_path / "dist").glob("*"))


def test_with_the_page_it_is_in_the_wheel_and_in_the_sdist(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "clone")
    page = clone / PAGE.parent
    shutil.copytree((ROOT / PAGE).parent, page)
    for file in page.rglob("*"):
        file.touch()  # newer than its sources, which were copied just now
    _built(clone, tmp_path / "dist", PATH=_without_npm(tmp_path / "bin"))


@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_clean_clone_makes_a_package_with_its_page(tmp_path: Path) -> None:
    clone = _clone(tmp_path / "clone")
    _built(clone, tmp_path / "dist", PATH=f"{BIN}:{os.environ['PATH']}")


def _built(clone: Path, dist: Path, **environ: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(dist), "."],
        cwd=clone,
        env={**os.environ, **environ},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    (wheel,), (source,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as packed:
        names = packed.namelist()
        (metadata,) = (packed.read(name).decode() for name in names if name.endswith("/METADATA"))
        (bill,) = (json.loads(packed.read(name)) for name in names if "/sboms/" in name)
    assert "vivavoce/server/static/index.html" in names
    assert any(re.fullmatch(r"vivavoce/server/static/assets/.+\.js", name) for name in names)
    assert "vivavoce/_agents/workbench/agent.yaml" in names
    assert "vivavoce/py.typed" in names
    assert any(name.endswith("/licenses/THIRD-PARTY.md") for name in names)
    parts = {part["name"] for part in bill["components"]}
    assert {"fastapi", "react", "kokoro"} <= parts, "what it is made of, the page and models too"
    for field in ("Project-URL", "Classifier", "Keywords", "License-Expression", "Summary"):
        assert f"\n{field}: " in metadata, field
    with tarfile.open(source) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert {str(PAGE), "web/package.json", "hatch_build.py", "LICENSE"} <= inside
    assert not [name for name in inside if "node_modules" in name or name.endswith(".env")]


# --- All of it ------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.timeout(1800)
def test_the_steps_of_the_image_file_give_a_server_that_answers(tmp_path: Path) -> None:
    stages = read_stages()
    kept = {name: value for name, value in os.environ.items() if not name.startswith("VIVAVOCE_")}
    steps = Follower(tmp_path, {**kept, "PATH": f"{BIN}:{os.environ['PATH']}"})
    for each in stages:
        steps.follow(each, stages)
    final, port = stages[-1], free_port()
    token = "a-token-that-is-long-enough"
    workspace = steps.place(final, "/workspace")
    workspace.mkdir(parents=True, exist_ok=True)  # `install` does that in the image
    environ = {
        **kept,
        **environment(final),
        "PATH": f"{tmp_path}/opt/vivavoce/bin:{os.environ['PATH']}",
        "VIVAVOCE_HOST": "127.0.0.1",
        "VIVAVOCE_PORT": str(port),
        "VIVAVOCE_DATA_DIR": str(tmp_path / "data"),
        "VIVAVOCE_MODELS_DIR": str(Settings().models_dir),
        "VIVAVOCE_WORKSPACE": str(workspace),
        "VIVAVOCE_BRAIN": "scripted",
        "VIVAVOCE_AUTH": "token",
        "VIVAVOCE_AUTH_TOKEN": token,
    }
    with (tmp_path / "server.log").open("wb") as out:
        child = subprocess.Popen(
            command(final, "CMD"),
            cwd=workspace.parent,
            env=environ,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        asyncio.run(until(lambda: child.poll() is not None or _listens(port), seconds=120))
        words = command(final, "HEALTHCHECK")
        probe = subprocess.run(words, env=environ, capture_output=True, timeout=30)
        assert probe.returncode == 0, (tmp_path / "server.log").read_text()[-4000:]
        with httpx.Client(base_url=f"http://127.0.0.1:{port}") as http:
            assert "<title>" in http.get("/").text
            assert http.get("/health").json()["status"] in ("healthy", "degraded")
            assert http.get("/tools").status_code == 401
            bearer = {"authorization": f"Bearer {token}"}
            assert http.get("/tools", headers=bearer).status_code == 200
    finally:
        child.terminate()
        assert child.wait(60) == 0
    # Beyond loopback, as in the image, nobody gets in without being asked.
    environ |= {"VIVAVOCE_HOST": "0.0.0.0", "VIVAVOCE_AUTH": "", "VIVAVOCE_AUTH_TOKEN": ""}
    refused = subprocess.run(
        command(final, "CMD"), cwd="/", env=environ, capture_output=True, text=True, timeout=60
    )
    assert refused.returncode != 0
    assert "without authentication" in refused.stderr


@pytest.mark.full
@pytest.mark.timeout(7200)
def test_in_a_bare_debian_the_steps_of_the_image_file_give_a_brain_that_answers(
    tmp_path: Path,
) -> None:
    if reason := bare_debian.why_not():
        pytest.skip(reason)
    stages, settings = read_stages(), Settings()
    models = {settings.models_dir / name: f"/models/{name}" for name in settings.needed_models}
    assert all(folder.is_dir() for folder in models), "fetch the models first: make models-all"
    debian = bare_debian.BareDebian(tmp_path, bound=models)
    debian.make(stages)
    final, port, token = stages[-1], free_port(), "a-token-that-is-long-enough"
    environ = {
        "PATH": bare_debian.PATH,
        **environment(final, PATH=bare_debian.PATH),
        "VIVAVOCE_HOST": "127.0.0.1",
        "VIVAVOCE_PORT": str(port),
        "VIVAVOCE_AUTH": "token",
        "VIVAVOCE_AUTH_TOKEN": token,
    }
    (user,) = final.all("USER")
    with (tmp_path / "server.log").open("wb") as out:
        child = subprocess.Popen(
            debian.command(final, command(final, "CMD"), user=user),
            env=environ,
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        with httpx.Client(
            base_url=f"http://127.0.0.1:{port}",
            headers={"authorization": f"Bearer {token}"},
            timeout=300,
        ) as http:
            asyncio.run(until(lambda: child.poll() is not None or _listens(port), seconds=120))
            asyncio.run(until(lambda: _settled(child, http), seconds=2400, pause=2.0))
            said = (tmp_path / "server.log").read_text()[-4000:]
            assert http.get("/ready").status_code == 200, said
            probe = debian.command(final, command(final, "HEALTHCHECK"), user=user)
            assert subprocess.run(probe, env=environ, timeout=60).returncode == 0
            talk = http.post("/api/v1/conversations", json={}).json()["id"]
            body = {"content": "What is six times seven?", "wait_seconds": 60}
            answer = http.post(f"/api/v1/conversations/{talk}/messages", json=body)
            assert answer.status_code == 201, answer.text
            reply = answer.json()["reply"] or _last(http, talk)
            assert "42" in reply["content"] or "forty-two" in reply["content"].lower(), reply
    finally:
        child.terminate()
        assert child.wait(60) == 0


def _settled(child: subprocess.Popen[bytes], http: httpx.Client) -> bool:
    """Ready, or not to be hoped for any more."""
    if child.poll() is not None:
        return True
    ready = http.get("/ready")
    return ready.status_code == 200 or bool(ready.json().get("failed"))


def _last(http: httpx.Client, conversation: str) -> dict[str, Any]:
    """The answer, on a machine that has much else to do."""
    found: list[dict[str, Any]] = []

    def answered() -> bool:
        told = http.get(f"/api/v1/conversations/{conversation}/messages").json()["messages"]
        found[:] = [message for message in told if message["role"] == "assistant"]
        return bool(found)

    asyncio.run(until(answered, seconds=1800, pause=2.0))
    return found[-1]
