/** The microphone was refused: how to allow it, and the same conversation in writing at once. */

import { useLingui } from "@lingui/react";
import { PenLine, Settings } from "lucide-react";
import { go } from "../app/place";
import { Button } from "../parts/button";
import { HowToAllow, isForbidden } from "./HowToAllow";

export default function Refused({ problem }: { problem: string }) {
  const { i18n } = useLingui();
  const write = () => document.querySelector<HTMLElement>('[data-testid="write"] textarea')?.focus();
  return (
    <>
      <HowToAllow problem={problem} />
      <div className="flex flex-wrap gap-2 pt-1">
        <Button data-testid="write-instead" onClick={write}>
          <PenLine aria-hidden="true" />
          {i18n._("Write instead")}
        </Button>
        {!isForbidden(problem) && (
          <Button data-testid="look-at-devices" onClick={() => go("settings")}>
            <Settings aria-hidden="true" />
            {i18n._("Choose and test devices")}
          </Button>
        )}
      </div>
    </>
  );
}
