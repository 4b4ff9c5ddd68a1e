/** The page: one button, the state in words, the level, the transcript; work beside it. */

import { useEffect, useSyncExternalStore } from "react";
import type { Conversation } from "../session/conversation";
import { busy, buttonWords, situation, words } from "../session/words";
import { Approvals } from "./Approvals";
import { Details } from "./Details";
import { Level } from "./Level";
import { TalkButton } from "./TalkButton";
import { Transcript } from "./Transcript";
import { Tray } from "./Tray";

export function App({ conversation }: { conversation: Conversation }) {
  const state = useSyncExternalStore(conversation.store.subscribe, conversation.store.get);
  const now = situation(state);
  useEffect(() => {
    document.body.dataset["state"] = now;
    if (state.transport) document.body.dataset["transport"] = state.transport;
    else delete document.body.dataset["transport"];
  }, [now, state.transport]);

  const waiting = state.work.approvals.length > 0;
  useEffect(() => {
    document.title = waiting ? "Yes or no? · Vivavoce" : "Vivavoce";
  }, [waiting]);

  const { desk } = conversation;
  const talking = busy(state);
  const toggle = () => (talking ? void conversation.stop() : conversation.start());
  return (
    <>
      <header className="top">
        <h1>Vivavoce</h1>
      </header>
      <main>
        <Transcript lines={state.lines} />
        <Tray work={state.work} desk={desk} quiet={now === "loading"} />
        <section className="talk" aria-label="Talk">
          <Approvals work={state.work} decide={(id, granted) => void desk.decide(id, granted)} />
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
