/** The page: one button, the state in words, the level, the transcript. */

import { useEffect, useSyncExternalStore } from "react";
import type { Conversation } from "../session/conversation";
import { busy, buttonWords, situation, words } from "../session/words";
import { Details } from "./Details";
import { Level } from "./Level";
import { TalkButton } from "./TalkButton";
import { Transcript } from "./Transcript";

export function App({ conversation }: { conversation: Conversation }) {
  const state = useSyncExternalStore(conversation.store.subscribe, conversation.store.get);
  const now = situation(state);
  useEffect(() => {
    document.body.dataset["state"] = now;
    if (state.transport) document.body.dataset["transport"] = state.transport;
    else delete document.body.dataset["transport"];
  }, [now, state.transport]);

  const talking = busy(state);
  const toggle = () => (talking ? void conversation.stop() : conversation.start());
  return (
    <>
      <header className="top">
        <h1>Vivavoce</h1>
      </header>
      <main>
        <Transcript lines={state.lines} />
        <section className="talk" aria-label="Talk">
          <p className="state" data-testid="state" role="status" aria-live="polite">
            <span className="dot" aria-hidden="true" />
            {words(state)}
          </p>
          <Details state={state} unlock={(token) => conversation.unlock(token)} />
          <TalkButton
            talking={talking}
            locked={now === "locked"}
            words={buttonWords(state)}
            toggle={toggle}
          />
          <Level active={talking} read={() => conversation.level()} />
        </section>
      </main>
    </>
  );
}
