"""The Wyoming door, put together: the only place that knows its settings and its models."""

from __future__ import annotations

from vivavoce.app.lifecycle import Server
from vivavoce.app.settings import Settings
from vivavoce.models.manifest import MODELS
from vivavoce.server.wyoming.door import Model, Rules, Wyoming
from vivavoce.server.wyoming.satellite import Manners
from vivavoce.server.wyoming.talk import Who


def door(here: Server) -> Wyoming:
    return Wyoming(here, rules(here.settings))


def rules(settings: Settings) -> Rules:
    mouth = "kokoro" if settings.mouth == "auto" else settings.mouth
    return Rules(
        manners=Manners(
            who=Who(settings.wyoming_user, settings.wyoming_role),
            rest_seconds=settings.wyoming_rest_seconds,
            barge_in=settings.wyoming_barge_in,
            open_mic=settings.wyoming_open_mic,
        ),
        ears=_model(settings.ears),
        mouth=_model(mouth),
        allowed=settings.wyoming_clients,
        satellites=settings.wyoming_addresses,
        connections=settings.wyoming_connections,
    )


def _model(name: str) -> Model:
    known = next(model for model in MODELS if model.name == name)
    return Model(known.name, known.title, known.licence)
