/** Leaves: this tab forgets who it was, and the provider too where it has a place for that. */

import { useLingui } from "@lingui/react";
import { useVivavoce } from "@vivavoce/react";
import { LogOut as Icon } from "lucide-react";
import { useStore } from "zustand";
import { go } from "../app/place";
import { Button } from "../parts/button";
import { ring } from "./keys";
import { goodbye } from "./provider";

export function LogOut() {
  const { i18n } = useLingui();
  const client = useVivavoce();
  const keys = useStore(ring.store, (state) => state.keys);
  if (!keys) return null;
  const leave = async () => {
    await client.stop();
    client.forget(); // the next one who logs in here does not see it
    ring.forget();
    go("talk"); // where one logs in
    const away = goodbye(keys);
    if (away) location.assign(away);
    else location.reload();
  };
  return (
    <Button className="justify-self-start" data-testid="log-out" onClick={() => void leave()}>
      <Icon aria-hidden="true" />
      {i18n._("Log out")}
    </Button>
  );
}
