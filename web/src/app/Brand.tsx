/** The name, with its sign: a voice, as a wave in a circle. */

export function Brand() {
  return (
    <p className="flex items-center gap-2.5 font-voice text-[1.625rem] leading-none italic">
      <svg viewBox="0 0 32 32" className="size-7" aria-hidden="true">
        <circle cx="16" cy="16" r="15" className="fill-accent" />
        <path
          d="M7 16c2 0 2-6 4.5-6s2.5 12 5 12 2.500-9 4.500-9 2 3 4 3"
          fill="none"
          className="stroke-on-accent"
          strokeWidth="2.4"
          strokeLinecap="round"
        />
      </svg>
      Vivavoce
    </p>
  );
}
