// How a scene is run: what it should do comes as JSON, what it saw goes out as lines of JSON.

export const given = JSON.parse(process.argv[2] ?? "{}");

export function tell(kind, more = {}) {
  process.stdout.write(`${JSON.stringify({ kind, ...more })}\n`);
}

/** Play the scene to its end; whatever goes wrong is told, and is the exit code. */
export async function play(scene) {
  try {
    await scene();
    tell("done");
    process.exit(0);
  } catch (error) {
    tell("failed", { message: String(error?.stack ?? error?.message ?? JSON.stringify(error)) });
    process.exit(1);
  }
}

/** Wait for a condition, told what was waited for if it never comes. */
export async function until(what, condition, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`never came: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
