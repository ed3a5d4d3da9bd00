/** Together with the request itself this stays below the gateway's 29 s. Seconds. */
const LONGEST_WAIT_SECONDS = 8;

/** How many seconds a client prefers to wait (`Prefer: wait=N`, RFC 7240, section 4.3), at most 8; undefined when it does not say. */
export function preferredWaitSeconds(values: readonly string[]): number | undefined {
  for (const preference of values.flatMap((value) => value.split(','))) {
    const match = /^\s*wait\s*=\s*"?(\d{1,6})"?\s*(?:;.*)?$/i.exec(preference);
    if (match?.[1] !== undefined) return Math.min(LONGEST_WAIT_SECONDS, Number(match[1]));
  }
  return undefined;
}
