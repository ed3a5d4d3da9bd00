import type { Answer } from '../kernel/answer.ts';
import type { Waiting } from '../once/use/await-first.ts';

/** Maximum wait, in seconds. The wait and the work must fit into the function's timeout. */
const LONGEST_WAIT_SECONDS = 8;

/** Preferences are separated by commas outside quoted strings. An unterminated string extends to the end. */
const PREFERENCE = /(?:"(?:[^"\\]|\\[^]?)*(?:"|$)|[^,"])+/g;
const WAIT = /^\s*wait\s*=\s*(?:(\d+)|"(\d+)")\s*(?:;|$)/i;

/**
 * Returns the number of seconds that the caller prefers to wait (`Prefer: wait=N`, RFC 7240, sections 2 and 4.3), at
 * most 8. If there are several such preferences, the first one applies.
 *
 * @returns undefined when the preference is absent or malformed, because a preference must not make a request fail
 */
export function preferredWaitSeconds(values: readonly string[]): number | undefined {
  for (const [preference] of values.join(',').matchAll(PREFERENCE)) {
    const [, bare, quoted] = WAIT.exec(preference) ?? [];
    const digits = bare ?? quoted;
    if (digits !== undefined) return Math.min(LONGEST_WAIT_SECONDS, Number(digits));
  }
  return undefined;
}

export interface PreferredWait extends Waiting {
  /**
   * Adds `Preference-Applied` (RFC 7240, section 3) if the caller asked to wait, unless a needed wait was not allowed.
   */
  readonly applied: (answer: Answer) => Answer;
}

/** @param enterWait reserves a place for a waiting request; if none is free, the request does not wait */
export function preferredWait(values: readonly string[], enterWait: Waiting['enter']): PreferredWait {
  const seconds = preferredWaitSeconds(values);
  let isRefused = false;
  return {
    waitMs: (seconds ?? 0) * 1000,
    enter: async (waitMs) => {
      const leave = await enterWait(waitMs);
      isRefused = leave === undefined;
      return leave;
    },
    applied: (answer) =>
      seconds === undefined || isRefused
        ? answer
        : { ...answer, headers: { ...answer.headers, 'preference-applied': `wait=${seconds}` } },
  };
}
