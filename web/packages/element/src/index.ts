/** Importing this makes `<vivavoce-voice>` known to the page. */

import { VivavoceVoice } from "./voice.js";

export type { Strings } from "./strings.js";
export { VivavoceVoice };

if (!customElements.get("vivavoce-voice")) customElements.define("vivavoce-voice", VivavoceVoice);

declare global {
  interface HTMLElementTagNameMap {
    "vivavoce-voice": VivavoceVoice;
  }
}
