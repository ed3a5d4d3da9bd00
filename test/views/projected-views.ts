import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import type { ViewKey } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { ViewRange, ViewStore } from '../../lambdas/views/use/view-store.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { MemoryViews } from './memory-views.ts';

/** Views that have always just caught up with a store. */
export class ProjectedViews implements Pick<ViewStore, 'range' | 'read'> {
  readonly views = new MemoryViews();
  readonly #store: { allTransitions(): readonly Transition[] };

  constructor(store: { allTransitions(): readonly Transition[] }) {
    this.#store = store;
  }

  async read(key: ViewKey): Promise<ViewRow | undefined> {
    return this.views.read(key);
  }

  async range(range: ViewRange): Promise<readonly ViewRow[]> {
    const { views } = this;
    for (const event of eventsOf(systemDigest, this.#store.allTransitions()))
      await projectEvent({ runner: idempotentRunner, views }, event);
    return views.range(range);
  }
}
