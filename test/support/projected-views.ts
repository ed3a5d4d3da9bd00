import { MemoryViews } from '../../lambdas/adapters/memory/memory-views.ts';
import { systemDigest } from '../../lambdas/adapters/system/platform.ts';
import type { ViewRange, ViewStore } from '../../lambdas/app/ports/view-store.ts';
import { projectEvent } from '../../lambdas/app/project-event.ts';
import type { Transition } from '../../lambdas/core/transition.ts';
import type { ViewRow } from '../../lambdas/core/views.ts';
import { eventsOf } from './event-fixtures.ts';

/** Views that have always just caught up with a store. */
export class ProjectedViews implements Pick<ViewStore, 'range'> {
  readonly views = new MemoryViews();
  readonly #store: { allTransitions(): readonly Transition[] };

  constructor(store: { allTransitions(): readonly Transition[] }) {
    this.#store = store;
  }

  async range(range: ViewRange): Promise<readonly ViewRow[]> {
    const { views } = this;
    for (const event of eventsOf(systemDigest, this.#store.allTransitions())) await projectEvent({ views }, event);
    return views.range(range);
  }
}
