import { BatchGetCommand, GetCommand } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { itemSize } from '../world/dynamodb-values.ts';
import type { RowChange } from '../world/memory-dynamodb.ts';
import type { KeyPart, TableShape } from '../world/memory-table.ts';

type Item = NonNullable<RowChange['after']>;

const KILOBYTE = 1024;
/** Factor for an item in a transaction (Amazon DynamoDB developer guide, "DynamoDB transactions", capacity). */
const IN_TRANSACTION = 2;

/** Computes the units from each row before and after a write. */
export class PartitionMeter {
  /** Keyed by `<table> <partition>` and `<table>/<index> <partition>`. */
  readonly units = new Map<string, number>();
  /** Numbers of the payments that wrote to each partition. The map has the keys of `units`. */
  readonly writers = new Map<string, Set<number>>();
  payment = 0;
  /** Keyed by `<table> <partition>`. */
  readonly reads = new Map<string, number>();
  /** In a transaction, units count double. */
  transaction = false;
  readonly #shapes: ReadonlyMap<string, TableShape>;

  constructor(shapes: readonly TableShape[]) {
    this.#shapes = new Map(shapes.map((shape) => [shape.name, shape]));
  }

  note(changes: readonly RowChange[]): void {
    for (const { table, before, after } of changes) {
      const shape = this.#shapes.get(table);
      const row = after ?? before;
      if (shape === undefined || row === undefined) continue;
      const units = Math.max(unitsOf(before), unitsOf(after));
      this.#add(table, shape.partition, row, this.transaction ? IN_TRANSACTION * units : units);
      this.#noteIndexes(shape, before, after);
    }
  }

  noteReads(command: object): void {
    if (command instanceof GetCommand) this.#noteRead(command.input.TableName, command.input.Key);
    if (!(command instanceof BatchGetCommand)) return;
    for (const [table, { Keys = [] }] of Object.entries(command.input.RequestItems ?? {}))
      for (const key of Keys) this.#noteRead(table, key);
  }

  clear(): void {
    this.units.clear();
    this.writers.clear();
    this.reads.clear();
  }

  busiest(): readonly (readonly [string, number])[] {
    return [...this.units].sort(([, left], [, right]) => right - left);
  }

  /** Returns the units of a table and its indexes, or only those of the partitions with the prefix. */
  of(table: string, prefix?: string): number {
    const isMeant = (place: string): boolean =>
      prefix === undefined
        ? /[ /]/.test(place.slice(table.length, table.length + 1))
        : place.startsWith(`${table} ${prefix}`);
    return [...this.units]
      .filter(([place]) => place.startsWith(table) && isMeant(place))
      .reduce((sum, [, units]) => sum + units, 0);
  }

  /** An entry that moves costs a delete and a put. An entry whose attributes do not change costs nothing. */
  #noteIndexes(shape: TableShape, before: Item | undefined, after: Item | undefined): void {
    for (const [name, { partition, sort, projectsAll }] of Object.entries(shape.indexes ?? {})) {
      const entry = (item: Item | undefined): Item | undefined =>
        item?.[partition.name] === undefined || item[sort.name] === undefined ? undefined : item;
      const [old, now] = [entry(before), entry(after)];
      const place = (item: Item | undefined): unknown => item && [item[partition.name], item[sort.name]];
      const isMoved = JSON.stringify(place(old)) !== JSON.stringify(place(now));
      if (!isMoved && (projectsAll === undefined || JSON.stringify(old) === JSON.stringify(now))) continue;
      const index = `${shape.name}/${name}`;
      if (now !== undefined) this.#add(index, partition, now, projectsAll === undefined ? 1 : unitsOf(now));
      if (old !== undefined && isMoved) this.#add(index, partition, old, projectsAll === undefined ? 1 : unitsOf(old));
    }
  }

  #noteRead(table: string | undefined, key: Item | undefined): void {
    const place = `${table} ${key?.[KeyAttribute.partition] as string | undefined}`;
    this.reads.set(place, (this.reads.get(place) ?? 0) + 1);
  }

  #add(name: string, partition: KeyPart, item: Item, units: number): void {
    const place = `${name} ${item[partition.name] as string | number}`;
    this.units.set(place, (this.units.get(place) ?? 0) + units);
    const writers = this.writers.get(place) ?? new Set();
    this.writers.set(place, writers.add(this.payment));
  }
}

function unitsOf(item: Item | undefined): number {
  return item === undefined ? 0 : Math.ceil(itemSize(item) / KILOBYTE);
}
