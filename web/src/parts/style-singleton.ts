/** What `react-style-singleton` does, with sheets that a strict content security policy allows:
 * it would put a style element into the page, and such an element needs a nonce or `unsafe-inline`.
 * A dialog keeps the page behind it from scrolling with this. */

import { useEffect } from "react";

export function stylesheetSingleton() {
  let users = 0;
  let sheet: CSSStyleSheet | null = null;
  return {
    add(styles: string): void {
      users += 1;
      if (sheet) return;
      sheet = new CSSStyleSheet();
      sheet.replaceSync(styles);
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    },
    remove(): void {
      users -= 1;
      if (users > 0) return;
      document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet);
      sheet = null;
    },
  };
}

export function styleHookSingleton() {
  const sheet = stylesheetSingleton();
  return (styles: string, dynamic?: boolean): void => {
    useEffect(() => {
      sheet.add(styles);
      return () => sheet.remove();
    }, [styles && dynamic]);
  };
}

export function styleSingleton() {
  const useStyles = styleHookSingleton();
  return function Sheet({ styles, dynamic }: { styles: string; dynamic?: boolean }) {
    useStyles(styles, dynamic);
    return null;
  };
}
