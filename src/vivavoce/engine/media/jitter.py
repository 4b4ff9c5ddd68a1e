"""A jitter buffer for ears: packets in, decisions out, no clock and no I/O of its own.

A loudspeaker needs packets at an even pace, so its buffer holds every packet
back. Ears do not: what is in order is played at once, and only a gap makes us
wait, for as long as packets have lately been seen to come out of order (20 to
60 ms). The wait ends with the gap, so there is no delay to shrink afterwards.

While nothing arrives, silence is owed: after `STARVED` it is paid in full and
then as time passes, so whoever listens hears time go by. If what arrives next
continues where the stream stopped, it is played all the same: late words are
worth more than a straight timeline. If the sender's clock moved on, only the
part of its gap that silence has not covered is concealed.
"""

from __future__ import annotations

from typing import TypeAlias

from vivavoce.wire.values import Value

RATE = 48_000
FRAME = 960
_FRAME_SECONDS = FRAME / RATE

PATIENCE_MIN = 0.020
PATIENCE_MAX = 0.060
_MARGIN = 0.005
_DECAY = 0.98  # a packet: an old burst counts a third after a second

STARVED = 0.100
MAX_HELD = 256
MAX_GAP = RATE  # a longer hole in the timestamps is a new start, not a loss
_MAX_JUMP = 100  # packets; RFC 3550 A.1 has the same figure for misorder
_MAX_SKIPPED = 128


class Packet(Value):
    """An RTP packet with the time it arrived, in seconds of any monotonic clock."""

    ssrc: int
    seq: int
    timestamp: int
    samples: int
    payload: bytes
    arrival: float


class Play(Value):
    packet: Packet


class Conceal(Value):
    """Something is missing here, or nothing came."""

    samples: int


class Wait(Value):
    """Nothing to do until then, or until the next packet."""

    until: float | None


Decision: TypeAlias = Play | Conceal | Wait


class JitterBuffer:
    """`put` what arrives; then ask for the `next` decision until it is to wait."""

    def __init__(self) -> None:
        self._held: dict[int, Packet] = {}  # by sequence number without wrap
        self._next: int | None = None
        self._expected: int | None = None  # the timestamp that would continue the stream
        self._ssrc = 0
        self._suspect: Packet | None = None
        self._skipped: dict[int, float] = {}  # given up, and since when they had been missed
        self._quiet_since = 0.0
        self._paid = 0  # samples concealed since the last packet was played
        self.patience = PATIENCE_MIN

    def __len__(self) -> int:
        return len(self._held)

    # --- In ---------------------------------------------------------------------------

    def put(self, packet: Packet) -> None:
        if self._next is None or packet.ssrc != self._ssrc:
            self._start(packet)
            return
        step = _signed(packet.seq - self._next, 16)
        if abs(step) > _MAX_JUMP:
            self._jumped(packet)
            return
        self._suspect = None
        number = self._next + step
        if step < 0:  # its place has been concealed already, or it is a duplicate
            if (since := self._skipped.pop(number, None)) is not None:
                self._learn(packet.arrival - since)
        elif number not in self._held:
            self._hold(number, packet)

    def _start(self, packet: Packet) -> None:
        """The first packet, or the first of a sender that started again."""
        self._held = {packet.seq: packet}
        self._next, self._expected, self._ssrc = packet.seq, None, packet.ssrc
        self._suspect = None
        self._skipped.clear()

    def _jumped(self, packet: Packet) -> None:
        # One stray packet must not throw the stream away; two in a row are a restart.
        before, self._suspect = self._suspect, packet
        if before is not None and packet.seq == (before.seq + 1) & 0xFFFF:
            self._start(before)
            self._hold(before.seq + 1, packet)

    def _hold(self, number: int, packet: Packet) -> None:
        overtaken_by = [p.arrival for n, p in self._held.items() if n > number]
        if overtaken_by:
            self._learn(packet.arrival - min(overtaken_by))
        self._held[number] = packet
        if len(self._held) > MAX_HELD:
            oldest = min(self._held)
            del self._held[oldest]
            self._next = oldest + 1

    def _learn(self, lateness: float) -> None:
        if lateness <= PATIENCE_MAX:  # what cannot be waited for teaches nothing
            self.patience = min(PATIENCE_MAX, max(self.patience, lateness + _MARGIN))

    # --- Out --------------------------------------------------------------------------

    def next(self, now: float) -> Decision:
        if self._next is None:
            return Wait(None)
        if not self._held:
            return self._starving(now)
        if self._next not in self._held:
            missed_since = min(p.arrival for p in self._held.values())
            if now < missed_since + self.patience:
                return Wait(missed_since + self.patience)
            self._give_up(self._next, missed_since)
        packet = self._held[self._next]
        hole = self._hole(packet)
        if hole > 0:
            return self._pay(min(hole, FRAME))
        return self._play(packet, now)

    def _hole(self, packet: Packet) -> int:
        """Samples between what was played and this packet that nothing has covered yet."""
        if self._expected is None:
            return 0
        hole = _signed(packet.timestamp - self._expected, 32) - self._paid
        return hole if 0 < hole <= MAX_GAP else 0

    def _play(self, packet: Packet, now: float) -> Play:
        assert self._next is not None
        del self._held[self._next]
        self._next += 1
        self._expected = packet.timestamp + packet.samples
        self._quiet_since, self._paid = now, 0
        self.patience = max(PATIENCE_MIN, self.patience * _DECAY)
        return Play(packet)

    def _give_up(self, first: int, since: float) -> None:
        self._next = min(self._held)
        for number in range(first, self._next):
            self._skipped[number] = since
        while len(self._skipped) > _MAX_SKIPPED:
            del self._skipped[next(iter(self._skipped))]

    def _starving(self, now: float) -> Decision:
        paid = self._paid / RATE
        due = self._quiet_since + max(STARVED, paid + _FRAME_SECONDS)
        return Wait(due) if now < due else self._pay(FRAME)

    def _pay(self, samples: int) -> Conceal:
        self._paid += samples
        return Conceal(samples)


def _signed(value: int, bits: int) -> int:
    """The shortest way round a counter of so many bits."""
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half
