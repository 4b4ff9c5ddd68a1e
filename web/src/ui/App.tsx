/** The page: one button, the state in words, the level, the transcript; work beside it. */

import { useEffect, useMemo, useSyncExternalStore } from "react";
import {
  busy,
  buttonWords,
  type Conversation,
  type Past,
  pastLines,
  situation,
  words,
} from "@vivavoce/client";
import { Approvals } from "./Approvals";
import { Details } from "./Details";
import { History } from "./History";
import { Level } from "./Level";
import { Older, PastBar, Write } from "./PastBar";
import { TalkButton } from "./TalkButton";
import { Transcript } from "./Transcript";
import { Tray } from "./Tray";

export function App({ conversation }: { conversation: Conversation }) {
  const state = useSyncExternalStore(conversation.store.subscribe, conversation.store.getState);
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

  const { work, archive } = conversation;
  const { past } = state.history;
  const remembered = useMemo(() => (past && !past.live ? pastLines(past) : null), [past]);
  const talking = busy(state);
  const toggle = () => (talking ? void conversation.stop() : conversation.start());
  return (
    <>
      <header className="top">
        <h1>Vivavoce</h1>
        <button
          type="button"
          className="small"
          data-testid="open-history"
          aria-haspopup="dialog"
          disabled={talking || now === "locked"}
          onClick={() => void archive.open()}
        >
          History
        </button>
      </header>
      <History history={state.history} archive={archive} />
      <main>
        {past && <PastBar past={past} talking={talking} leave={() => archive.leave()} />}
        <Transcript
          asking={state.work.approvals.map((one) => one.call_id)}
          key={past?.id ?? "now"}
          lines={remembered ?? state.lines}
          written={past !== null && !talking}
          target={past?.target ?? null}
          {...(past && {
            empty: <Nothing past={past} />,
            top: !past.live && <Older past={past} older={() => void archive.older()} />,
          })}
        />
        {past && !talking && <Write past={past} write={(text) => archive.write(text)} />}
        <Tray work={state.work} actions={work} quiet={now === "loading"} />
        <section className="talk" aria-label="Talk">
          <Approvals work={state.work} decide={(...what) => void work.decide(...what)} />
          <p className="state" data-testid="state" role="status" aria-live="polite">
            <span className="dot" aria-hidden="true" />
            {words(state)}
          </p>
          <Details state={state} unlock={(token) => conversation.unlock(token)} />
          <TalkButton
            talking={talking}
            locked={now === "locked" || (past?.reading === true && past.messages.length === 0)}
            words={buttonWords(state)}
            toggle={toggle}
          />
          {state.ended !== null && !past && !talking && (
            <button type="button" className="small" data-testid="new" onClick={() => conversation.forget()}>
              New conversation
            </button>
          )}
          <Level active={talking} read={() => conversation.level()} />
        </section>
      </main>
    </>
  );
}

function Nothing({ past }: { past: Past }) {
  const words = past.reading ? "One moment…" : "Nothing was said here yet.";
  return <p className="empty">{past.problem ? "" : words}</p>;
}
