/** The one button. */

interface Props {
  talking: boolean;
  locked: boolean;
  words: string;
  toggle: () => void;
}

export function TalkButton({ talking, locked, words, toggle }: Props) {
  return (
    <button
      type="button"
      className={talking ? "button talking" : "button"}
      data-testid="talk"
      disabled={locked}
      onClick={toggle}
    >
      <svg viewBox="0 0 24 24" aria-hidden="true" focusable="false">
        {talking ? (
          <rect x="6.5" y="6.5" width="11" height="11" rx="2.5" fill="currentColor" />
        ) : (
          <g fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinecap="round">
            <rect x="9" y="3" width="6" height="11" rx="3" fill="currentColor" stroke="none" />
            <path d="M5.5 11.5a6.5 6.5 0 0 0 13 0M12 18v3M8.5 21h7" />
          </g>
        )}
      </svg>
      <span>{words}</span>
    </button>
  );
}
