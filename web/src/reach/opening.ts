/** What a notice was about, as the page's address tells it. Pure. */

export interface Opening {
  /** Of the user's list: the talk begins with it. */
  readonly task?: string;
  /** Waits for a yes. */
  readonly approval?: string;
  /** Delegated work, or a question of it. */
  readonly work?: string;
}

const NAMES = { task_id: "task", approval_id: "approval", work_id: "work" } as const;

export function openingOf(search: string): Opening | null {
  const found: { -readonly [Name in keyof Opening]: string } = {};
  for (const [name, value] of new URLSearchParams(search)) {
    if (name in NAMES && value) found[NAMES[name as keyof typeof NAMES]] = value;
  }
  return Object.keys(found).length > 0 ? found : null;
}

/** The address without it: loaded anew it is an ordinary page. */
export function without(href: string): string {
  const url = new URL(href);
  for (const name of Object.keys(NAMES)) url.searchParams.delete(name);
  return url.href;
}
