"""Which recordings there are: their words, and where and what they are. Data only.

Where a package's annotation has a slip, or there is none, the words are those of
the IEEE sentence that is plainly spoken; for spk1_snt6, spk2_snt5, spk2_snt6,
example1, example5, example6 and something.raw they were found by listening with
our own ears first, so these clips flatter them.
"""

from __future__ import annotations

from dataclasses import dataclass

from vivavoce.models.manifest import ModelFile, NpmPackage, Source, Wheel


class Sdist(NpmPackage):
    """A file inside a source archive on the Python package index: packed as npm packs."""

    @property
    def archive(self) -> str:
        return f"sdist-{self.package}-{self.version}.tar.gz"

    def __str__(self) -> str:
        return f"the source of the Python package {self.package} {self.version}"


@dataclass(frozen=True, slots=True)
class Clip:
    file: ModelFile
    words: str = ""


def _speechbrain(member: str, size: int, sha256: str, words: str = "") -> Clip:
    source: Source = Sdist("speechbrain", "1.0.1", f"tests/samples/{member}")
    return Clip(ModelFile(member.rpartition("/")[2], size, sha256, (source,)), words)


CLIPS = (
    _speechbrain(
        "ASR/spk1_snt1.wav",
        91_884,
        "2f7315ccf543b6368528b098cd895098c154f222cd55ff7b5f66b50feb383c56",
        "The child almost hurt the small dog",
    ),
    _speechbrain(
        "ASR/spk1_snt2.wav",
        100_844,
        "e1f125a318f4026991bf78f5c41481be0fbcf9b3b2fd72284f9824cb851c3034",
        "Drop the two when you add the figures",
    ),
    _speechbrain(
        "ASR/spk1_snt3.wav",
        87_084,
        "dc85f251ecb6f89652e8e3add9f35a39e86cb64a48384c89255437fd0f1bbc69",
        "At that high level the air is pure",
    ),
    _speechbrain(
        "ASR/spk1_snt4.wav",
        81_004,
        "719e441a93a3ec220dfc4337c30944aa1774847739ae9d461c3280b612cf869d",
        "A thin stripe runs down the middle",
    ),
    _speechbrain(
        "ASR/spk1_snt5.wav",
        83_244,
        "6972d80554dfb14e5ad23c7b355a870e9beb18ab2331fbd4b12ff1777e6ed277",
        "Sunday is the best part of the week",
    ),
    _speechbrain(
        "ASR/spk1_snt6.wav",
        73_324,
        "8811bcbdb867c887cdb036aadd97fa2a8023e90610b314c9913f79f712eb7b6c",
        "The pencils have all been used",
    ),
    _speechbrain(
        "ASR/spk2_snt1.wav",
        64_364,
        "5f3f534ba99f159358c6ee2e4fb5e42b3b9399f37f4e290651405c76095f26f0",
        "We are sure that one war is enough",
    ),
    _speechbrain(
        "ASR/spk2_snt2.wav",
        56_364,
        "589bcda06796c124544138d7ff40562c146be5e06c1765f2fb4d27c22d19ea8a",
        "What joy there is in living",
    ),
    _speechbrain(
        "ASR/spk2_snt3.wav",
        60_204,
        "3831efa2081105f8c820312e83f605a320581761c75c52e06f908a12a5da8472",
        "Tear a thin sheet from the yellow pad",
    ),
    _speechbrain(
        "ASR/spk2_snt4.wav",
        65_324,
        "6dfc7295435a97f2b50c5e95e895fe223b56c61d64a4e0bcb3a663e45f893f4f",
        "Mend the coat before you go out",
    ),
    _speechbrain(
        "ASR/spk2_snt5.wav",
        63_404,
        "cf312453d454a3e006ac84ef84bd5880452b57e1a8d717f7e37dae65ceec8044",
        "Jump the fence and hurry up the bank",
    ),
    _speechbrain(
        "ASR/spk2_snt6.wav",
        57_644,
        "cdec920cdcbbb0b38110b958f6e90a4726c87be8d9d3f9d3a0834a1cc950cf6d",
        "Canned pears lack full flavor",
    ),
    _speechbrain(
        "single-mic/example1.wav",
        104_390,
        "bf2dde5cb516939ff619d62fc07d4f4bec5b5d521aee3d07ae51828c9d93be0b",
        "The birch canoe slid on the smooth planks",
    ),
    _speechbrain(
        "single-mic/example5.wav",
        115_886,
        "e58fd04653cbc4e05d4a45825f7e4d724c9395568ec298c3d76b8f321933171f",
        "The frosty air passed through the coat",
    ),
    _speechbrain(
        "single-mic/example6.wav",
        133_944,
        "22b785b7b640b6d64644e6103e732ef27248af155a44966284bb3909be37a26c",
        "What's thirty-seven point six seven minus seventy-five point seven",
    ),
    _speechbrain(
        "TTS/LJ050-0131.wav",
        337_766,
        "a8cee9267ac78b62b85a46f6b6e1b0a2e299749179abacbab39bc04790206cfb",
        "unless a system is established for the frequent formal review of "
        "activities thereunder in this regard",
    ),
    Clip(
        ModelFile(
            "jfk.wav",
            352_078,
            "59dfb9a4acb36fe2a2affc14bacbee2920ff435cb13cc314a08c13f66ba7860e",
            (Sdist("pywhispercpp", "1.5.1", "whisper.cpp/samples/jfk.wav"),),
        ),
        "And so my fellow Americans ask not what your country can do for you "
        "ask what you can do for your country",
    ),
    Clip(
        ModelFile(
            "beckett.wav",
            318_978,
            "e5a26b3d29e5b0bc8dbd72c11d16a3808a4ec0ac45b21f12a27d2a2fe5c5ae61",
            (Wheel("useful-moonshine-onnx", "20251121", "moonshine_onnx/assets/beckett.wav"),),
        ),
        "Ever tried ever failed no matter try again fail again fail better",
    ),
)

