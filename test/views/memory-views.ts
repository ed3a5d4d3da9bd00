import type { ViewRow } from '../../lambdas/views/domain/views.ts';
import { DynamoDbViews, parseViewRow } from '../../lambdas/views/store/dynamodb-views.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import type { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { emptyTables } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

export class MemoryViews extends DynamoDbViews {
  readonly #database: MemoryDynamoDb;

  constructor(database = emptyTables()) {
    super(database.client, TABLES.views, { clock: new SimulatedClock(), entropy: countingEntropy() });
    this.#database = database;
  }

  all(): ViewRow[] {
    const nameOf = ({ partition, sort }: ViewRow) => `${partition}\n${sort}`;
    const rows = this.#database.items(TABLES.views).map(parseViewRow);
    return rows.sort((left, right) => (nameOf(left) < nameOf(right) ? -1 : 1));
  }

  /** Empties the table, as if it had been deleted and recreated. */
  async clear(): Promise<void> {
    for (const key of this.all()) await this.exchange([{ key }]);
  }
}
