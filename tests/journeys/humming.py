"""`vivavoce serve` with its own engine and no models: a server to be killed while it speaks.

python -m tests.journeys.humming FOLDER PORT
"""

from __future__ import annotations

import sys
from pathlib import Path

from vivavoce.app.engine import EmbeddedEngine
from vivavoce.app.listen import Listener, bind, listener_config
from vivavoce.app.server import assemble, build_app
from vivavoce.app.settings import Settings
from vivavoce.brain.script.brain import ScriptedBrain
from vivavoce.brain.script.script import Script
from vivavoce.engine.shell.work import Parts
from vivavoce.testing.engine import HummingMouth, LoudnessDetector, ScriptedEars, SureJudge

STORY = "Once upon a time, there was a king. " * 40


def main(folder: str, port: str) -> None:
    parts = Parts(
        ears=ScriptedEars(["tell me a story"]),
        mouth=HummingMouth(40),
        brain=ScriptedBrain(Script(otherwise=STORY)),
        judge=SureJudge(),
        detector=LoudnessDetector,
    )
    settings = Settings(
        _env_file=None,  # type: ignore[call-arg]
        data_dir=Path(folder),
        workspace=Path(folder),
        port=int(port),
    )
    here = assemble(settings, engine=EmbeddedEngine(settings, parts=lambda: parts))
    with bind(settings) as bound:
        Listener(listener_config(build_app(here), settings), here).run(sockets=[bound])


if __name__ == "__main__":
    main(*sys.argv[1:])
