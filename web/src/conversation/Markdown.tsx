/** An answer with its headings, lists, tables and code. What is not text is left away: no picture is
 * fetched, and no markup of the answer's own is drawn. Loaded when an answer has some. */

import Markdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { Code } from "./Code";

const PLUGINS = [remarkGfm];
const SAFE = /^(https?:|mailto:)/i;

const PARTS: Components = {
  a: ({ href, children }) =>
    href && SAFE.test(href) ? (
      <a className="text-accent underline underline-offset-2" href={href} target="_blank" rel="noopener noreferrer">
        {children}
      </a>
    ) : (
      <>{children}</>
    ),
  img: ({ alt }) => <>{alt}</>,
  // Headings of an answer are below those of the page.
  h1: ({ children }) => <h3 className="text-lead font-semibold">{children}</h3>,
  h2: ({ children }) => <h3 className="text-lead font-semibold">{children}</h3>,
  h3: ({ children }) => <h4 className="font-semibold">{children}</h4>,
  ul: ({ children }) => <ul className="grid list-disc gap-1 pl-5">{children}</ul>,
  ol: ({ children, start }) => (
    <ol className="grid list-decimal gap-1 pl-6" {...(start === undefined ? {} : { start })}>
      {children}
    </ol>
  ),
  blockquote: ({ children }) => <blockquote className="border-l-2 border-line pl-3 text-quiet">{children}</blockquote>,
  hr: () => <hr className="border-line" />,
  table: ({ children }) => (
    // Wider than the column it scrolls by itself, also by keyboard.
    <div className="overflow-x-auto" tabIndex={0}>
      <table className="border-collapse text-small [&_td]:border [&_td]:border-line [&_td]:px-2.5 [&_td]:py-1 [&_th]:border [&_th]:border-line [&_th]:bg-well [&_th]:px-2.5 [&_th]:py-1 [&_th]:text-left">
        {children}
      </table>
    </div>
  ),
  pre: ({ children }) => <>{children}</>,
  code: ({ className, children }) => {
    const text = String(children ?? "");
    const language = /language-([\w+#.-]+)/.exec(className ?? "")?.[1];
    if (language === undefined && !text.includes("\n")) {
      return <code className="rounded-small bg-well px-1 py-0.5 font-mono text-[0.9em]">{children}</code>;
    }
    return <Code text={text.replace(/\n$/, "")} language={language ?? null} />;
  },
};

export default function Marked({ text }: { text: string }) {
  return (
    <div className="grid min-w-0 gap-3 [&>*]:min-w-0">
      <Markdown remarkPlugins={PLUGINS} components={PARTS} skipHtml>
        {text}
      </Markdown>
    </div>
  );
}
