import type { Beginning } from './charge.ts';
import { errorReply, type Reply } from './reply.ts';
import type { AdvanceTask } from './tasks.ts';

/**
 * The behavior of the sandbox for each magic source. `first` applies to the first send of an idempotency key (every
 * call without a key counts as a first send), `later` to every further send of the key. If the last column is empty,
 * later sends return the current charge. With manual capture, "charged" means authorized.
 *
 * | source                    | first send                                                 | later sends            |
 * |---------------------------|------------------------------------------------------------|------------------------|
 * | tok_ok                    | charged, 201                                               | the same charge        |
 * | tok_declined              | declined charge in the books, 402                          | the same decline       |
 * | tok_slow                  | charged, 201 after 3 s                                     | the same, after 3 s    |
 * | tok_flaky                 | not charged, 500                                           | charged, 201           |
 * | tok_rate_limited          | not charged, 429 with Retry-After                          | charged, 201           |
 * | tok_timeout_charged       | charged, no response for 15 s, then 504                    | the same charge, 201   |
 * | tok_timeout_not_charged   | not charged, no response for 15 s, then 504                | charged, 201           |
 * | tok_malformed             | charged, 201 with a truncated body                         | the same charge, 201   |
 * | tok_unauthorized          | not charged, 401                                           | not charged, 401       |
 * | tok_async                 | pending, 201; charged after 2 s                            |                        |
 * | tok_async_declined        | pending, 201; declined after 2 s                           |                        |
 * | tok_async_short           | pending, 201; only half of it is charged after 2 s         |                        |
 * | tok_action                | requires_action, 201; the payer decides at its action_url  |                        |
 * | tok_callback_twice        | charged, 201; its event is sent twice concurrently         |                        |
 * | tok_callback_first        | charged; its event is sent first, then 201                 |                        |
 * | tok_callback_out_of_order | pending, 201; charged after 1 s; newer event is sent first |                        |
 * | tok_callback_late_success | declined, 402; charged after 3 s nevertheless              |                        |
 * | tok_dispute               | charged, 201; disputed in full after 2 s                   |                        |
 * | tok_fee                   | charged, 201, with a fee of 2.9 % and 30 minor units       |                        |
 */

/** If the key already has a charge, that charge stays unchanged. */
type Effect = Beginning | 'nothing';

type Answer =
  /** The status and body match the stored charge. */
  | { readonly kind: 'honest'; readonly delayMs: number }
  /** The status that matches the stored charge, with a truncated body. */
  | { readonly kind: 'unreadable' }
  | {
      readonly kind: 'error';
      readonly status: 401 | 429 | 500 | 504;
      readonly code: string;
      readonly delayMs: number;
      readonly retryAfterSeconds?: number;
    };

export type CallbackDelivery = 'once' | 'twice' | 'before_answer' | 'after_next';

/** A change that the sandbox makes to a charge later, without a request. */
export interface Sequel {
  readonly to: AdvanceTask['to'];
  readonly afterSeconds: number;
}

export interface Behavior {
  readonly effect: Effect;
  readonly answer: Answer;
  /** @default 'once' */
  readonly callback?: CallbackDelivery;
  /** @default no later change */
  readonly sequel?: Sequel;
  readonly withFee?: boolean;
}

export interface MagicSource {
  readonly first: Behavior;
  readonly later: Behavior;
}

/**
 * Delay of a slow response, in milliseconds: long enough for a concurrent request to overlap, and shorter than the
 * caller's timeout.
 */
const SLOW_ANSWER_MS = 3_000;

/**
 * Delay of a missing response, in milliseconds: longer than any caller's timeout, and shorter than the function's
 * (SANDBOX_TIMEOUT_SECONDS).
 */
export const SILENCE_MS = 15_000;

const PROMPT: Answer = { kind: 'honest', delayMs: 0 };
const CHARGED: Behavior = { effect: 'succeed', answer: PROMPT };
const DECLINED: Behavior = { effect: 'decline', answer: PROMPT };
const PENDING: Behavior = { effect: 'wait', answer: PROMPT };
const SLOW: Behavior = { effect: 'succeed', answer: { kind: 'honest', delayMs: SLOW_ANSWER_MS } };
const SILENT: Answer = { kind: 'error', status: 504, code: 'processor_timeout', delayMs: SILENCE_MS };
const BROKEN: Answer = { kind: 'error', status: 500, code: 'processor_error', delayMs: 0 };
const LIMITED: Answer = { kind: 'error', status: 429, code: 'rate_limited', delayMs: 0, retryAfterSeconds: 1 };
const UNAUTHORIZED: Behavior = {
  effect: 'nothing',
  answer: { kind: 'error', status: 401, code: 'unauthorized', delayMs: 0 },
};

const always = (behavior: Behavior): MagicSource => ({ first: behavior, later: behavior });

const MAGIC_SOURCES: ReadonlyMap<string, MagicSource> = new Map([
  ['tok_ok', always(CHARGED)],
  ['tok_declined', always(DECLINED)],
  ['tok_slow', always(SLOW)],
  ['tok_flaky', { first: { effect: 'nothing', answer: BROKEN }, later: CHARGED }],
  ['tok_rate_limited', { first: { effect: 'nothing', answer: LIMITED }, later: CHARGED }],
  ['tok_timeout_charged', { first: { effect: 'succeed', answer: SILENT }, later: CHARGED }],
  ['tok_timeout_not_charged', { first: { effect: 'nothing', answer: SILENT }, later: CHARGED }],
  ['tok_malformed', { first: { effect: 'succeed', answer: { kind: 'unreadable' } }, later: CHARGED }],
  ['tok_unauthorized', always(UNAUTHORIZED)],
  ['tok_async', always({ ...PENDING, sequel: { to: 'succeed', afterSeconds: 2 } })],
  ['tok_async_declined', always({ ...PENDING, sequel: { to: 'decline', afterSeconds: 2 } })],
  ['tok_async_short', always({ ...PENDING, sequel: { to: 'succeed_short', afterSeconds: 2 } })],
  ['tok_action', always({ effect: 'ask', answer: PROMPT })],
  ['tok_callback_twice', always({ ...CHARGED, callback: 'twice' })],
  ['tok_callback_first', always({ ...CHARGED, callback: 'before_answer' })],
  [
    'tok_callback_out_of_order',
    always({ ...PENDING, callback: 'after_next', sequel: { to: 'succeed', afterSeconds: 1 } }),
  ],
  ['tok_callback_late_success', always({ ...DECLINED, sequel: { to: 'succeed', afterSeconds: 3 } })],
  ['tok_dispute', always({ ...CHARGED, sequel: { to: 'dispute', afterSeconds: 2 } })],
  ['tok_fee', always({ ...CHARGED, withFee: true })],
]);

export function magicSource(source: string): MagicSource | undefined {
  return MAGIC_SOURCES.get(source);
}

/** @param honest the response that matches the stored charge; undefined if no charge was created */
export async function answered(
  wait: (milliseconds: number) => Promise<void>,
  how: Answer,
  honest: Reply | undefined,
): Promise<Reply> {
  if (how.kind !== 'unreadable' && how.delayMs > 0) {
    await wait(how.delayMs);
  }
  if (how.kind === 'error') {
    const headers = how.retryAfterSeconds === undefined ? {} : { 'retry-after': String(how.retryAfterSeconds) };
    return errorReply(how.status, how.code, 'The sandbox was configured to return this error.', headers);
  }
  if (honest === undefined) {
    throw new Error('no charge to return');
  }
  return how.kind === 'honest' ? honest : { ...honest, body: honest.body.slice(0, honest.body.length / 2) };
}
