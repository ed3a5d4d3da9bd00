import type { Clock, Entropy } from '../../kernel/world.ts';
import type { ChargeFact } from '../domain/facts.ts';
import { findOut, type Underway } from './find-out.ts';
import type { ChargeOrder, ChargeOutcome, Processor } from './processor.ts';

export interface SettlementTools {
  readonly processor: Processor;
  readonly clock: Clock;
  readonly entropy: Entropy;
}

export interface ChargeUnderway extends Underway {
  readonly order: ChargeOrder;
}

/** Finds out what becomes of a charge. @throws RetryableError when nothing was sent at all, by anyone */
export async function settleCharge(
  { processor, clock, entropy }: SettlementTools,
  { order, ...underway }: ChargeUnderway,
): Promise<ChargeFact> {
  const found = await findOut<ChargeOutcome>({ abilities: processor.abilities, clock, entropy }, underway, {
    send: (limit) => processor.charge(order, limit),
    look: (limit) => processor.findCharge(order, limit),
    isRefusal: ({ kind }) => kind === 'declined' || kind === 'rejected',
  });
  return found.kind === 'answer' ? found.answer : { kind: found.kind };
}
