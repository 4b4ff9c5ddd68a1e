/** The server asks who is there. What it takes comes with its answer; the form is loaded only then. */

import { useLingui } from "@lingui/react";
import { lazy, type ReactNode, Suspense } from "react";
import { Card } from "../parts/card";
import { Nothing } from "../parts/pane";

const Form = lazy(() => import("./LoginForm"));

export function Login({ header }: { header?: ReactNode }) {
  const { i18n } = useLingui();
  return (
    <section className="grid h-full place-items-center overflow-y-auto p-5" aria-label={i18n._("Log in")}>
      <Card className="w-full max-w-sm p-6">
        {header && <div className="pb-6">{header}</div>}
        <Suspense fallback={<Nothing>{i18n._("One moment…")}</Nothing>}>
          <Form />
        </Suspense>
      </Card>
    </section>
  );
}
