import { readLedgerEvent } from '../../lambdas/events/use/ledger-events.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ViewKey } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { ViewRange } from '../../lambdas/views/use/view-store.ts';
import type { Stores } from '../world/stores.ts';
import { MemoryViews } from './memory-views.ts';

/** Projects all new outcomes of the store before each read. */
export class ProjectedViews extends MemoryViews {
  readonly #store: Stores;
  readonly #views: MemoryViews;
  readonly #projected = new Set<string>();

  constructor(store: Stores) {
    super(store.database);
    this.#views = new MemoryViews(store.database);
    this.#store = store;
  }

  override async read(key: ViewKey): Promise<ViewRow | undefined> {
    await this.#catchUp();
    return super.read(key);
  }

  override async range(range: ViewRange): Promise<readonly ViewRow[]> {
    await this.#catchUp();
    return super.range(range);
  }

  async #catchUp(): Promise<void> {
    for (const place of this.#store.outcomes()) {
      const name = JSON.stringify(place);
      if (this.#projected.has(name)) continue;
      const event = await readLedgerEvent({ transitions: this.#store.ledger, digest: systemDigest }, place);
      if (event === undefined) throw new Error(`${name} is not an outcome`);
      const tools = { runner: idempotentRunner, views: this.#views };
      await projectEvent(tools, JSON.parse(JSON.stringify(event)) as typeof event);
      this.#projected.add(name);
    }
  }
}
