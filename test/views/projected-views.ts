import { readLedgerEvent } from '../../lambdas/events/use/ledger-events.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { LedgerChains } from '../../lambdas/orders/store/ledger-chains.ts';
import type { OutcomePlace } from '../../lambdas/payments/domain/transition.ts';
import type { ViewKey } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { ViewRange, ViewStore } from '../../lambdas/views/use/view-store.ts';
import { MemoryViews } from './memory-views.ts';

/** Views that have always just caught up with a store. */
export class ProjectedViews implements Pick<ViewStore, 'range' | 'read'> {
  readonly views = new MemoryViews();
  readonly #store: { readonly outcomes: () => readonly OutcomePlace[]; readonly ledger: LedgerChains };
  readonly #projected = new Set<string>();

  constructor(store: { readonly outcomes: () => readonly OutcomePlace[]; readonly ledger: LedgerChains }) {
    this.#store = store;
  }

  async read(key: ViewKey): Promise<ViewRow | undefined> {
    await this.#catchUp();
    return this.views.read(key);
  }

  async range(range: ViewRange): Promise<readonly ViewRow[]> {
    await this.#catchUp();
    return this.views.range(range);
  }

  async #catchUp(): Promise<void> {
    const { outcomes, ledger } = this.#store;
    for (const place of outcomes.call(this.#store)) {
      const name = JSON.stringify(place);
      if (this.#projected.has(name)) continue;
      const event = await readLedgerEvent({ transitions: ledger, digest: systemDigest }, place);
      if (event === undefined) throw new Error(`${name} is not an outcome`);
      const { views } = this;
      await projectEvent({ runner: idempotentRunner, views }, JSON.parse(JSON.stringify(event)) as typeof event);
      this.#projected.add(name);
    }
  }
}
