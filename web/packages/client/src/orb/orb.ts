/** The orb: what the talk is doing, as a shape that moves with the voices.
 *
 * Blue and moving with the user's voice while it listens, green and moving with its own while it
 * speaks, still while it thinks, red where something went wrong, faded when it is over (seed 004
 * §11). For people who want less motion it is a disc that changes its colour and nothing else. */

import { barOf } from "../audio/level.js";
import type { OrbState } from "../session/words.js";

export interface OrbNow {
  readonly state: OrbState;
  /** Root mean square, 0 to 1: of the microphone, and of the assistant. */
  readonly input: number;
  readonly output: number;
}

/** How each state looks. A colour is that of a custom property of the canvas, or else this one. */
interface Look {
  readonly property: string;
  readonly colour: string;
  /** How far the shape is from a circle when nobody makes a sound, and how much a voice adds. */
  readonly calm: number;
  readonly moved: number;
  /** Which voice moves it. */
  readonly by: "input" | "output" | null;
  /** How fast it turns, in rounds of its waves a second. */
  readonly speed: number;
  readonly opacity: number;
}

const LOOKS: Readonly<Record<OrbState, Look>> = {
  idle: look("idle", "#7c8aa5", { calm: 0.012, speed: 0.12, opacity: 0.85 }),
  connecting: look("connecting", "#7c8aa5", { calm: 0.03, speed: 0.5, opacity: 0.8 }),
  listening: look("listening", "#2f6bff", { calm: 0.025, moved: 0.12, by: "input", speed: 0.35 }),
  speaking: look("speaking", "#12a150", { calm: 0.03, moved: 0.15, by: "output", speed: 0.5 }),
  processing: look("processing", "#8b5cf6", {}),
  muted: look("muted", "#64748b", {}),
  error: look("error", "#d92d20", {}),
  ended: look("ended", "#7c8aa5", { opacity: 0.35 }),
};

function look(name: string, colour: string, more: Partial<Look>): Look {
  const still = { calm: 0, moved: 0, by: null, speed: 0, opacity: 1 };
  return { ...still, property: `--vivavoce-${name}`, colour, ...more };
}

const LAYERS = 3;
const POINTS = 64;
const SETTLE_MS = 160; // in which a change is mostly done
const RISE_MS = 40; // a voice is seen at once …
const FALL_MS = 220; // … and goes slowly
const STILL_EVERY_MS = 250; // with less motion: it only looks whether something changed
const WIDEST = 0.34; // radius, of the canvas: the rest is room for the voice, which fills it

type Colour = readonly [number, number, number];

