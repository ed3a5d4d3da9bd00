import type { Step } from '../contract.ts';
import type { Feature } from '../profiles.ts';
import type { Dice } from '../random.ts';
import type { Delay, Draft } from './act.ts';

/**
 * Rare sequence of acts on a payment or an order. It can reveal a defect that other sequences do not reveal. Amounts
 * and times are drawn, other acts happen in between, and all features can be enabled.
 */
export interface Course {
  readonly of: 'pay' | 'order';
  /** @default no feature */
  readonly feature?: Feature;
  /** The act draws the other arguments. */
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
  delay: Delay | readonly Delay[],
  given: Draft['given'] = {},
  more: Partial<Draft> = {},
): Draft {
  return { act, delay: typeof delay === 'string' ? [delay] : delay, given, ...more };
}

export const before = ({ atMs }: Root): Partial<Draft> => ({ fromMs: atMs - 2 * SECOND_MS, isBefore: true });

export const after = ({ atMs }: Root, ms: number): Partial<Draft> => ({ fromMs: atMs + ms });

/**
 * From then on, the processor loses the share `lost` of the callbacks, and delays the results of pending objects by up
 * to `hours`.
 */
export const callbackLoss = (lost: number, from: Partial<Draft>, hours = 72): Draft =>
  draft('habits', 'instant', { processor: 'its', lost, doubled: 0, late: 0, lateMs: hours * HOUR_MS, slow: 1 }, from);

/** Takes place before the subject is created. */
export const slowly = (root: Root, lost = 0, hours = 72): Draft => callbackLoss(lost, before(root), hours);

/** After an injected fault, oracles excuse some violations, which could hide a defect of production code. */
export const noFaults = (root: Root): Draft => draft('faults', 'instant', { rates: {}, clockSkewMs: 0 }, before(root));

export const wrongAmount = (dice: Dice, { amount }: Root): Draft =>
  draft('wrong_amount', 'seconds', { amount: Math.ceil(amount * dice.pick([0.999, 0.5, 1.5])), hasCallback: true });
