import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { fromBase64, toBase64 } from "../src/audio/base64";
import { Ducking } from "../src/audio/ducking";
import { Heard } from "../src/audio/heard";
import { barOf } from "../src/audio/level";
import { Pieces } from "../src/audio/pieces";
import { PlayQueue } from "../src/audio/queue";
import { Resampler } from "../src/audio/resampler";
import { Waiting } from "../src/audio/waiting";

function tone(hertz: number, rate: number, samples: number): Float32Array {
  return Float32Array.from({ length: samples }, (_, at) => Math.sin((2 * Math.PI * hertz * at) / rate));
}

function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length);
}

function resampled(input: Float32Array, from: number, to: number, piece = 128): Float32Array {
  const resampler = new Resampler(from, to);
  const out: number[] = [];
  for (let at = 0; at < input.length; at += piece) {
    out.push(...resampler.push(input.subarray(at, at + piece)));
  }
  return Float32Array.from(out);
}

/** How much of `hertz` is in it, 0 to 1. */
function amount(samples: Float32Array, hertz: number, rate: number): number {
  let real = 0;
  let imaginary = 0;
  samples.forEach((sample, at) => {
    real += sample * Math.cos((2 * Math.PI * hertz * at) / rate);
    imaginary += sample * Math.sin((2 * Math.PI * hertz * at) / rate);
  });
  return (2 * Math.hypot(real, imaginary)) / samples.length;
}

describe("the resampler", () => {
  test.each([
    [48_000, 24_000],
    [44_100, 24_000],
    [16_000, 24_000],
    [24_000, 48_000],
    [24_000, 44_100],
  ])("keeps a voice from %i to %i", (from, to) => {
    const out = resampled(tone(1000, from, from), from, to);
    expect(Math.abs(out.length - to)).toBeLessThan(100);
    const middle = out.subarray(1000, 1000 + to / 10);
    expect(amount(middle, 1000, to)).toBeCloseTo(1, 2);
    expect(rms(middle)).toBeCloseTo(Math.SQRT1_2, 2);
  });

  test.each([48_000, 44_100])("folds nothing from above back into the voice at %i", (from) => {
    const out = resampled(tone(14_000, from, from), from, 24_000);
    expect(rms(out.subarray(1000))).toBeLessThan(0.001);
  });

  test("makes no mirror of a voice on the way up", () => {
    const out = resampled(tone(3000, 24_000, 24_000), 24_000, 48_000);
    const middle = out.subarray(1000, 5800);
    expect(amount(middle, 21_000, 48_000)).toBeLessThan(0.001);
  });

  test.each([
    [48_000, 24_000],
    [44_100, 24_000],
    [24_000, 44_100],
  ])("gives the same from %i to %i whatever the pieces are", (from, to) => {
    const input = tone(700, from, 5000);
    const whole = resampled(input, from, to, 5000);
    for (const piece of [1, 7, 128, 441]) {
      expect(resampled(input, from, to, piece)).toEqual(whole);
    }
  });

  test("leaves alone what needs no change, and does not keep the caller's array", () => {
    const input = Float32Array.of(0.1, 0.2);
    const out = new Resampler(24_000, 24_000).push(input);
    expect(out).toEqual(input);
    expect(out.buffer).not.toBe(input.buffer);
  });
});

describe("PCM16 in base64", () => {
  test("comes back as it was, also when it is long", () => {
    const pcm = Int16Array.from({ length: 50_000 }, (_, at) => ((at * 7919) % 65_536) - 32_768);
    expect(fromBase64(toBase64(pcm))).toEqual(pcm);
  });

  test("is little-endian, as the Realtime API has it", () => {
    expect(toBase64(Int16Array.of(1, -2))).toBe(btoa("\x01\x00\xfe\xff"));
  });

  test("is taken from the middle of a buffer, and without half a sample", () => {
    expect(toBase64(Int16Array.of(9, 1, 9).subarray(1, 2))).toBe(btoa("\x01\x00"));
    expect(fromBase64(btoa("\x01\x00\x02"))).toEqual(Int16Array.of(1));
  });
});

test("pieces have one length, their loudness, and no overflow", () => {
  const pieces = new Pieces(4);
  expect(pieces.push(Float32Array.of(1, 1, 2))).toEqual([]);
  const [piece] = pieces.push(Float32Array.of(-3, 0));
  expect(piece).toEqual({ pcm: Int16Array.of(32_767, 32_767, 32_767, -32_767), level: 1 });
  expect(pieces.push(Float32Array.of(0, 0, 0))[0]?.level).toBe(0);
});

