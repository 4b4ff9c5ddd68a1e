/** How it looks. What a page may change is a custom property (`--vivavoce-…`) or a part. */

import { css } from "lit";

export const styles = css`
  :host {
    --_background: var(--vivavoce-background, #ffffff);
    --_text: var(--vivavoce-text, #1b2230);
    --_quiet: var(--vivavoce-quiet, #566072);
    --_border: var(--vivavoce-border, #dfe3ea);
    --_bubble: var(--vivavoce-bubble, #f1f3f7);
    --_accent: var(--vivavoce-accent, #2457e6);
    --_on-accent: var(--vivavoce-on-accent, #ffffff);
    --_own: var(--vivavoce-own, #e6edff);
    --_danger: var(--vivavoce-danger, #b42318);
    --_radius: var(--vivavoce-radius, 18px);
    --_orb: var(--vivavoce-orb-size, 9rem);
    display: block;
    position: relative;
    box-sizing: border-box;
    min-inline-size: 17rem;
    max-inline-size: 28rem;
    color-scheme: light;
    color: var(--_text);
    font: 400 1rem/1.45 var(--vivavoce-font, system-ui, sans-serif);
  }
  :host([hidden]) {
    display: none;
  }
  :host([theme="dark"]) {
    color-scheme: dark;
    --_background: var(--vivavoce-background, #151922);
    --_text: var(--vivavoce-text, #e9edf5);
    --_quiet: var(--vivavoce-quiet, #a5b0c2);
    --_border: var(--vivavoce-border, #2c3443);
    --_bubble: var(--vivavoce-bubble, #202735);
    --_accent: var(--vivavoce-accent, #8eabff);
    --_on-accent: var(--vivavoce-on-accent, #10162a);
    --_own: var(--vivavoce-own, #263459);
    --_danger: var(--vivavoce-danger, #ff9d92);
  }
  @media (prefers-color-scheme: dark) {
    :host(:not([theme="light"])) {
      color-scheme: dark;
      --_background: var(--vivavoce-background, #151922);
      --_text: var(--vivavoce-text, #e9edf5);
      --_quiet: var(--vivavoce-quiet, #a5b0c2);
      --_border: var(--vivavoce-border, #2c3443);
      --_bubble: var(--vivavoce-bubble, #202735);
      --_accent: var(--vivavoce-accent, #8eabff);
      --_on-accent: var(--vivavoce-on-accent, #10162a);
      --_own: var(--vivavoce-own, #263459);
      --_danger: var(--vivavoce-danger, #ff9d92);
    }
  }
  * {
    box-sizing: border-box;
  }
  .card {
    display: flex;
    flex-direction: column;
    gap: 0.75rem;
    padding: 1rem;
    background: var(--_background);
    border: 1px solid var(--_border);
    border-radius: var(--_radius);
  }
  .talk {
    display: flex;
    flex-direction: column;
    align-items: center;
    gap: 0.5rem;
  }
  button {
    font: inherit;
    color: inherit;
    cursor: pointer;
    background: none;
    border: 0;
    border-radius: 999px;
  }
  :is(button, input, .lines):focus-visible {
    outline: 3px solid var(--_accent);
    outline-offset: 2px;
  }
  .orb {
    inline-size: var(--_orb);
    block-size: var(--_orb);
    padding: 0;
    border-radius: 50%;
  }
  .orb canvas {
    display: block;
    inline-size: 100%;
    block-size: 100%;
  }
  .state {
    margin: 0;
    min-block-size: 1.45em;
    font-weight: 600;
    text-align: center;
    text-wrap: balance;
  }
  .buttons {
    display: flex;
    flex-wrap: wrap;
    justify-content: center;
    gap: 0.5rem;
  }
  .main,
  .small {
    padding: 0.5rem 1.1rem;
    min-block-size: 2.75rem;
    border: 1px solid var(--_border);
    font-weight: 600;
  }
  .main {
    color: var(--_on-accent);
    background: var(--_accent);
    border-color: transparent;
  }
  .main.end {
    color: var(--_background);
    background: var(--_danger);
  }
  .small:hover {
    background: var(--_bubble);
  }
  .small[aria-pressed="true"] {
    color: var(--_danger);
    border-color: currentColor;
  }
  .round {
    display: inline-grid;
    place-items: center;
    inline-size: 2.75rem;
    padding: 0;
  }
  svg {
    inline-size: 1.25rem;
    block-size: 1.25rem;
    fill: none;
    stroke: currentColor;
    stroke-width: 2;
    stroke-linecap: round;
    stroke-linejoin: round;
  }
  .note {
    margin: 0;
    color: var(--_quiet);
    font-size: 0.9rem;
    text-align: center;
    text-wrap: balance;
  }
  .note.problem {
    color: var(--_danger);
  }
  .lines {
    display: flex;
    flex-direction: column;
    gap: 0.5rem;
    margin: 0;
    padding: 0 0.15rem;
    max-block-size: var(--vivavoce-transcript-height, 18rem);
    overflow-y: auto;
    overscroll-behavior: contain;
    list-style: none;
    scrollbar-width: thin;
  }
  .line {
    max-inline-size: 88%;
    padding: 0.5rem 0.8rem;
    border-radius: 1rem;
    border-end-start-radius: 0.3rem;
    background: var(--_bubble);
    overflow-wrap: anywhere;
    align-self: flex-start;
  }
  .text {
    white-space: pre-wrap;
  }
  .line.user {
    align-self: flex-end;
    border-radius: 1rem;
    border-end-end-radius: 0.3rem;
    background: var(--_own);
  }
  .line:is(.tool, .due, .intent) {
    max-inline-size: 100%;
    padding: 0.15rem 0.8rem;
    background: none;
    color: var(--_quiet);
    font-size: 0.9rem;
    border-inline-start: 3px solid var(--_border);
    border-radius: 0;
  }
  .line.intent {
    color: var(--_text);
    border-color: var(--_accent);
  }
  .line.open {
    opacity: 0.75;
  }
  .rows {
    display: grid;
    grid-template-columns: auto 1fr;
    gap: 0.1rem 0.6rem;
    margin: 0.2rem 0 0;
  }
  .rows dt {
    color: var(--_quiet);
  }
  .rows dd {
    margin: 0;
  }
  .remark {
    color: var(--_quiet);
    font-size: 0.85em;
  }
  .approval {
    display: flex;
    flex-direction: column;
    gap: 0.5rem;
    padding: 0.75rem;
    border: 2px solid var(--_accent);
    border-radius: calc(var(--_radius) - 6px);
  }
  .approval p {
    margin: 0;
  }
  .approval pre {
    margin: 0;
    padding: 0.5rem;
    max-block-size: 9rem;
    overflow: auto;
    font: 0.85rem/1.4 ui-monospace, monospace;
    background: var(--_bubble);
    border-radius: 0.5rem;
    white-space: pre-wrap;
    overflow-wrap: anywhere;
  }
  form {
    display: flex;
    gap: 0.5rem;
  }
  input {
    flex: 1;
    min-inline-size: 0;
    min-block-size: 2.75rem;
    padding: 0.5rem 1rem;
    font: inherit;
    color: inherit;
    background: transparent;
    border: 1px solid var(--_border);
    border-radius: 999px;
  }
  input::placeholder {
    color: var(--_quiet);
    opacity: 1;
  }
  .unseen {
    position: absolute;
    inline-size: 1px;
    block-size: 1px;
    overflow: hidden;
    clip-path: inset(50%);
    white-space: nowrap;
  }
  :host([layout="button"]) {
    --_orb: var(--vivavoce-orb-size, 3.25rem);
    min-inline-size: 0;
    inline-size: fit-content;
  }
  :host([layout="button"]) .card {
    padding: 0.4rem 0.8rem 0.4rem 0.4rem;
    border-radius: calc(var(--_orb) / 2 + 0.5rem);
  }
  :host([layout="button"]) .talk {
    flex-flow: row wrap;
  }
  :host([layout="button"]) .orb {
    flex: none;
  }
  :host([layout="button"]) .state {
    min-block-size: 0;
  }
  :host([layout="button"]) .approval {
    margin: 0.4rem 0 0 0.4rem;
  }
  :host([layout="button"]) .note {
    padding: 0 0.6rem 0.4rem;
    flex-basis: 100%;
    order: 1;
    text-align: start;
  }
  :host([layout="button"]) :is(.lines, form, .again, .main.talks) {
    display: none;
  }
  @media (prefers-reduced-motion: no-preference) {
    .main,
    .small {
      transition:
        background-color 120ms,
        border-color 120ms;
    }
  }
  @media (forced-colors: active) {
    .line,
    .main {
      border: 1px solid CanvasText;
    }
  }
`;
