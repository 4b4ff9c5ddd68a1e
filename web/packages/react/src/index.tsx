/** Hooks for a Vivavoce client. Thin: what is so is in the client, and here is only who looks at it. */

import {
  type Approval,
  type Line,
  Orb,
  orbState,
  type OrbState,
  type Reach,
  type Retry,
  type SessionStatus,
  sessionStatus,
  type Situation,
  situation,
  type State,
  type Task,
  type Told,
  type Vivavoce,
  type Wishes,
  words,
} from "@vivavoce/client";
import {
  createContext,
  type CSSProperties,
  type ReactNode,
  useContext,
  useEffect,
  useMemo,
  useRef,
  useSyncExternalStore,
} from "react";

const Client = createContext<Vivavoce | null>(null);

interface ProviderProps {
  /** Made once, outside of the components: `new Vivavoce({ url })`. */
  readonly client: Vivavoce;
  readonly children?: ReactNode;
}

/** Whoever is inside has the client. When it begins and ends is up to whoever made it. */
export function ClientProvider({ client, children }: ProviderProps) {
  return <Client.Provider value={client}>{children}</Client.Provider>;
}

/** Whoever is inside has the client. While it is shown, the client hears of tasks and approvals. */
export function VivavoceProvider({ client, children }: ProviderProps) {
  useEffect(() => {
    client.watch();
    client.work.open();
    return () => {
      client.work.close();
      void client.stop();
    };
  }, [client]);
  return <ClientProvider client={client}>{children}</ClientProvider>;
}

export function useVivavoce(): Vivavoce {
  const client = useContext(Client);
  if (!client) throw new Error("useVivavoce: there is no <VivavoceProvider> around this component.");
  return client;
}

/** A part of what is so; the component is drawn anew when that part is another one. */
export function useVivavoceState<Part = State>(select: (state: State) => Part = asItIs): Part {
  const { store } = useVivavoce();
  // A part that is made on the spot would be another one each time: it is kept while its state is.
  const last = useRef<{ state: State; select: (state: State) => Part; part: Part } | null>(null);
  const read = () => {
    const state = store.getState();
    const kept = last.current;
    if (kept?.state === state && kept.select === select) return kept.part;
    const part = select(state);
    const same = kept !== null && Object.is(kept.part, part);
    last.current = { state, select, part: same ? kept.part : part };
    return last.current.part;
  };
  return useSyncExternalStore(store.subscribe, read, read);
}

function asItIs<Part>(state: State): Part {
  return state as Part;
}

/** Calls the listener each time that happens. */
export function useVivavoceEvent<Name extends keyof Told>(
  name: Name,
  listener: (told: Told[Name]) => void,
): void {
  const client = useVivavoce();
  const latest = useRef(listener);
  useEffect(() => {
    latest.current = listener;
  });
  useEffect(() => client.on(name, (told) => latest.current(told)), [client, name]);
}

export interface VoiceSession {
  /** `idle → connecting → active → ended`, with `reconnecting` and `error`. */
  readonly status: SessionStatus;
  /** What an orb shows: listening, speaking, processing … */
  readonly orb: OrbState;
  /** The same in one word of ours, and in words for people. */
  readonly situation: Situation;
  readonly words: string;
  readonly lines: readonly Line[];
  readonly muted: boolean;
  readonly conversation: string | null;
  readonly approvals: readonly Approval[];
  readonly tasks: readonly Task[];
  readonly notice: string | null;
  readonly problem: string | null;
  readonly retry: Retry | null;
  start(wishes?: Wishes): void;
  resume(conversation?: string): void;
  stop(): Promise<void>;
  mute(on?: boolean): void;
  send(text: string): Promise<boolean>;
  interrupt(): void;
  retryNow(): void;
  decide(approval: string, granted: boolean, reach?: Reach): Promise<void>;
}

/** All that a page with one button needs. */
export function useVoiceSession(): VoiceSession {
  const client = useVivavoce();
  const state = useVivavoceState();
  const actions = useMemo(
    () => ({
      start: (wishes?: Wishes) => client.start(wishes),
      resume: (conversation?: string) => client.resume(conversation),
      stop: () => client.stop(),
      mute: (on?: boolean) => client.mute(on),
      send: (text: string) => client.send(text),
      interrupt: () => client.interrupt(),
      retryNow: () => client.retryNow(),
      decide: (approval: string, granted: boolean, reach?: Reach) =>
        client.work.decide(approval, granted, reach),
    }),
    [client],
  );
  return useMemo(() => {
    const { lines, muted, conversation, notice, problem, retry, work } = state;
    return {
      status: sessionStatus(state),
      orb: orbState(state),
      situation: situation(state),
      words: words(state),
      lines,
      muted,
      conversation,
      approvals: work.approvals,
      tasks: work.tasks,
      notice,
      problem,
      retry,
      ...actions,
    };
  }, [state, actions]);
}

/** How loud both are, for whoever draws: read in the frame, and not by drawing components anew. */
export function useLevels(draw: (input: number, output: number) => void): void {
  const client = useVivavoce();
  const latest = useRef(draw);
  useEffect(() => {
    latest.current = draw;
  });
  useEffect(() => {
    let frame = requestAnimationFrame(function look() {
      latest.current(client.level(), client.voiceLevel());
      frame = requestAnimationFrame(look);
    });
    return () => cancelAnimationFrame(frame);
  }, [client]);
}

interface OrbProps {
  readonly className?: string;
  readonly style?: CSSProperties;
}

/** The orb, as large as its style says. */
export function VoiceOrb({ className, style }: OrbProps) {
  const client = useVivavoce();
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (!canvas.current) return undefined;
    const orb = new Orb(canvas.current, () => ({
      state: orbState(client.state),
      input: client.level(),
      output: client.voiceLevel(),
    }));
    orb.start();
    return () => orb.stop();
  }, [client]);
  return <canvas ref={canvas} className={className} style={style} aria-hidden="true" />;
}
