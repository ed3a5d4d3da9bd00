import { dueSort } from '../../lambdas/kernel/due-sort.ts';
import type { DuePage, DueQueue } from '../../lambdas/resolving/use/due-queue.ts';

/** An in-memory queue of one shard. The same contract suite tests it and the one on DynamoDB. */
export class MemoryDueQueue<Row> implements DueQueue<Row> {
  readonly #rows = new Map<string, Row>();
  readonly #sortOf: (row: Row) => string;

  /** @param placeOf due time and name of a row */
  constructor(placeOf: (row: Row) => readonly [timeMs: number, name: string]) {
    this.#sortOf = (row) => dueSort(...placeOf(row));
  }

  add(row: Row): void {
    this.#rows.set(this.#sortOf(row), row);
  }

  async dueBefore(
    beforeMs: number,
    { limit, cursor = '' }: Parameters<DueQueue<Row>['dueBefore']>[1],
  ): Promise<DuePage<Row>> {
    const due = [...this.#rows]
      .filter(([sort]) => sort > cursor && sort < dueSort(beforeMs, ''))
      .sort(([left], [right]) => (left < right ? -1 : 1));
    const rows = due.slice(0, limit).map(([sort, row]) => ({ row, cursor: sort }));
    const last = rows.at(-1);
    return { rows, ...(due.length > rows.length && last !== undefined ? { next: last.cursor } : {}) };
  }

  async close(row: Row): Promise<void> {
    this.#rows.delete(this.#sortOf(row));
  }

  all(): readonly Row[] {
    return [...this.#rows.values()];
  }
}
