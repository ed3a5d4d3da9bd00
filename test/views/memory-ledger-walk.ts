import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type { LedgerWalk } from '../../lambdas/views/use/ledger-walk.ts';
import type { WalkPage, WalkStep } from '../../lambdas/views/use/view-store.ts';

/** Payments per step. */
const PAGE = 2;

/** Walks through transitions in memory, by payment id, in small pages. */
export class MemoryLedgerWalk implements LedgerWalk {
  readonly #transitions: () => readonly Transition[];

  constructor(transitions: () => readonly Transition[]) {
    this.#transitions = transitions;
  }

  async chains({ segment, segments, after = '' }: WalkStep): Promise<WalkPage<PaymentId>> {
    const ids = [...new Set(this.#transitions().map(({ payment }) => payment.id))].sort();
    const own = ids.filter((id) => id.charCodeAt(id.length - 1) % segments === segment && id > after);
    const found = own.slice(0, PAGE);
    const last = found.at(-1);
    return last === undefined || own.length <= PAGE ? { found } : { found, next: last };
  }
}
