import type { Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';
import type { Draft, Pace } from './act.ts';

/**
 * Rare courses of a payment or an order: acts that show a fault only in this order. Their amounts and times are drawn, other acts
 * happen in between, and any feature can be switched on as well.
 */
export interface Course {
  /** What makes the subject. */
  readonly of: 'pay' | 'order';
  /** It is taken only while the feature is switched on. @default always */
  readonly feature?: Feature;
  /** How it is made. @default as drawn */
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

/** Shortly before the subject is made. */
export const before = ({ atMs }: Root): Partial<Draft> => ({ fromMs: atMs - 2 * SECOND_MS, isBefore: true });

/** So long after the subject is made. */
export const after = ({ atMs }: Root, ms: number): Partial<Draft> => ({ fromMs: atMs + ms });

/** From then on, this share of the callbacks is lost, and what is pending at the processor ends hours or days later. */
export const callbackLoss = (lost: number, from: Partial<Draft>, hours = 72): Draft =>
  draft('habits', 'instant', { processor: 'its', lost, doubled: 0, late: 0, lateMs: hours * HOUR_MS, slow: 1 }, from);

/** What is pending at its processor ends days later. */
export const slowly = (root: Root, lost = 0, hours = 72): Draft => callbackLoss(lost, before(root), hours);

/** No call fails from then on, so that a fault of the product is not put down to another. */
export const noFaults = (root: Root): Draft => draft('faults', 'instant', { rates: {}, clockSkewMs: 0 }, before(root));

export const wrongAmount = (dice: Dice, { amount }: Root): Draft =>
  draft('wrong_amount', 'seconds', { amount: Math.ceil(amount * dice.pick([0.999, 0.5, 1.5])), hasCallback: true });
