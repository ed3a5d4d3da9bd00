import type { ViewKey } from '../../lambdas/views/domain/lists.ts';
import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import type {
  RowChange,
  ViewRange,
  ViewStore,
  ViewWalk,
  WalkPage,
  WalkStep,
} from '../../lambdas/views/use/view-store.ts';

/** Rows per step of a walk. */
const WALK_PAGE = 3;

/** In-memory Views. Every call is atomic. The same contract suite tests them and the real ones. */
export class MemoryViews implements ViewStore, ViewWalk {
  readonly #rows = new Map<string, ViewRow>();

  async put(rows: readonly ViewRow[]): Promise<void> {
    for (const row of rows) this.#rows.set(nameOf(row), row);
  }

  async read(key: ViewKey): Promise<ViewRow | undefined> {
    return this.#rows.get(nameOf(key));
  }

  async exchange(changes: readonly RowChange[]): Promise<boolean> {
    const holds = changes.every(({ key, from }) => {
      const row = this.#rows.get(nameOf(key));
      if (from === undefined) return true;
      if (from === null) return row === undefined;
      return row?.sequence === from.sequence && row.body === from.body;
    });
    if (!holds) return false;
    for (const { key, to } of changes) {
      if (to === undefined) this.#rows.delete(nameOf(key));
      else this.#rows.set(nameOf(key), to);
    }
    return true;
  }

  async range({ partition, indexed, from, until, descending = false, limit }: ViewRange): Promise<readonly ViewRow[]> {
    const rows = this.all()
      .filter((row) => (indexed === undefined ? row.partition : row.list) === partition)
      .filter((row) => row.sort >= from && row.sort < until)
      .sort((left, right) => (left.sort < right.sort ? -1 : 1));
    return (descending ? rows.toReversed() : rows).slice(0, limit);
  }

  async walk({ segment, segments, after }: WalkStep): Promise<WalkPage<ViewRow>> {
    const rows = this.all().filter((row) => row.partition.length % segments === segment);
    const found = rows.filter((row) => after === undefined || nameOf(row) > after).slice(0, WALK_PAGE);
    const last = found.at(-1);
    return last === undefined || found.length < WALK_PAGE ? { found } : { found, next: nameOf(last) };
  }

  /** In the order of their keys. */
  all(): ViewRow[] {
    return [...this.#rows].sort(([left], [right]) => (left < right ? -1 : 1)).map(([, row]) => row);
  }

  /** As if the table had been deleted and created again. */
  clear(): void {
    this.#rows.clear();
  }
}

function nameOf({ partition, sort }: ViewKey): string {
  return `${partition}\n${sort}`;
}
