/** Where the lines of a conversation stand: with room at the side for how each came. */
export const COLUMN = "mx-auto w-full max-w-3xl px-7";
