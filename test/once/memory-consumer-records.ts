import type { OperationId } from '../../lambdas/kernel/ids.ts';
import type { Consumption, OpenConsumption } from '../../lambdas/once/domain/consumption.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';
import type {
  ConsumerClaims,
  ConsumerEffects,
  ConsumerWrite,
  RecordOutcome,
  RowCondition,
  RowKey,
  RowValue,
} from '../../lambdas/once/use/consumer-records.ts';

type Row = Readonly<Record<string, RowValue>>;

/** What consumers have done, and the rows that they wrote, in memory: every call is one atomic step. Proven by the same suite. */
export class MemoryConsumerRecords implements ConsumerEffects, ConsumerClaims {
  readonly #records = new Map<OperationId, Consumption>();
  readonly #rows = new Map<string, Row>();

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    const found = this.#records.get(operationId);
    return found?.status === 'completed' ? found.record : undefined;
  }

  async recordOnce(record: EffectRecord, writes: readonly ConsumerWrite[]): Promise<RecordOutcome> {
    if (this.#records.has(record.operationId)) return { kind: 'recorded_before' };
    const refused = writes.flatMap(({ row, when }, index) =>
      when === undefined || holds(when, this.row(row)) ? [] : [index],
    );
    if (refused.length > 0) return { kind: 'refused', writes: refused };
    this.#records.set(record.operationId, { status: 'completed', record });
    for (const write of writes) {
      if (write.kind === 'put') this.#rows.set(keyOf(write.row), write.attributes);
      else this.#rows.delete(keyOf(write.row));
    }
    return { kind: 'recorded' };
  }

  async claim(pending: OpenConsumption, replaces?: OpenConsumption): ReturnType<ConsumerClaims['claim']> {
    const found = this.#records.get(pending.operationId);
    const free = replaces === undefined ? found === undefined : isStill(found, replaces);
    if (!free) return { kind: 'refused', found };
    this.#records.set(pending.operationId, pending);
    return { kind: 'claimed' };
  }

  async complete(record: EffectRecord): Promise<boolean> {
    const found = this.#records.get(record.operationId);
    if (found?.status !== 'pending' || found.owner !== record.owner) return false;
    this.#records.set(record.operationId, { status: 'completed', record });
    return true;
  }

  async fail(pending: OpenConsumption): Promise<void> {
    if (!isStill(this.#records.get(pending.operationId), pending)) return;
    this.#records.set(pending.operationId, { ...pending, status: 'failed' });
  }

  row(key: RowKey): Row | undefined {
    return this.#rows.get(keyOf(key));
  }

  /** All of a partition, in the order of their keys. */
  rowsIn({ table, partition }: Omit<RowKey, 'sort'>): readonly { readonly sort: string; readonly row: Row }[] {
    return [...this.#rows]
      .map(([key, row]) => ({ key: JSON.parse(key) as readonly [string, string, string], row }))
      .filter(({ key }) => key[0] === table && key[1] === partition)
      .map(({ key, row }) => ({ sort: key[2], row }))
      .sort((left, right) => (left.sort < right.sort ? -1 : 1));
  }

  allRows(): readonly Row[] {
    return [...this.#rows.values()];
  }

  allRecords(): readonly Consumption[] {
    return [...this.#records.values()];
  }

  /** Removes expired records, like time to live. */
  forgetExpired(nowMs: number): void {
    for (const [operationId, found] of this.#records) {
      const expires = found.status === 'completed' ? found.record.expiresAtSeconds : undefined;
      if (expires !== undefined && expires * 1000 <= nowMs) this.#records.delete(operationId);
    }
  }
}

function isStill(found: Consumption | undefined, expected: OpenConsumption): boolean {
  return found !== undefined && found.status === expected.status && found.owner === expected.owner;
}

function holds(when: RowCondition, row: Row | undefined): boolean {
  switch (when.kind) {
    case 'absent':
      return row === undefined;
    case 'older':
      if (row === undefined) return true;
      if (when.of !== undefined && row[when.of.attribute] !== when.of.value) return false;
      return Number(row[when.attribute]) < when.than;
    case 'equals':
      return row?.[when.attribute] === when.value;
  }
}

function keyOf({ table, partition, sort }: RowKey): string {
  return JSON.stringify([table, partition, sort]);
}