NOISES = (
    _speechbrain(
        "noise/noise1.wav",
        1_059_988,
        "bf359661c220287d69021924cd4190e9cb939130999eb8a457abf1233144c49a",
    ),
    _speechbrain(
        "noise/noise2.wav",
        160_044,
        "ca5568889d85fd3bbb011aa0e193af3fde443c039c4ca27d8b24f3dfceec9511",
    ),
    _speechbrain(
        "noise/noise3.wav",
        269_766,
        "8a2efa6b3576649668ebf47152622ca83dbed506957a979d34500724b1d04a55",
    ),
    _speechbrain(
        "noise/noise4.wav",
        565_124,
        "38624671753649af38f97b5872463017badcb3e29411787a95f6f2beb9edbfec",
    ),
    _speechbrain(
        "noise/noise5.wav",
        437_984,
        "40f970028b00411e52091a4a939f8ac1dfd17eba4efefa73a6ac9120512ffa59",
    ),
)

DEBIAN_PACKAGE = "pocketsphinx-testdata"
DEBIAN: tuple[tuple[str, str, str], ...] = (
    (
        "librivox/sense_and_sensibility_01_austen_64kb-0870.wav",
        "and mister john dashwood had then leisure to consider how much there might "
        "be prudently in his power to do for them",
        "b0557cf95c974d930577e58e46b7f068c432a6e3afcc286563d88922b2a5315c",
    ),
    (
        "librivox/sense_and_sensibility_01_austen_64kb-0880.wav",
        "he was not an ill disposed young man",
        "fbec491ef00ee734a67f0ee318e98c51c157b479e1629ff4f4426861ecac0414",
    ),
    (
        "librivox/sense_and_sensibility_01_austen_64kb-0890.wav",
        "unless to be rather cold hearted and rather selfish is to be ill disposed",
        "5793ffbdee55fb8bfd284943a6866864c832d9d4accf2661cabd39915c84ee10",
    ),
    (
        "librivox/sense_and_sensibility_01_austen_64kb-0920.wav",
        "had he married a more amiable woman he might have been made "
        "still more respectable than he was",
        "40882414ef4cc51f3ff7a63bad0c8c87e7f595ffeb8209fbf756c8ebc5c28a59",
    ),
    (
        "librivox/sense_and_sensibility_01_austen_64kb-0930.wav",
        "he might even have been made amiable himself",
        "954adbf0b56ac8a148cbe77b39ca18d76b5f2a1e1f405565bd786ce3e68a68b7",
    ),
    (
        "cards/001.wav",
        "ten of clubs",
        "899951e768666f27c8f8b1d4090b96fe7909cae9cec01bec0a5d5d1b8a8d566e",
    ),
    (
        "cards/002.wav",
        "four queen of clubs",
        "a3f9eae6fdb69a1231989e39a14d62388a6f52fb59666c76d95005318fadafec",
    ),
    (
        "cards/003.wav",
        "seven of clubs",
        "00d283e46bc257ae479e4aa86593cadb541656eba1d19fc8abeece37f6a5a18b",
    ),
    (
        "cards/004.wav",
        "five five",
        "4c44a8177f5b128b99f078cdeb918119933155574231f1833e8840d1af09c521",
    ),
    (
        "cards/005.wav",
        "eight of spades four of clubs seven of hearts",
        "090f18f5f76cf8b2b43cd9e6b07823f4685a4742d9a36cd98b174a6586c18cf9",
    ),
    (
        "goforward.raw",
        "go forward ten meters",
        "f15c60ec54059d8b66e410d0064945a0b0a04ea56e1ddca1958e493c0cf70e71",
    ),
    (
        "something.raw",
        "go somewhere and do something",
        "eb95b74ce3f3037487e49dcfd935bbcf8c158b5f4083dd19451729c3ee694f5f",
    ),
    (
        "tidigits/dhd.2934z.raw",
        "two nine three four zero",
        "60c14412ad1412b83f37061e29c9e76f74cce0f90637debb8087f10cd559e552",
    ),
)
"""File, words, sha256."""
