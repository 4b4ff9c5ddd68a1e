/** A conversation as a file: saved, or handed to another app. */

import type { Api } from "@vivavoce/client";

export type Format = "markdown" | "json";

export function exported(api: Api, id: string, format: Format): Promise<File> {
  return api.file(`api/v1/conversations/${encodeURIComponent(id)}/export?format=${format}`);
}

export function save(file: File): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = file.name;
  link.click();
  // Not at once: the browser may only begin to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Where the device has no sharing of files, it is saved.. */
export async function share(file: File, title: string): Promise<"shared" | "saved" | "cancelled"> {
  // Browsers share plain text, and no Markdown.
  const text = new File([file], file.name.replace(/\.md$/, ".txt"), { type: "text/plain" });
  const given = { files: [text], title };
  if (!navigator.canShare?.(given)) {
    save(file);
    return "saved";
  }
  try {
    await navigator.share(given);
    return "shared";
  } catch (fault) {
    if (fault instanceof DOMException && fault.name === "AbortError") return "cancelled";
    save(file);
    return "saved";
  }
}
