/** What notices say in English, by themselves or as the server has it. The page has the catalogue,
 * and leaves the worker what each of these is in the page's language: a worker may run alone. */

/** In the browser's cache, below the page's own address. */
export const WORDS = "notices.json";

export type Words = Readonly<Record<string, string>>;

export const NOTICE_WORDS = [
  /*i18n*/ "There is news. Open the page to see it.",
  /*i18n*/ "The server did not answer. Try again.",
  /*i18n*/ "The server could not do it now. Try again.",
  /*i18n*/ "It was answered already, or is too old for an answer.",
  /*i18n*/ "That did not work.",
  /*i18n*/ "Done",
  /*i18n*/ "Snooze 10 min",
  /*i18n*/ "Yes",
  /*i18n*/ "No",
  /*i18n*/ "It is due now.",
  /*i18n*/ "Something on your list",
  /*i18n*/ "Waiting for your yes",
  /*i18n*/ "A question",
] as const;
