/** The global scope of an audio worklet, which TypeScript's libraries leave out. */

interface Scope {
  readonly sampleRate: number;
  readonly AudioWorkletProcessor: new () => { readonly port: MessagePort };
  registerProcessor(name: string, processor: unknown): void;
}

const scope = globalThis as unknown as Scope;

export const sampleRate = scope.sampleRate;
export const WorkletProcessor = scope.AudioWorkletProcessor;
export const registerProcessor = (name: string, processor: unknown): void =>
  scope.registerProcessor(name, processor);
