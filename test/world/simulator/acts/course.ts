import type { Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';
import type { Draft, Pace } from './act.ts';

/**
 * Rare course of a payment or an order: acts that reveal a fault only in this order. Amounts and times are drawn, other
 * acts happen in between, and any feature can also be switched on.
 */
export interface Course {
  /** Act that makes the subject. */
  readonly of: 'pay' | 'order';
  /** Feature without which the course is not used. @default always used */
  readonly feature?: Feature;
  /** Arguments of the act that makes the subject. @default as drawn */
  readonly begins: Readonly<Record<string, unknown>>;
  readonly goesOn: (dice: Dice, root: Root) => readonly Draft[];
}

export interface Root extends Step {
  readonly amount: number;
}

export const SECOND_MS = 1_000;
export const HOUR_MS = 3_600 * SECOND_MS;

export const EURO = { tenant: 'shop', amount: 1000, currency: 'EUR', capture: 'automatic', copies: 1 } as const;

export function draft(
  act: string,
  pace: Pace | readonly Pace[],
  given: Draft['given'] = {},
  more: Partial<Draft> = {},
): Draft {
  return { act, pace: typeof pace === 'string' ? [pace] : pace, given, ...more };
}

/** Places a step shortly before the subject is made. */
export const before = ({ atMs }: Root): Partial<Draft> => ({ fromMs: atMs - 2 * SECOND_MS, isBefore: true });

/** Places a step this long after the subject is made. Milliseconds. */
export const after = ({ atMs }: Root, ms: number): Partial<Draft> => ({ fromMs: atMs + ms });

/** Loses this share of the callbacks from then on, and ends pending objects of the processor hours or days late. */
export const callbackLoss = (lost: number, from: Partial<Draft>, hours = 72): Draft =>
  draft('habits', 'instant', { processor: 'its', lost, doubled: 0, late: 0, lateMs: hours * HOUR_MS, slow: 1 }, from);

/** Ends pending objects of the subject's processor days late. */
export const slowly = (root: Root, lost = 0, hours = 72): Draft => callbackLoss(lost, before(root), hours);

/** Prevents faults of calls, so that an oracle cannot attribute a product fault to a failed call. */
export const noFaults = (root: Root): Draft => draft('faults', 'instant', { rates: {}, clockSkewMs: 0 }, before(root));

export const wrongAmount = (dice: Dice, { amount }: Root): Draft =>
  draft('wrong_amount', 'seconds', { amount: Math.ceil(amount * dice.pick([0.999, 0.5, 1.5])), hasCallback: true });