test("the bar is empty in silence, full when loud, and in between in decibels", () => {
  expect([barOf(0), barOf(0.0001), barOf(1)]).toEqual([0, 0, 1]);
  expect(barOf(10 ** (-36 / 20))).toBeCloseTo(0.5);
});

describe("the queue of what is to be played", () => {
  const pcm = (length: number, value = 16_384) => new Int16Array(length).fill(value);
  const pulled = (queue: PlayQueue, length: number) => {
    const out = new Float32Array(length);
    queue.pull(out);
    return Array.from(out);
  };

  test("starts with a little in hand, or with all there is", () => {
    const queue = new PlayQueue(4, 100);
    queue.push("a", pcm(2));
    expect(pulled(queue, 2)).toEqual([0, 0]);
    queue.push("a", pcm(2));
    expect(pulled(queue, 2)).toEqual([0.5, 0.5]);
    queue.clear();
    queue.push("b", pcm(1));
    expect(pulled(queue, 1)).toEqual([0]);
    queue.end();
    expect(pulled(queue, 2)).toEqual([0.5, 0]);
  });

  test("knows how much of which item was played", () => {
    const queue = new PlayQueue(0, 100);
    expect(queue.news()).toEqual([]);
    queue.push("a", pcm(3));
    queue.push("b", pcm(5));
    pulled(queue, 2);
    expect(queue.news()).toEqual([{ item: "a", samples: 2 }]);
    expect(queue.news()).toEqual([]);
    pulled(queue, 4);
    expect(queue.news(), "the end of the one is told, too").toEqual([
      { item: "a", samples: 3 },
      { item: "b", samples: 3 },
    ]);
    pulled(queue, 100);
    expect(queue.news()).toEqual([{ item: "b", samples: 5 }]);
  });

  test("goes on with the next where the rest of one is dropped", () => {
    const queue = new PlayQueue(0, 100);
    queue.push("a", pcm(4));
    queue.push("a", pcm(4));
    queue.push("b", pcm(3, 8192));
    pulled(queue, 2);
    queue.drop("a");
    expect(pulled(queue, 4)).toEqual([0.25, 0.25, 0.25, 0]);
    expect(queue.news().at(-1)).toEqual({ item: "b", samples: 3 });
    queue.push("c", pcm(4));
    queue.push("d", pcm(2));
    pulled(queue, 2);
    queue.drop("d");
    expect(pulled(queue, 3)).toEqual([0.5, 0.5, 0]);
  });

  test("is silent at once when it is cleared, and counts on with the next item", () => {
    const queue = new PlayQueue(0, 100);
    queue.push("a", pcm(50));
    pulled(queue, 10);
    queue.clear();
    expect(pulled(queue, 3)).toEqual([0, 0, 0]);
    expect(queue.news()).toEqual([{ item: "a", samples: 10 }]);
    queue.push("b", pcm(4));
    queue.end();
    pulled(queue, 1);
    expect(queue.news()).toEqual([{ item: "b", samples: 1 }]);
  });

  test("gathers a little again after it ran dry", () => {
    const queue = new PlayQueue(4, 100);
    queue.push("a", pcm(4));
    pulled(queue, 6);
    queue.push("a", pcm(2));
    expect(pulled(queue, 2)).toEqual([0, 0]);
    queue.push("a", pcm(2));
    expect(pulled(queue, 2)).toEqual([0.5, 0.5]);
  });

  test("has a limit", () => {
    const queue = new PlayQueue(0, 10);
    expect(queue.push("a", pcm(10))).toBe(true);
    expect(queue.push("a", pcm(1))).toBe(false);
    pulled(queue, 5);
    expect(queue.push("a", pcm(5))).toBe(true);
  });
});

