import type { Answer } from '../kernel/answer.ts';

/** With the work itself it must fit into the function's time. Seconds. */
const LONGEST_WAIT_SECONDS = 8;

/** Preferences are divided by commas, but not by those inside a quoted string. */
const PREFERENCE = /(?:"(?:[^"\\]|\\.)*"|[^,])+/g;
const WAIT = /^\s*wait\s*=\s*(?:(\d+)|"(\d+)")\s*(?:;|$)/i;

/**
 * How many seconds a client prefers to wait (`Prefer: wait=N`, RFC 7240, sections 2 and 4.3), at most 8. The first of
 * several counts.
 *
 * @returns undefined when the client does not say, or says what cannot be read: preferences never make a request fail
 */
export function preferredWaitSeconds(values: readonly string[]): number | undefined {
  for (const [preference] of values.join(',').matchAll(PREFERENCE)) {
    const [, bare, quoted] = WAIT.exec(preference) ?? [];
    const digits = bare ?? quoted;
    if (digits !== undefined) return Math.min(LONGEST_WAIT_SECONDS, Number(digits));
  }
  return undefined;
}

/** Says that it was waited for (RFC 7240, section 3). @param wait seconds; undefined when the client did not ask for it */
export function preferenceApplied(answer: Answer, wait: number | undefined): Answer {
  if (wait === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'preference-applied': `wait=${wait}` } };
}
