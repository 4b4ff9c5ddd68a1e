"""Trains a reader: a small encoder that marks the wishes and slots in what people say.

    python -m training.reader --base FOLDER flux

reads the lines in `training/lines/flux` and writes `agents/flux/reader`. `FOLDER` has the weights
that it starts from (`model.safetensors`, `tokenizer.json` of all-MiniLM-L6-v2). It needs what
`training/requirements.txt` names, and on two cores about two minutes for each round through the
lines. Why there is one: docs/adr/0046.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import shutil
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as functional
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

from training.marks import Line, Mark, labels, lines

WIDTH, HEADS, INNER, LAYERS = 384, 12, 1536, 6  # all-MiniLM-L6
CLS, SEP = 101, 102
MOST_TOLD, MOST_THINGS, MOST_SAID = 48, 120, 160  # as `brain/llama/reader.py` cuts it
BATCH, UNMARKED = 16, -100
ALONE = {"chat", "unclear", "thanks", "drop", "undo", "yes", "no", "set"}
"""What is not said in one breath with something else."""
JOINTS = (
    *(" and ", " and also ", ", and ", ". ", ". Oh, and ", ". Also ", ", then ", " plus "),
    *(". And ", " oh and ", " ", ". Right, "),
)


def both(names: Sequence[str]) -> list[str]:
    return ["O", *(f"{part}-{name}" for name in names for part in "BI")]


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))
        self.inner, self.outer = nn.Linear(WIDTH, INNER), nn.Linear(INNER, WIDTH)
        self.first, self.second = (nn.LayerNorm(WIDTH, eps=1e-12) for _ in range(2))
        self.drop = nn.Dropout(0.1)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        many, long, _ = x.shape

        def apart(y: Tensor) -> Tensor:
            return y.view(many, long, HEADS, WIDTH // HEADS).transpose(1, 2)

        near = apart(self.query(x)) @ apart(self.key(x)).transpose(-1, -2)
        near = (near / math.sqrt(WIDTH // HEADS) + mask).softmax(-1)
        seen = (self.drop(near) @ apart(self.value(x))).transpose(1, 2).reshape(many, long, WIDTH)
        x = self.first(x + self.drop(self.out(seen)))
        return self.second(x + self.drop(self.outer(functional.gelu(self.inner(x)))))


class Reader(nn.Module):
    def __init__(self, kinds: int, slots: int) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(30522, WIDTH), nn.Embedding(512, WIDTH)
        self.types, self.norm = nn.Embedding(2, WIDTH), nn.LayerNorm(WIDTH, eps=1e-12)
        self.drop = nn.Dropout(0.1)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))
        self.kinds, self.slots = nn.Linear(WIDTH, kinds), nn.Linear(WIDTH, slots)

    def forward(self, ids: Tensor, types: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        hidden = (1.0 - mask[:, None, None, :].float()) * -1e4
        places = self.places(torch.arange(ids.shape[1]))[None]
        x = self.drop(self.norm(self.words(ids) + self.types(types) + places))
        for layer in self.layers:
            x = layer(x, hidden)
        return self.kinds(x), self.slots(x)


def pretrained(base: Path, kinds: int, slots: int) -> Reader:
    known = load_file(base / "model.safetensors")
    names = {
        "words": "embeddings.word_embeddings",
        "places": "embeddings.position_embeddings",
        "types": "embeddings.token_type_embeddings",
        "norm": "embeddings.LayerNorm",
    }
    parts = {
        "query": "attention.self.query",
        "key": "attention.self.key",
        "value": "attention.self.value",
        "out": "attention.output.dense",
        "first": "attention.output.LayerNorm",
        "inner": "intermediate.dense",
        "outer": "output.dense",
        "second": "output.LayerNorm",
    }
    names |= {
        f"layers.{at}.{ours}": f"encoder.layer.{at}.{theirs}"
        for at in range(LAYERS)
        for ours, theirs in parts.items()
    }
    reader = Reader(kinds, slots)
    state = reader.state_dict()
    for ours, theirs in names.items():
        for kind in ("weight", "bias"):
            if f"{ours}.{kind}" in state:
                state[f"{ours}.{kind}"].copy_(known[f"{theirs}.{kind}"])
    return reader


# --- Lines in other forms ----------------------------------------------------------------


def plain(line: Line) -> Line:
    """Without punctuation, as ears write it."""
    kept, moved = [], []
    for at, char in enumerate(line.text):
        moved.append(len(kept))
        inside = line.text[at - 1 : at].isalnum() and line.text[at + 1 : at + 2].isalnum()
        if char not in ",.;:!?" or inside:
            kept.append(char)
    moved.append(len(kept))

    def shifted(marks: Iterable[Mark]) -> tuple[Mark, ...]:
        return tuple(Mark(moved[m.start], moved[m.end], m.label) for m in marks)

    return replace(line, text="".join(kept), wishes=shifted(line.wishes), slots=shifted(line.slots))


def joined(one: Line, two: Line, dice: random.Random) -> Line:
    """Both in one breath."""
    end = len(one.text.rstrip(" .,!?;"))
    text = one.text[:end] + dice.choice(JOINTS)

    def together(first: Iterable[Mark], second: Iterable[Mark]) -> tuple[Mark, ...]:
        kept = [Mark(m.start, min(m.end, end), m.label) for m in first if m.start < end]
        moved = [Mark(m.start + len(text), m.end + len(text), m.label) for m in second]
        return (*kept, *moved)

    return Line(
        text + two.text,
        together(one.wishes, two.wishes),
        together(one.slots, two.slots),
        (*one.things, *two.things),
        one.told,
    )


def varied(known: Sequence[Line], dice: random.Random) -> list[Line]:
    """The lines of one round: some plain, some with things that nobody speaks of, some joined."""
    things = [thing for line in known for thing in line.things] or [""]
    made: list[Line] = []
    for line in known:
        if dice.random() < 0.2:
            line = plain(line)
        if dice.random() < 0.35:
            more = filter(None, dice.choices(things, k=dice.randint(1, 3)))
            line = replace(line, things=(*line.things, *more))
        made.append(line)
    free = [x for x in known if not x.told and not ALONE & {mark.label for mark in x.wishes}]
    for _ in range(len(known) * 3 // 10):
        both_ = joined(*dice.sample(free, 2), dice)
        if len(both_.text) < 400:
            made.append(both_ if dice.random() < 0.7 else plain(both_))
    return made


# --- Lines as numbers --------------------------------------------------------------------

Encoded = tuple[list[int], list[int], list[int], list[int]]


class Encoder:
    def __init__(self, base: Path, kinds: Sequence[str], slots: Sequence[str]) -> None:
        self._tokenizer = Tokenizer.from_file(str(base / "tokenizer.json"))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._kinds = {label: at for at, label in enumerate(both(kinds))}
        self._slots = {label: at for at, label in enumerate(both(slots))}

    def line(self, line: Line, dice: random.Random | None = None) -> Encoded:
        things = list(line.things)
        if dice is not None:
            dice.shuffle(things)
        before = [CLS, *self._pieces(line.told, MOST_TOLD), SEP]
        before += [*self._pieces(" ; ".join(things), MOST_THINGS), SEP]
        text = self._tokenizer.encode(line.text, add_special_tokens=False)
        own, where = text.ids[:MOST_SAID], text.offsets[:MOST_SAID]
        ignored = [UNMARKED] * len(before)
        return (
            [*before, *own, SEP],
            [0] * len(before) + [1] * (len(own) + 1),
            [*ignored, *_labelled(line.wishes, where, self._kinds), UNMARKED],
            [*ignored, *_labelled(line.slots, where, self._slots), UNMARKED],
        )

    def _pieces(self, text: str, most: int) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids
        return ids[:most]


def _labelled(
    marks: Sequence[Mark], where: Sequence[tuple[int, int]], table: dict[str, int]
) -> list[int]:
    made, begun = [], set[Mark]()
    for start, _ in where:
        mark = next((m for m in marks if m.start <= start < m.end), None)
        made.append(0 if mark is None else table[f"{'I' if mark in begun else 'B'}-{mark.label}"])
        begun |= {mark} if mark else set()
    return made


def batch(some: Sequence[Encoded]) -> list[Tensor]:
    longest = max(len(one[0]) for one in some)

    def padded(part: int, filler: int) -> Tensor:
        rows = [one[part] + [filler] * (longest - len(one[part])) for one in some]
        return torch.tensor(rows)

    mask = torch.tensor([[1] * len(one[0]) + [0] * (longest - len(one[0])) for one in some])
    return [padded(0, 0), padded(1, 0), mask, padded(2, UNMARKED), padded(3, UNMARKED)]


def batches(some: list[Encoded], dice: random.Random) -> list[list[Encoded]]:
    """Those of about one length together: less is padded."""
    dice.shuffle(some)
    wide = BATCH * 20
    sorted_ = [
        sorted(some[at : at + wide], key=lambda one: len(one[0]))
        for at in range(0, len(some), wide)
    ]
    made = [part[at : at + BATCH] for part in sorted_ for at in range(0, len(part), BATCH)]
    dice.shuffle(made)
    return made


# --- Training ----------------------------------------------------------------------------


def train(
    reader: Reader,
    encoder: Encoder,
    known: Sequence[Line],
    rounds: int,
    seed: int,
    pace: float = 1.0,
) -> Iterator[str]:
    """Round by round; tells how it went."""
    dice = random.Random(seed)  # noqa: S311  nothing here is secret
    torch.manual_seed(seed)
    heads = [*reader.kinds.parameters(), *reader.slots.parameters()]
    names = {id(one) for one in heads}
    body = [p for p in reader.parameters() if p.requires_grad and id(p) not in names]
    groups = [{"params": body, "lr": 3e-4 * pace}, {"params": heads, "lr": 2e-3 * pace}]
    descent = torch.optim.AdamW(groups, weight_decay=0.01)
    steps = rounds * math.ceil(len(known) * 1.3 / BATCH)
    slower = torch.optim.lr_scheduler.LambdaLR(
        descent, lambda step: min(1, (step + 1) / 100) * max(0.0, 1 - step / steps)
    )
    begun = time.monotonic()
    for number in range(1, rounds + 1):
        reader.train()
        lost, some = 0.0, [encoder.line(line, dice) for line in varied(known, dice)]
        parts = batches(some, dice)
        for part in parts:
            ids, types, mask, kinds, slots = batch(part)
            with torch.autocast("cpu", torch.bfloat16):
                made = reader(ids, types, mask)
            loss = _loss(made[0], kinds) + _loss(made[1], slots)
            loss.backward()
            nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
            descent.step()
            slower.step()
            descent.zero_grad()
            lost += loss.item()
        told = f"round {number} of {rounds}: loss {lost / len(parts):.3f}"
        yield f"{told}, {time.monotonic() - begun:.0f} s"


def _loss(made: Tensor, wanted: Tensor) -> Tensor:
    flat = made.float().flatten(0, 1)
    return functional.cross_entropy(flat, wanted.flatten(), label_smoothing=0.02)


def export(
    reader: Reader, base: Path, folder: Path, kinds: Sequence[str], slots: Sequence[str]
) -> None:
    """As the server reads it: weights of eight bits, what its labels are called, and how words are
    cut into pieces."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    folder.mkdir(parents=True, exist_ok=True)
    whole = folder / "whole.onnx"
    ids = torch.randint(1000, 2000, (1, 20))
    names = {"input_names": ["ids", "types", "mask"], "output_names": ["kinds", "slots"]}
    lengths: dict[str, Any] = {
        name: {0: "many", 1: "long"} for each in names.values() for name in each
    }
    torch.onnx.export(
        reader.eval(),
        (ids, torch.zeros_like(ids), torch.ones_like(ids)),
        str(whole),
        dynamic_axes=lengths,
        opset_version=17,
        dynamo=False,
        **names,
    )
    quantize_dynamic(whole, folder / "model.onnx", weight_type=QuantType.QInt8, per_channel=True)
    whole.unlink()
    shutil.copy(base / "tokenizer.json", folder)
    named = json.dumps({"kinds": kinds, "slots": slots}, indent=1)
    (folder / "labels.json").write_text(named + "\n", encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])  # type: ignore[union-attr]
    options.add_argument("agent", help="whose lines, and whose reader")
    options.add_argument("--base", type=Path, required=True, help="weights to start from")
    options.add_argument("--lines", type=Path, help="instead of training/lines/AGENT")
    options.add_argument("--out", type=Path, help="instead of agents/AGENT/reader")
    options.add_argument("--rounds", type=int, default=12)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--weights", type=Path, help="go on from there if it exists, and keep it")
    options.add_argument("--pace", type=float, default=1.0, help="less than 1: gentler steps")
    given = options.parse_args()
    here = Path(__file__).parent
    known = lines(given.lines or here / "lines" / given.agent)
    out = given.out or here.parent / "agents" / given.agent / "reader"
    kinds, slots = labels(known)
    print(f"{len(known)} lines; {', '.join(kinds)}; {', '.join(slots)}", flush=True)
    size = len(both(kinds)), len(both(slots))
    if given.weights is not None and given.weights.exists():
        reader = Reader(*size)
        reader.load_state_dict(load_file(given.weights))
    else:
        reader = pretrained(given.base, *size)
    reader.words.weight.requires_grad_(False)  # words that no line has keep their meaning
    encoder = Encoder(given.base, kinds, slots)
    for told in train(reader, encoder, known, given.rounds, given.seed, given.pace):
        if given.weights is not None:
            save_file(reader.state_dict(), given.weights)
        export(reader, given.base, out, kinds, slots)  # so that it can be tried by now
        print(told, flush=True)
    print(f"written to {out}")


if __name__ == "__main__":
    main()