describe("what was heard when it is cut off", () => {
  const heard = () => new Heard(24_000);

  test("is what was played, less what is still on its way to the ear", () => {
    const now = heard();
    now.received("a", 24_000);
    now.played("a", 12_000);
    expect(now.playing).toBe(true);
    expect(now.interrupt(20)).toEqual([{ itemId: "a", endMs: 480 }]);
    expect(now.playing).toBe(false);
  });

  test("is never more than was received", () => {
    const now = heard();
    now.received("a", 2400);
    now.received("b", 2400);
    now.played("a", 2400);
    now.played("b", 1200);
    expect(now.interrupt(-500)).toEqual([{ itemId: "b", endMs: 100 }]);
  });

  test("is nothing of what had just begun, and of what waited behind it", () => {
    const now = heard();
    now.received("a", 24_000);
    now.received("b", 24_000);
    now.played("a", 240);
    expect(now.interrupt(50)).toEqual([
      { itemId: "a", endMs: 0 },
      { itemId: "b", endMs: 0 },
    ]);
    expect(now.received("a", 240)).toBe(false); // it was cut off all the same
  });

  test("is not told when everything was heard already", () => {
    const now = heard();
    now.received("a", 2400);
    now.played("a", 2400);
    expect(now.playing).toBe(false);
    expect(now.interrupt()).toEqual([]);
    expect(now.received("a", 240)).toBe(true); // so more of it may still come
  });

  test("the tail of what was cut off is not played; the next answer is", () => {
    const now = heard();
    now.received("a", 2400);
    now.played("a", 240);
    now.interrupt();
    expect(now.received("a", 2400)).toBe(false);
    now.played("a", 2400); // a late report
    expect(now.received("b", 2400)).toBe(true);
    now.played("b", 1200);
    expect(now.interrupt()).toEqual([{ itemId: "b", endMs: 50 }]);
  });

  test("says when sound begins and when its last sample was played or cut off", () => {
    const told: boolean[] = [];
    const now = new Heard(24_000, (on) => told.push(on));
    now.received("a", 480);
    now.received("a", 480);
    now.played("a", 480);
    expect(told).toEqual([true]);
    now.played("a", 960);
    expect(told).toEqual([true, false]);
    now.received("b", 480);
    now.interrupt();
    expect(told).toEqual([true, false, true, false]);
  });
});

describe("ducking", () => {
  const quiet = 0.002;
  const speech = 0.1;

  function run(levels: number[], playing = true): boolean[] {
    const ducking = new Ducking();
    for (let at = 0; at < 50; at++) ducking.next(quiet, false, 40 * at);
    return levels.map((level, at) => ducking.next(level, playing, 2000 + 40 * at));
  }

  test("begins with speech, but not with a click", () => {
    expect(run([speech, speech, speech])).toEqual([false, true, true]);
    expect(run([speech, quiet, speech, quiet])).toEqual([false, false, false, false]);
  });

  test("ends 400 ms after the last of it", () => {
    const levels = [speech, speech, ...Array<number>(12).fill(quiet)];
    expect(run(levels).lastIndexOf(true)).toBe(10);
  });

  test("has no reason while nothing plays", () => {
    expect(run([speech, speech, speech], false)).toEqual([false, false, false]);
  });

  test("takes a steady noise for what it is", () => {
    const ducking = new Ducking();
    let last = true;
    for (let at = 0; at < 500; at++) last = ducking.next(0.03, true, 40 * at);
    expect(last).toBe(false);
    expect(ducking.next(0.3, true, 20_000) || ducking.next(0.3, true, 20_040)).toBe(true);
  });
});

/** As much of an audio context as two notes need. */
function contextThatCounts() {
  const gain = { value: 1, setTargetAtTime: () => gain };
  const node = { gain, frequency: { value: 0 }, connect: (next: unknown) => next };
  const notes: number[] = [];
  const close = vi.fn(async () => undefined);
  const context = {
    currentTime: 0,
    destination: {},
    createGain: () => node,
    createOscillator: () => ({ ...node, start: (at: number) => notes.push(at), stop: () => undefined }),
    close,
  };
  return { context: context as unknown as AudioContext, notes, close };
}

describe("while there is no call and another one is tried", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test("two notes are heard again and again, until there is one", () => {
    const { context, notes, close } = contextThatCounts();
    const open = vi.fn(() => context);
    const waiting = new Waiting(open);
    waiting.sound(true);
    vi.advanceTimersByTime(1000);
    expect(notes.length).toBe(2);
    waiting.sound(true); // it is lost still
    vi.advanceTimersByTime(5000);
    expect(notes.length).toBe(6);
    expect(open).toHaveBeenCalledTimes(1);
    waiting.sound(false);
    vi.advanceTimersByTime(10_000);
    expect(notes.length).toBe(6);
    expect(close).toHaveBeenCalledTimes(1);
  });

  test("what is back at once makes no sound", () => {
    const { context, notes } = contextThatCounts();
    const waiting = new Waiting(() => context);
    for (let times = 0; times < 3; times += 1) {
      waiting.sound(true);
      vi.advanceTimersByTime(500);
      waiting.sound(false);
    }
    vi.advanceTimersByTime(10_000);
    expect(notes).toEqual([]);
  });
});
