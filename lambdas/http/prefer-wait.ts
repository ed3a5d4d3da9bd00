import type { Answer } from '../kernel/answer.ts';

/** The wait and the work must fit into the function's timeout. Seconds. */
const LONGEST_WAIT_SECONDS = 8;

/** Preferences are separated by commas outside quoted strings. */
const PREFERENCE = /(?:"(?:[^"\\]|\\.)*"|[^,])+/g;
const WAIT = /^\s*wait\s*=\s*(?:(\d+)|"(\d+)")\s*(?:;|$)/i;

/**
 * The seconds that the caller prefers to wait (`Prefer: wait=N`, RFC 7240, sections 2 and 4.3), at most 8. The first of several
 * preferences counts.
 *
 * @returns undefined when the preference is absent or malformed: a preference never makes a request fail
 */
export function preferredWaitSeconds(values: readonly string[]): number | undefined {
  for (const [preference] of values.join(',').matchAll(PREFERENCE)) {
    const [, bare, quoted] = WAIT.exec(preference) ?? [];
    const digits = bare ?? quoted;
    if (digits !== undefined) return Math.min(LONGEST_WAIT_SECONDS, Number(digits));
  }
  return undefined;
}

/** Adds `Preference-Applied` (RFC 7240, section 3). @param wait seconds; undefined when the caller did not ask for it */
export function preferenceApplied(answer: Answer, wait: number | undefined): Answer {
  if (wait === undefined) return answer;
  return { ...answer, headers: { ...answer.headers, 'preference-applied': `wait=${wait}` } };
}
