import type { Due } from '../../lambdas/kernel/looks.ts';

/** Matches every entry of a queue, due or not, up to a thousand. */
export const ALL_DUE: Due = { untilMs: Number.MAX_SAFE_INTEGER, limit: 1_000 };
