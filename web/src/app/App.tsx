/** The page with all that its parts need around them. */

import { I18nProvider } from "@lingui/react";
import { QueryClientProvider } from "@tanstack/react-query";
import type { Vivavoce } from "@vivavoce/client";
import { ClientProvider } from "@vivavoce/react";
import { Toasts } from "../parts/toast";
import { TooltipProvider } from "../parts/tooltip";
import { type Reach, ReachContext } from "../reach/context";
import { i18n } from "../words/i18n";
import { queries } from "./query";
import { Shell } from "./Shell";

export function App({ client, reach }: { client: Vivavoce; reach: Reach }) {
  return (
    <I18nProvider i18n={i18n}>
      <QueryClientProvider client={queries}>
        <ClientProvider client={client}>
          <ReachContext value={reach}>
            <TooltipProvider delayDuration={400}>
              <Shell />
              <Toasts />
            </TooltipProvider>
          </ReachContext>
        </ClientProvider>
      </QueryClientProvider>
    </I18nProvider>
  );
}
