/** Code with its colours, once they are there: until then, and in a language that is not known, it is
 * plain. */

import { useLingui } from "@lingui/react";
import { Check, Copy } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { Button } from "../parts/button";

const LONGEST = 20_000; // characters that get colours
const SHOWN_MS = 2000;

export function Code({ text, language }: { text: string; language: string | null }) {
  const { i18n } = useLingui();
  const coloured = useColours(text, language);
  return (
    <figure className="overflow-hidden rounded-card border border-line bg-card">
      <figcaption className="flex items-center justify-between border-b border-line py-0.5 pr-1 pl-3.5 text-tiny text-quiet">
        {language ?? i18n._("Code")}
        <CopyButton text={text} />
      </figcaption>
      <pre className="overflow-x-auto px-3.5 py-3 font-mono text-small" tabIndex={0}>
        <code className="code">{coloured ?? text}</code>
      </pre>
    </figure>
  );
}

export function CopyButton({ text }: { text: string }) {
  const { i18n } = useLingui();
  const [done, setDone] = useState(false);
  useEffect(() => {
    if (!done) return undefined;
    const timer = setTimeout(() => setDone(false), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [done]);
  const words = done ? i18n._("Copied") : i18n._("Copy");
  const Icon = done ? Check : Copy;
  const copy = () => void navigator.clipboard.writeText(text).then(() => setDone(true));
  return (
    <Button tone="quiet" size="small icon" aria-label={words} title={words} onClick={copy}>
      <Icon aria-hidden="true" className="size-4" />
    </Button>
  );
}

function useColours(text: string, language: string | null): ReactNode {
  const [coloured, setColoured] = useState<ReactNode>(null);
  useEffect(() => {
    if (language === null || text.length > LONGEST) return undefined;
    let wanted = true;
    void import("./highlight").then(({ highlighted }) => wanted && setColoured(highlighted(text, language)));
    return () => {
      wanted = false;
    };
  }, [text, language]);
  return coloured;
}
