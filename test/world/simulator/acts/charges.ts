import type { ProcessorCharge } from '../../../../lambdas/payments/domain/processor-charge.ts';
import type { Step } from '../contract.ts';
import { type Arguments, amountOf, type Draft, type Drawing, type Scene } from './act.ts';
import { chargeOf, leftOf } from './objects.ts';

export interface OfCharge extends Arguments {
  /** Index among the payment’s charges. @default the first charge */
  readonly charge?: number;
}

export interface Amount extends OfCharge {
  /** In minor units. */
  readonly amount: number;
}

export const SOURCES_OF_STRAYS = ['tok_ok', 'tok_fee', 'tok_async', 'tok_declined', 'tok_action'] as const;

export function share(drawing: Drawing, shares: readonly number[]): number {
  return Math.max(1, Math.round(amountOf(drawing) * drawing.dice.pick(shares)));
}

export function pickCharge({ dice, earlier }: Drawing): OfCharge {
  return earlier.some(({ act: name }) => name === 'stray') && dice.chance(0.5) ? { charge: 1 } : {};
}

export const isIn =
  (...statuses: readonly ProcessorCharge['status'][]) =>
  ({ status }: ProcessorCharge): boolean =>
    statuses.includes(status);
export const awaitsPayer = isIn('requires_action');
/** Refunds do not reduce this amount. */
export const undisputedOf = (charge: ProcessorCharge): number => leftOf({ ...charge, refunds: [] });
export const hasLeft = (charge: ProcessorCharge): boolean => leftOf(charge) > 0;

export const ordinal = (charge: number | undefined): string => (charge === undefined ? '' : ` (charge ${charge + 1})`);

/** `its`: the processor that has the charge of the step's payment; without a charge, the default processor. */
export type AtProcessor = 'sandbox' | 'second' | 'its';

export function processorOf(scene: Scene, step: Step & { readonly processor: AtProcessor }): string {
  if (step.processor !== 'its') return step.processor;
  return chargeOf(scene, step)?.processor ?? scene.system.settings.defaultProcessor;
}

/** Maximum delay of the bank's results, in milliseconds. */
const SLOW_MS = 72 * 3_600_000;

/** With the features for callbacks, the step also makes the processor lose, duplicate or delay callbacks. */
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
