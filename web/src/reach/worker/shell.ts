/** The page without a network: as it was when it was last there. It then says itself that the
 * server does not answer, and goes on when it does. */

const PATIENCE_MS = 4000;
/** What a proxy says where nobody is behind it. */
const NOBODY = [502, 503, 504];

export interface ShellPorts {
  fetch(request: Request): Promise<Response>;
  kept(): Promise<Response | undefined>;
  pause(ms: number): Promise<void>;
}

/** From the server where it answers, so that the page is never older than what it talks to. */
export async function page(request: Request, ports: ShellPorts): Promise<Response> {
  const asked = ports.fetch(request);
  const late = ports.pause(PATIENCE_MS).then(() => null);
  const answer = await Promise.race([asked, late]).catch(() => null);
  if (answer !== null && !NOBODY.includes(answer.status)) return answer;
  return (await ports.kept()) ?? answer ?? asked;
}

/** Is it the page itself, and not the API's description or what somebody else put beside it? */
export function isPage(url: string, scope: string): boolean {
  const { origin, pathname } = new URL(url);
  const own = new URL(scope);
  return origin === own.origin && pathname === own.pathname;
}
