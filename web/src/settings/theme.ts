/** Light, dark, or as the machine has it. Kept in this browser. */

export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = "vivavoce.theme";

export function theme(): Theme {
  try {
    const kept = localStorage.getItem(KEPT);
    return THEMES.find((one) => one === kept) ?? "system";
  } catch {
    return "system";
  }
}

export function showTheme(wanted: Theme = theme()): void {
  if (wanted === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = wanted;
}

export function chooseTheme(wanted: Theme): void {
  try {
    localStorage.setItem(KEPT, wanted);
  } catch {
    // A private window may have no storage: then it is so as long as the page lives.
  }
  showTheme(wanted);
}