/** Draws into a canvas from `start` until `stop`; the canvas's size on the page is its size. */
export class Orb {
  readonly #pen: CanvasRenderingContext2D | null;
  readonly #less: MediaQueryList | null;
  #frame = 0;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #last = 0;
  #turn = 0;
  #level = 0;
  #spread = 0;
  #opacity = 0;
  #colour: Colour | null = null;
  #drawn = "";

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly read: () => OrbNow,
  ) {
    this.#pen = canvas.getContext("2d");
    this.#less = globalThis.matchMedia?.("(prefers-reduced-motion: reduce)") ?? null;
  }

  start(): void {
    this.stop();
    this.#last = performance.now();
    this.#drawn = "";
    this.#next();
  }

  stop(): void {
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#timer);
  }

  #next(): void {
    const less = this.#less?.matches ?? false;
    const draw = (now: number) => {
      if (less) this.#still();
      else this.#moving(now);
      this.#next();
    };
    if (less) this.#timer = setTimeout(() => draw(performance.now()), STILL_EVERY_MS);
    else this.#frame = requestAnimationFrame(draw);
  }

  #still(): void {
    const { state } = this.read();
    const shown = LOOKS[state];
    const colour = this.#wish(shown);
    const told = `${state} ${colour} ${this.#size()}`;
    if (told === this.#drawn) return;
    this.#drawn = told;
    [this.#colour, this.#opacity, this.#spread, this.#level] = [colour, shown.opacity, 0, 0];
    this.#draw();
  }

  #moving(now: number): void {
    const passed = Math.min(100, now - this.#last);
    this.#last = now;
    const { state, input, output } = this.read();
    const shown = LOOKS[state];
    const loud = shown.by === null ? 0 : barOf(shown.by === "input" ? input : output);
    const some = share(passed, SETTLE_MS);
    this.#level += (loud - this.#level) * share(passed, loud > this.#level ? RISE_MS : FALL_MS);
    this.#spread += (shown.calm + shown.moved * this.#level - this.#spread) * some;
    this.#opacity += (shown.opacity - this.#opacity) * some;
    this.#turn += (shown.speed * (1 + this.#level) * passed) / 1000;
    const wish = this.#wish(shown);
    const [r, g, b] = this.#colour ?? wish;
    const mixed = (from: number, to: number) => from + (to - from) * some;
    this.#colour = [mixed(r, wish[0]), mixed(g, wish[1]), mixed(b, wish[2])];
    const told = [...this.#colour, this.#opacity, this.#spread, this.#level]
      .map((value) => value.toFixed(3))
      .join(" ");
    const same = told === this.#drawn && shown.speed === 0;
    this.#drawn = told;
    if (!same || this.#size() !== this.canvas.width) this.#draw();
  }

  #size(): number {
    return Math.round(this.canvas.clientWidth * (globalThis.devicePixelRatio || 1));
  }

  #draw(): void {
    const pen = this.#pen;
    const size = this.#size();
    if (!pen || size === 0) return;
    if (this.canvas.width !== size) this.canvas.width = this.canvas.height = size;
    pen.clearRect(0, 0, size, size);
    pen.save();
    pen.translate(size / 2, size / 2);
    pen.globalAlpha = this.#opacity;
    const radius = WIDEST * size * (1 + 0.06 * this.#level);
    const [r, g, b] = (this.#colour ?? [0, 0, 0]).map(Math.round) as [number, number, number];
    const shade = (alpha: number, light = 0) => {
      const lit = (part: number) => Math.round(part + (255 - part) * light);
      return `rgba(${lit(r)}, ${lit(g)}, ${lit(b)}, ${alpha})`;
    };
    for (let layer = LAYERS - 1; layer >= 0; layer -= 1) {
      const grown = radius * (1 + 0.1 * layer);
      const glow = pen.createRadialGradient(-grown / 3, -grown / 3, grown / 8, 0, 0, grown * 1.15);
      const alpha = layer === 0 ? 1 : 0.22;
      glow.addColorStop(0, shade(alpha, layer === 0 ? 0.55 : 0.3));
      glow.addColorStop(0.6, shade(alpha, 0.08));
      glow.addColorStop(1, shade(alpha * 0.75));
      pen.fillStyle = glow;
      this.#path(pen, grown, layer);
      pen.fill();
    }
    pen.restore();
  }

  /** A circle, and on it a few slow waves that never quite repeat. */
  #path(pen: CanvasRenderingContext2D, radius: number, layer: number): void {
    const turn = 2 * Math.PI * this.#turn;
    const far = this.#spread * (1 + 0.15 * layer);
    pen.beginPath();
    for (let at = 0; at < POINTS; at += 1) {
      const angle = (2 * Math.PI * at) / POINTS;
      const waves =
        Math.sin(3 * angle + turn + 2.1 * layer) * 0.5 +
        Math.sin(2 * angle - 0.7 * turn + 1.3 * layer) * 0.3 +
        Math.sin(5 * angle + 1.6 * turn - layer) * 0.2;
      const away = radius * (1 + far * waves);
      pen.lineTo(away * Math.cos(angle), away * Math.sin(angle));
    }
    pen.closePath();
  }

  #wish({ property, colour }: Look): Colour {
    const own = getComputedStyle(this.canvas).getPropertyValue(property).trim();
    return coloured(own || colour) ?? coloured(colour) ?? [0, 0, 0];
  }
}

/** How much of the way to its goal something goes in this time. */
function share(passed: number, settle: number): number {
  return 1 - Math.exp(-passed / settle);
}

const known = new Map<string, Colour | null>();
let palette: CanvasRenderingContext2D | null = null;

/** Any colour of CSS, by drawing a dot of it. */
function coloured(name: string): Colour | null {
  const found = known.get(name);
  if (found !== undefined) return found;
  palette ??= document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  let colour: Colour | null = null;
  if (palette && (globalThis.CSS?.supports("color", name) ?? true)) {
    palette.clearRect(0, 0, 1, 1);
    palette.fillStyle = name;
    palette.fillRect(0, 0, 1, 1);
    const [r = 0, g = 0, b = 0] = palette.getImageData(0, 0, 1, 1).data;
    colour = [r, g, b];
  }
  known.set(name, colour);
  return colour;
}
