import type { ReactNode } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { INITIAL, type State, type Vivavoce } from "@vivavoce/client";
import { Scene } from "../../client/tests/scene";
import { useVivavoce, useVivavoceState, useVoiceSession, VivavoceProvider } from "../src/index";

function client(state: Partial<State> = {}): Vivavoce {
  return new Scene({ ...INITIAL, stage: "idle", ...state }).conversation as Vivavoce;
}

function shown(children: ReactNode, state: Partial<State> = {}): string {
  return renderToStaticMarkup(
    <VivavoceProvider client={client(state)}>{children}</VivavoceProvider>,
  );
}

function Session() {
  const { status, orb, words, lines, muted, approvals } = useVoiceSession();
  const said = lines.map(({ text }) => text).join("|");
  return <p>{[status, orb, words, said, String(muted), approvals.length].join(" · ")}</p>;
}

describe("the hooks", () => {
  test("say how a voice session is going", () => {
    expect(shown(<Session />)).toBe("<p>idle · idle · Ready when you are ·  · false · 0</p>");
    const line = { unheard: "", cut: false, done: true, failed: false, note: "", percentage: null };
    const state: Partial<State> = {
      stage: "live",
      voice: "speaking",
      muted: true,
      lines: [{ id: "1", kind: "assistant", text: "Seven.", ...line }],
    };
    expect(shown(<Session />, state)).toBe(
      "<p>active · speaking · Speaking · Seven. · true · 0</p>",
    );
  });

  test("give a part of the state, and the client", () => {
    function Part() {
      const muted = useVivavoceState((state) => state.muted);
      return <b>{`${muted} ${useVivavoce().level()}`}</b>;
    }
    expect(shown(<Part />, { muted: true })).toBe("<b>true 0</b>");
  });

  test("need a provider, and say so", () => {
    expect(() => renderToStaticMarkup(<Session />)).toThrow("<VivavoceProvider>");
  });
});
