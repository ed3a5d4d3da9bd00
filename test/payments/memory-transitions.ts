import { isOutcome } from '../../lambdas/payments/domain/payment.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type {
  LedgerAge,
  OutcomePlace,
  RecentOutcomes,
  TransitionReader,
} from '../../lambdas/payments/use/transition-reader.ts';

const MINUTE_MS = 60_000;

/** Transitions in memory, read one by one. Passes the same contract suite as DynamoDB's. */
export class MemoryTransitions implements TransitionReader, RecentOutcomes, LedgerAge {
  readonly #all: () => readonly Transition[];

  constructor(all: () => readonly Transition[]) {
    this.#all = all;
  }

  async readTransition({ paymentId, sequence }: OutcomePlace): Promise<Transition | undefined> {
    return this.#all().find((each) => each.payment.id === paymentId && each.sequence === sequence);
  }

  async outcomesOfMinute(minuteMs: number): Promise<readonly OutcomePlace[]> {
    const minuteOf = (ms: number) => Math.floor(ms / MINUTE_MS);
    return this.#all()
      .filter(({ type, occurredAtMs }) => isOutcome(type) && minuteOf(occurredAtMs) === minuteOf(minuteMs))
      .map(({ payment, sequence }) => ({ paymentId: payment.id, sequence }));
  }

  async emptyBeforeMs(): Promise<number> {
    return 0;
  }
}
