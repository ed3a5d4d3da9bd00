import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import type { Step } from '../contract.ts';
import { type Arguments, amountOf, type Draft, type Drawing, type Scene } from './act.ts';
import { chargeOf, leftOf } from './objects.ts';

/** Arguments of an act on one of a payment's charges. */
export interface OfCharge extends Arguments {
  /** Index of the charge among the payment’s charges. @default the first charge */
  readonly charge?: number;
}

export interface Amount extends OfCharge {
  /** Amount in minor units. */
  readonly amount: number;
}

export const SOURCES_OF_STRAYS = ['tok_ok', 'tok_fee', 'tok_async', 'tok_declined', 'tok_action'] as const;

export function share(drawing: Drawing, shares: readonly number[]): number {
  return Math.max(1, Math.round(amountOf(drawing) * drawing.dice.pick(shares)));
}

/**
 * Draws the charge of an act: the second charge in half of the cases in which an earlier act created a stray charge,
 * otherwise the first charge.
 */
export function pickCharge({ dice, earlier }: Drawing): OfCharge {
  return earlier.some(({ act: name }) => name === 'stray') && dice.chance(0.5) ? { charge: 1 } : {};
}

export const isIn =
  (...statuses: readonly ProcessorCharge['status'][]) =>
  ({ status }: ProcessorCharge): boolean =>
    statuses.includes(status);
export const awaitsPayer = isIn('requires_action');
/** Returns the amount that can still be disputed, in minor units. Refunds do not reduce this amount. */
export const undisputedOf = (charge: ProcessorCharge): number => leftOf({ ...charge, refunds: [] });
export const hasLeft = (charge: ProcessorCharge): boolean => leftOf(charge) > 0;

export const ordinal = (charge: number | undefined): string => (charge === undefined ? '' : ` (charge ${charge + 1})`);

/**
 * Name of a processor, or `its` for the processor that has the charge of the step's payment. Without a charge, `its` is
 * the default processor.
 */
export type AtProcessor = 'sandbox' | 'second' | 'its';

export function processorOf(scene: Scene, step: Step & { readonly processor: AtProcessor }): string {
  if (step.processor !== 'its') return step.processor;
  return chargeOf(scene, step)?.processor ?? scene.system.settings.defaultProcessor;
}

/** Maximum delay of the bank's results, in milliseconds. */
const SLOW_MS = 72 * 3_600_000;

/**
 * Returns a step shortly before `beforeMs` that delays the bank's results for pending objects by up to three days. With
 * the features for callbacks, the step also makes the processor lose, duplicate or delay callbacks.
 */
export function delayBank({ dice, has }: Drawing, beforeMs: number): Draft {
  const given = {
    processor: 'its',
    lost: has('lost_callbacks') ? dice.pick([0.2, 0.5, 1]) : 0,
    doubled: has('doubled_callbacks') ? 0.3 : 0,
    late: has('late_callbacks') ? 0.5 : 0,
    lateMs: SLOW_MS,
    slow: 1,
  };
  return { act: 'habits', delay: ['instant'], given, fromMs: beforeMs - 1_000 };
}
