import type { Beginning } from './charge.ts';
import type { AdvanceTask } from './tasks.ts';

/**
 * Magic sources: what each payment source makes the sandbox do, in one table. `first` is the first send of an
 * idempotency key (a call without a key is always a first one), `later` every send of the same key after it. Where only
 * one thing is said, later sends answer with the charge as it then is. "Charged" is authorized where capture is manual.
 *
 * | source                    | first send                                                 | later sends            |
 * |---------------------------|------------------------------------------------------------|------------------------|
 * | tok_ok                    | charged, 201                                               | the same charge        |
 * | tok_declined              | declined charge in the books, 402                          | the same decline       |
 * | tok_slow                  | charged, 201 after 3 s                                     | the same, after 3 s    |
 * | tok_flaky                 | not charged, 500                                           | charged, 201           |
 * | tok_rate_limited          | not charged, 429 with Retry-After                          | charged, 201           |
 * | tok_timeout_charged       | charged, no answer for 15 s, then 504                      | the same charge, 201   |
 * | tok_timeout_not_charged   | not charged, no answer for 15 s, then 504                  | charged, 201           |
 * | tok_malformed             | charged, 201 whose body breaks off                         | the same charge, 201   |
 * | tok_unauthorized          | not charged, 401                                           | not charged, 401       |
 * | tok_async                 | pending, 201; charged after 2 s                            |                        |
 * | tok_async_declined        | pending, 201; declined after 2 s                           |                        |
 * | tok_action                | requires_action, 201; the payer decides at its action_url  |                        |
 * | tok_callback_twice        | charged, 201; its event goes out twice at once             |                        |
 * | tok_callback_first        | charged; its event is posted first, then 201               |                        |
 * | tok_callback_out_of_order | pending, 201; charged after 1 s; the older event goes last |                        |
 * | tok_callback_late_success | declined, 402; charged after all after 3 s                 |                        |
 * | tok_dispute               | charged, 201; all of it is disputed after 2 s              |                        |
 * | tok_fee                   | charged, 201, with a fee of 2.9 % and 30 minor units       |                        |
 */

/** What the books hold afterwards; a key that already has its charge keeps it. */
type Effect = Beginning | 'nothing';

export type Answer =
  /** What the books say: 201, or 402 for a declined charge. */
  | { readonly kind: 'honest'; readonly delayMs: number }
  /** 201 with a body that breaks off in the middle. */
  | { readonly kind: 'unreadable' }
  | {
      readonly kind: 'error';
      readonly status: 401 | 429 | 500 | 504;
      readonly code: string;
      readonly delayMs: number;
      readonly retryAfterSeconds?: number;
    };

/**
 * How the event of a new charge goes out: at once and once, at once and twice, before the charge is answered, or only
 * after the event that follows it.
 */
export type CallbackManner = 'once' | 'twice' | 'before_answer' | 'after_next';

/** What a charge does by itself. */
export interface Sequel {
  readonly to: AdvanceTask['to'];
  readonly afterSeconds: number;
}

export interface Behavior {
  readonly effect: Effect;
  readonly answer: Answer;
  /** @default 'once' */
  readonly callback?: CallbackManner;
  /** @default nothing more */
  readonly sequel?: Sequel;
  /** Whether the charge says what it costs. @default false */
  readonly withFee?: boolean;
}

export interface MagicSource {
  readonly first: Behavior;
  readonly later: Behavior;
}

/** Long enough that a rival's call falls into it, short enough that the caller still waits for the answer. */
const SLOW_ANSWER_MS = 3_000;

/** Longer than any caller waits for one send, shorter than the function may live (SANDBOX_TIMEOUT_SECONDS). */
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

/** The source's behavior, or undefined where the sandbox does not know the source. */
export function magicSource(source: string): MagicSource | undefined {
  return MAGIC_SOURCES.get(source);
}
