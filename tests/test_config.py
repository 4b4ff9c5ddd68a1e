"""Settings come from one place, are checked at once, and keep their secrets."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests import docs_settings
from vivavoce.app.engine import _options
from vivavoce.app.settings import (
    Settings,
    SettingsError,
    load_settings,
    unknown_variables,
    variable,
)
from vivavoce.engine.media.options import IceServer


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith("VIVAVOCE_") or name == "OPENAI_API_KEY":
            monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)


def problems(monkeypatch: pytest.MonkeyPatch, **environ: str) -> list[str]:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError) as caught:
        load_settings()
    return caught.value.problems


def test_the_public_address_of_media_is_ipv4_since_that_is_what_it_stands_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (problem,) = problems(monkeypatch, VIVAVOCE_MEDIA_ADDRESS="2001:db8::7")
    assert "VIVAVOCE_MEDIA_ADDRESS" in problem
    monkeypatch.setenv("VIVAVOCE_MEDIA_ADDRESS", "203.0.113.7")
    assert load_settings().media_address == "203.0.113.7"


def test_with_nothing_set_it_serves_the_workbench_to_this_machine_only() -> None:
    settings = load_settings()
    assert (settings.host, settings.port, settings.agent) == ("127.0.0.1", 8080, "workbench")
    assert settings.auth == "off"
    assert settings.api_key is None
    assert settings.database_url == f"sqlite:///{settings.data_dir}/vivavoce.db"
    assert settings.workspace == Path.home() / "vivavoce"


def test_the_database_lies_in_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVAVOCE_DATA_DIR", "data")
    assert load_settings().database_url == f"sqlite:///{Path.cwd()}/data/vivavoce.db"
    monkeypatch.setenv("VIVAVOCE_DATABASE_URL", "postgresql://x/y")
    assert load_settings().database_url == "postgresql://x/y"


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text("VIVAVOCE_PORT=1\nVIVAVOCE_MODEL=m\nOPENAI_API_KEY=k\nOTHER=x\n")
    assert (load_settings().port, load_settings().model) == (1, "m")
    key = load_settings().api_key
    assert key is not None
    assert key.get_secret_value() == "k"
    monkeypatch.setenv("VIVAVOCE_PORT", "2")
    assert load_settings().port == 2
    assert load_settings(port="3", host=None).port == 3


def test_an_empty_value_is_the_same_as_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in Settings.model_fields:
        monkeypatch.setenv(variable(name), "")
    assert load_settings().port == 8080


def test_our_own_name_for_the_key_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "theirs")
    monkeypatch.setenv("VIVAVOCE_API_KEY", "ours")
    key = load_settings().api_key
    assert key is not None
    assert key.get_secret_value() == "ours"


def test_nobody_elses_variables_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "PORT", "MODEL", "api_key"):
        monkeypatch.setenv(name, "9")
    settings = load_settings()
    assert (settings.api_key, settings.port) == (None, 8080)


def test_secrets_are_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret-value")
    monkeypatch.setenv("VIVAVOCE_AUTH_TOKEN", "sk-very-secret-value")
    monkeypatch.setenv("VIVAVOCE_BRAIN", "https://llm.example/v1")
    monkeypatch.setenv("VIVAVOCE_BRAIN_KEY", "sk-very-secret-value")
    monkeypatch.setenv("VIVAVOCE_DATABASE_URL", "postgresql://u:sk-very-secret-value@h/d")
    relay = '[{"urls": "turn:t", "credential": "sk-very-secret-value"}]'
    monkeypatch.setenv("VIVAVOCE_ICE_SERVERS", relay)
    settings = load_settings()
    assert "very-secret" not in repr(settings) + str(settings)


@pytest.mark.parametrize(
    ("name", "value", "problem"),
    [
        ("VIVAVOCE_PORT", "abc", "should be a valid integer, and is 'abc'"),
        ("VIVAVOCE_PORT", "70000", "should be less than or equal to 65535, and is '70000'"),
        ("VIVAVOCE_AUTH", "maybe", "should be 'off', 'token' or 'jwt', and is 'maybe'"),
        ("VIVAVOCE_AUTH_TOKEN", "hunter2", "should have at least 16 characters"),
        (
            "VIVAVOCE_PROVIDER_URL",
            "api",
            "should be embedded, openai, or begin with http:// or https://, and is 'api'",
        ),
        (
            "VIVAVOCE_BRAIN",
            "gpt",
            "should be qwen-1.5b, qwen-0.5b, scripted, the path of a .gguf file, "
            "hf:owner/repo/file.gguf, or begin with http:// or https://, and is 'gpt'",
        ),
        ("VIVAVOCE_BRAIN", "http://", "should be qwen-1.5b"),
        ("VIVAVOCE_BRAIN", "hf:owner", "should be hf:owner/repo/file.gguf or hf:owner/repo:Q4"),
        ("VIVAVOCE_BRAIN", "hf:o/r/../../x.gguf", "should be hf:owner/repo/file.gguf"),
        ("VIVAVOCE_HUB_URL", "huggingface.co", "should be a base URL, such as https://hugging"),
        ("VIVAVOCE_DEVICE", "cuda", "should be 'auto', 'cpu' or 'gpu', and is 'cuda'"),
        ("VIVAVOCE_BRAIN", "http://h:port", "port could not be"),
        ("VIVAVOCE_BRAIN", "http://h/v1?key=k", "should be a base URL"),
        ("VIVAVOCE_EARS", "whisper", "should be 'moonshine-base', 'moonshine-tiny' or 'whisper-"),
        ("VIVAVOCE_MOUTH", "piper", "should be 'auto', 'hibari', 'kokoro' or 'piper-joe', and is"),
        ("VIVAVOCE_MANNERS", "good", "should be a valid boolean, and is 'good'"),
        ("VIVAVOCE_ICE_SERVERS", "{", "should be JSON"),
        ("VIVAVOCE_ICE_SERVERS", "{}", "should be a list"),
        ("VIVAVOCE_TIME_ZONE", "Mars", "should be an IANA time zone such as Europe/Berlin"),
        (
            "VIVAVOCE_ALLOWED_ORIGINS",
            "https://a.example,app.example",
            "should be origins such as https://a.example, and has 'app.example'",
        ),
        ("VIVAVOCE_ALLOWED_ORIGINS", "https://a.example/app", "should be origins"),
        ("VIVAVOCE_ALLOWED_ORIGINS", "*", "should be origins"),
        (
            "VIVAVOCE_ALLOWED_HOSTS",
            "https://voice.example",
            "should be host names such as voice.example, and has 'https://voice.example'",
        ),
        ("VIVAVOCE_AGENTS_DIR", "/no/such", "should be a folder that is there, and is '/no/such'"),
        ("VIVAVOCE_LOG_PRIVATE", "perhaps", "should be a valid boolean, and is 'perhaps'"),
    ],
)
def test_a_wrong_value_is_told_with_its_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, problem: str
) -> None:
    (line,) = problems(monkeypatch, **{name: value})
    assert line.startswith(f"{name}: {problem}")


def test_all_wrong_values_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    told = problems(monkeypatch, VIVAVOCE_PORT="x", VIVAVOCE_TOOL_TIMEOUT="-1")
    assert [line.split(":")[0] for line in told] == ["VIVAVOCE_PORT", "VIVAVOCE_TOOL_TIMEOUT"]


def test_token_mode_needs_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems(monkeypatch, VIVAVOCE_AUTH="token") == [
        "VIVAVOCE_AUTH_TOKEN: is needed with VIVAVOCE_AUTH=token"
    ]


# --- Hardware ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ({"WYOMING_HOST": "0.0.0.0"}, "VIVAVOCE_WYOMING_CLIENTS: is needed"),
        ({"WYOMING_CLIENTS": "kitchen"}, "VIVAVOCE_WYOMING_CLIENTS: "),
        ({"WYOMING_CLIENTS": "192.168.1.7/24"}, "VIVAVOCE_WYOMING_CLIENTS: "),
        ({"WYOMING_SATELLITES": "192.168.1.20"}, "VIVAVOCE_WYOMING_SATELLITES: should be"),
        ({"WYOMING_SATELLITES": "tcp://kitchen"}, "VIVAVOCE_WYOMING_SATELLITES: should be"),
        (
            {"SANDBOX_NETWORK": "true", "AUTH": "token", "AUTH_TOKEN": "x" * 16},
            "VIVAVOCE_SANDBOX_NETWORK: not together with VIVAVOCE_WYOMING",
        ),
        ({"PROVIDER_URL": "openai"}, "VIVAVOCE_WYOMING: needs VIVAVOCE_PROVIDER_URL=embedded"),
        (
            {"AUTH": "jwt", "JWT_SECRET": "x" * 32, "JWT_ISSUER": "https://a.example"},
            "VIVAVOCE_WYOMING_USER: is needed with VIVAVOCE_AUTH=jwt",
        ),
    ],
)
def test_hardware_is_let_in_only_where_it_is_said_who(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, str], problem: str
) -> None:
    given = {f"VIVAVOCE_{name}": value for name, value in more.items()}
    (line,) = problems(monkeypatch, VIVAVOCE_WYOMING="true", **given)
    assert line.startswith(problem)


def test_hardware_beyond_this_machine_is_named_by_address() -> None:
    settings = load_settings(
        wyoming=True,
        wyoming_host="0.0.0.0",
        wyoming_clients="192.168.1.7,192.168.2.0/24",
        wyoming_satellites="tcp://kitchen:10700,tcp://[fe80::1]:10700",
    )
    assert settings.wyoming_clients == ("192.168.1.7", "192.168.2.0/24")
    assert settings.wyoming_addresses == (("kitchen", 10700), ("fe80::1", 10700))


# --- The embedded engine's models ---------------------------------------------------

HEARING = ("silero-vad", "smart-turn", "moonshine-base")
SPEAKING = ("hibari", "kokoro")


def test_with_nothing_set_it_thinks_on_this_machine_and_has_manners() -> None:
    settings = load_settings()
    assert (settings.brain, settings.ears, settings.mouth) == (
        "qwen-1.5b",
        "moonshine-base",
        "auto",
    )
    assert settings.manners
    assert not settings.brain_by_url
    assert settings.needed_models == (*HEARING, "qwen-1.5b", "minilm", *SPEAKING)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("http://127.0.0.1:11434", "http://127.0.0.1:11434/v1"),
        ("http://[::1]:8000/", "http://[::1]:8000/v1"),
        ("https://llm.example/v1/", "https://llm.example/v1"),
        ("https://llm.example/api/v3", "https://llm.example/api/v3"),
        ("https://llm.example/v1/chat/completions", "https://llm.example/v1"),
    ],
)
def test_a_brain_elsewhere_is_named_by_its_base_url_and_needs_no_model_here(
    monkeypatch: pytest.MonkeyPatch, given: str, taken: str
) -> None:
    monkeypatch.setenv("VIVAVOCE_BRAIN", given)
    monkeypatch.setenv("VIVAVOCE_BRAIN_MODEL", "llama3.2")
    settings = load_settings()
    assert (settings.brain, settings.brain_model) == (taken, "llama3.2")
    assert settings.brain_by_url
    assert settings.needed_models == (*HEARING, *SPEAKING)


@pytest.mark.parametrize("given", ["./mine.gguf", "mine.GGUF", "~/mine.gguf", "/srv/m/mine.gguf"])
def test_a_brain_may_be_a_file_of_ones_own(monkeypatch: pytest.MonkeyPatch, given: str) -> None:
    monkeypatch.setenv("VIVAVOCE_BRAIN", given)
    settings = load_settings()
    assert settings.brain_file == Path(given).expanduser().absolute()
    assert not settings.brain_by_url
    assert not settings.brain_at_hub
    assert settings.needed_models == (*HEARING, "minilm", *SPEAKING)


@pytest.mark.parametrize("given", ["hf:me/model-GGUF/q4.gguf", "HF:me/model-GGUF:Q4_K_M"])
def test_a_brain_may_be_a_file_of_a_hub_with_a_key(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    monkeypatch.setenv("VIVAVOCE_BRAIN", given)
    monkeypatch.setenv("VIVAVOCE_BRAIN_KEY", "secret")
    settings = load_settings()
    assert settings.brain == f"hf:{given[3:]}"
    assert settings.brain_at_hub
    assert settings.brain_file is None
    assert settings.needed_models == (*HEARING, "minilm", *SPEAKING)


def test_the_choices_are_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("BRAIN", "QWEN-0.5B"), ("EARS", "Whisper-Small"), ("MOUTH", "piper-joe")):
        monkeypatch.setenv(f"VIVAVOCE_{name}", value)
    wanted = ("silero-vad", "smart-turn", "whisper-small", "qwen-0.5b", "minilm", "piper-joe")
    assert load_settings().needed_models == wanted


def test_a_script_chooses_the_scripted_brain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVAVOCE_SCRIPT", "mine.yaml")
    assert load_settings().brain == "scripted"
    assert load_settings().needed_models == (*HEARING, *SPEAKING)
    assert problems(monkeypatch, VIVAVOCE_BRAIN="qwen-0.5b") == [
        "VIVAVOCE_SCRIPT: is for VIVAVOCE_BRAIN=scripted"
    ]


@pytest.mark.parametrize(
    ("name", "what"),
    [("VIVAVOCE_BRAIN_MODEL", "is a URL"), ("VIVAVOCE_BRAIN_KEY", "is a URL or hf:…")],
)
def test_what_is_only_for_a_brain_elsewhere_is_refused_for_one_here(
    monkeypatch: pytest.MonkeyPatch, name: str, what: str
) -> None:
    assert problems(monkeypatch, **{name: "something"}) == [
        f"{name}: is for a VIVAVOCE_BRAIN that {what}"
    ]


def test_a_password_in_the_brains_url_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (line,) = problems(monkeypatch, VIVAVOCE_BRAIN="https://me:sesame@llm.example/v1")
    assert line == ("VIVAVOCE_BRAIN: should hold no password; a key goes into VIVAVOCE_BRAIN_KEY")


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        load_settings().port = 1


def test_lists_are_comma_separated_and_urls_lose_their_last_slash(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("VIVAVOCE_ALLOWED_HOSTS", "voice.example, b.example,")
    monkeypatch.setenv("VIVAVOCE_PROVIDER_URL", "http://127.0.0.1:9/v1/")
    monkeypatch.setenv("VIVAVOCE_LOG_LEVEL", "DEBUG")
    settings = load_settings()
    assert settings.allowed_hosts == ("voice.example", "b.example")
    assert settings.provider_url == "http://127.0.0.1:9/v1"
    assert settings.log_level == "debug"


ELSEWHERE = {"provider_url": "http://127.0.0.1:1/v1"}


def test_on_ones_own_machine_sessions_are_not_counted_unless_one_says_so() -> None:
    limit = "limits.sessions_per_10_minutes"
    token = {"auth": "token", "auth_token": "a-token-that-is-long-enough"}
    assert load_settings().agent_overrides() == {limit: 0}
    assert load_settings(sessions_per_10_minutes=7).agent_overrides() == {limit: 7}
    assert load_settings(**ELSEWHERE).agent_overrides() == {}, "there they may cost something"
    assert load_settings(**token).agent_overrides() == {}


def test_a_relay_alone_needs_one_and_ice_servers_have_urls() -> None:
    turn = ({"urls": "turn:turn.example.org?transport=udp", "username": "u", "credential": "c"},)
    there = load_settings(ice_servers=turn, ice_transport_policy="RELAY")
    assert there.ice_servers[0]["urls"] == ["turn:turn.example.org?transport=udp"]
    media = _options(there).media.ice_servers
    assert media == (IceServer(("turn:turn.example.org?transport=udp",), "u", "c"),)
    stun = ({"urls": ["stun:stun.example.org"]},)
    with pytest.raises(SettingsError, match="relay needs a turn: server"):
        load_settings(ice_servers=stun, ice_transport_policy="relay")
    wrongs: tuple[dict[str, Any], ...]
    wrongs = ({}, {"urls": []}, {"urls": "https://stun.example.org"}, {"urls": [5]})
    for wrong in wrongs:
        with pytest.raises(SettingsError, match="VIVAVOCE_ICE_SERVERS"):
            load_settings(ice_servers=(wrong,))


def test_only_what_was_set_explicitly_overrides_an_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    assert load_settings(**ELSEWHERE).agent_overrides() == {}
    monkeypatch.setenv("VIVAVOCE_VOICE", "marin")
    assert load_settings(executions_per_minute=5, **ELSEWHERE).agent_overrides() == {
        "voice": "marin",
        "limits.executions_per_minute": 5,
    }


def test_retention_of_zero_is_for_ever() -> None:
    retention = load_settings(retention_log_days=0).retention
    assert (retention.snapshots, retention.log, retention.conversations) == (86_400, None, None)


def test_a_misspelt_variable_is_noticed() -> None:
    assert unknown_variables({"VIVAVOCE_PROT": "1", "VIVAVOCE_PORT": "2", "HOME": "/"}) == [
        "VIVAVOCE_PROT is no setting; did you mean VIVAVOCE_PORT?"
    ]


def test_the_machines_time_zone_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert load_settings().time_zone == "Asia/Tokyo"


def test_every_setting_has_its_line_in_the_docs() -> None:
    assert docs_settings.current() == docs_settings.expected(), (
        "docs/settings.md is out of date: run `python -m tests.docs_settings --write`"
    )
    assert docs_settings.descriptions().keys() == Settings.model_fields.keys()


def test_hosts_and_origins_that_are_right_are_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VIVAVOCE_ALLOWED_HOSTS", "voice.example,v.example:8080,[fd00::1],*")
    origins = "https://a.example,http://localhost:5173/,chrome-extension://abc"
    monkeypatch.setenv("VIVAVOCE_ALLOWED_ORIGINS", origins)
    settings = load_settings()
    assert len(settings.allowed_hosts) == 4
    assert ",".join(settings.allowed_origins) == origins


def test_a_misspelt_name_in_the_file_is_told_as_one_in_the_environment() -> None:
    assert unknown_variables({}) == []
    Path(".env").write_text("vivavoce_port=1\nOTHER=x\nexport VIVAVOCE_HOTS=x\n")
    assert unknown_variables({"VIVAVOCE_ZZZ"}) == [
        "VIVAVOCE_ZZZ is no setting",
        ".env: VIVAVOCE_HOTS is no setting; did you mean VIVAVOCE_HOST?",
    ]


def test_what_has_no_default_is_not_said_to_have_one() -> None:
    assert "Default: ." not in docs_settings.env_file()
