import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { MAX_TRANSITIONS, readTimeline } from '../../lambdas/operators/use/read-timeline.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { typicalPayment } from '../bench/bench-typical-payment.ts';
import { type CountedCall, countedClient } from '../support/counted-client.ts';
import { itemSize, storedItem } from '../world/dynamodb-values.ts';
import { Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';
import { change } from './payment-fixtures.ts';

/** Records the DynamoDB calls of each change: all calls, and the calls before the change is sent to the processor. */
export class CountedChanges {
  /** The processor's ids are as long as in production, for example Stripe's ids. */
  readonly world = new World({ newId: (prefix, count) => `${prefix}${String(count).padStart(24, 'x')}` });
  readonly request: CreatePayment;
  #made = 0;

  constructor(changes: Partial<CreatePayment> = {}) {
    this.request = typicalPayment('counted', { amountMinor: 1_000_000, ...changes });
  }

  async make(command: ChangeCommand) {
    const { world } = this;
    const { client, calls } = countedClient(world.store.database.client);
    const store = new Stores(world.clock, { client });
    let before: readonly CountedCall[] | undefined;
    const processor: typeof world.processor = {
      ...world.processor,
      change: (...asked) => {
        before ??= [...calls];
        return world.processor.change(...asked);
      },
    };
    this.#made += 1;
    const asked = change(this.request, `key-${this.#made}`, command);
    const outcome = await world.change(asked, { store, effects: store, processor });
    return { asked, outcome, before: before ?? [], calls };
  }

  /** `fold` and `timeline` are the numbers of DynamoDB calls that read the chain and its whole timeline. */
  async readingCalls(): Promise<{ readonly transitions: number; readonly fold: number; readonly timeline: number }> {
    const { world, request } = this;
    const { client, calls } = countedClient(world.store.database.client);
    const store = new Stores(world.clock, { client });
    const chain = await readChain(store, request.paymentId);
    const fold = calls.length;
    const { webhooks } = store;
    const activity = [store.activity];
    const tools = { chains: store, records: store, effects: store, webhooks, activity, digest: systemDigest };
    const last = chain?.transitions.length ?? 0;
    for (let afterSequence = 0; afterSequence < last; afterSequence += MAX_TRANSITIONS) {
      await readTimeline(tools, request.paymentId, { afterSequence, limit: MAX_TRANSITIONS });
    }
    return { transitions: last, fold, timeline: calls.length - fold };
  }

  /** Sizes in bytes. */
  rowSizes(): readonly number[] {
    const rows = this.world.store.database.items(TABLES.ledger, `${LedgerRow.payment}${this.request.paymentId}`);
    return rows.map((row) => itemSize(storedItem(row)));
  }
}
