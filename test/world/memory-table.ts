import { compareValues, type Item, itemSize, type Value } from './dynamodb-values.ts';

export interface KeyPart {
  readonly name: string;
  readonly type: 'S' | 'N';
}

export interface KeyShape {
  readonly partition: KeyPart;
  readonly sort?: KeyPart;
}

interface IndexShape extends Required<KeyShape> {
  /** @default false: the index contains only the keys of the rows */
  readonly projectsAll?: true;
}

export interface TableShape extends KeyShape {
  readonly name: string;
  /** Sparse indexes, by name. */
  readonly indexes?: Readonly<Record<string, IndexShape>>;
  /** Name of the attribute with the expiry time in Unix seconds. */
  readonly timeToLive?: string;
  /**
   * Row readers by prefix of the partition key, up to and including the first `#`. A reader throws when it cannot read
   * the row.
   */
  readonly readers: Readonly<Record<string, (item: Item) => unknown>>;
}

export type Scalar = string | number;

export interface Row {
  readonly item: Item;
  /** In bytes. */
  readonly size: number;
  readonly partition: Scalar;
  /** Empty in a table without a sort key. */
  readonly sort: Scalar;
}

export interface Placed {
  readonly sort: Scalar;
  readonly row: Row;
}

export const NO_SORT = '';

/** In an index, several rows can have the same sort key. */
export class SortedRows {
  readonly rows: Placed[] = [];

  at(probe: Placed): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (ordered(this.rows[middle] as Placed, probe) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Returns the index of the first row whose sort key is at least (`from`) or greater than (`after`) this key. */
  bound(sort: Scalar, is: 'from' | 'after'): number {
    let low = 0;
    let high = this.rows.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const order = ranked((this.rows[middle] as Placed).sort, sort);
      if (order < 0 || (order === 0 && is === 'after')) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  set(placed: Placed): void {
    const at = this.at(placed);
    const there = this.rows[at];
    this.rows.splice(at, there !== undefined && ordered(there, placed) === 0 ? 1 : 0, placed);
  }

  delete(placed: Placed): void {
    const at = this.at(placed);
    const there = this.rows[at];
    if (there !== undefined && ordered(there, placed) === 0) this.rows.splice(at, 1);
  }
}

function ranked(left: Scalar, right: Scalar): number {
  return compareValues(left, right) ?? 0;
}

function ordered(left: Placed, right: Placed): number {
  return (
    ranked(left.sort, right.sort) ||
    ranked(left.row.partition, right.row.partition) ||
    ranked(left.row.sort, right.row.sort)
  );
}

/** Performs no checks. */
export class MemoryTable {
  readonly shape: TableShape;
  readonly #partitions = new Map<Scalar, SortedRows>();
  readonly #indexes: ReadonlyMap<string, Map<Scalar, SortedRows>>;
  /** Undefined when the order must be computed again. */
  #scanOrder: readonly Hashed[] | undefined;

  constructor(shape: TableShape) {
    this.shape = shape;
    this.#indexes = new Map(Object.keys(shape.indexes ?? {}).map((name) => [name, new Map()]));
  }

  rowOf(item: Item): Row {
    const { partition, sort } = this.shape;
    return {
      item,
      size: itemSize(item),
      partition: item[partition.name] as Scalar,
      sort: sort === undefined ? NO_SORT : (item[sort.name] as Scalar),
    };
  }

  get(partition: Scalar, sort: Scalar): Row | undefined {
    const rows = this.#partitions.get(partition);
    const found = rows?.rows[rows.bound(sort, 'from')];
    return found?.sort === sort ? found.row : undefined;
  }

  /**
   * @param before undefined to insert
   *
   * @param after undefined to delete
   */
  replace(before: Row | undefined, after: Row | undefined): void {
    const key = after ?? before;
    if (key === undefined) return;
    this.#move(
      this.#partitions,
      before && [key.partition, before.sort, before],
      after && [key.partition, after.sort, after],
    );
    for (const [name, partitions] of this.#indexes) {
      this.#move(partitions, this.#place(name, before), this.#place(name, after));
    }
  }

  partition(key: Scalar, index?: string): SortedRows | undefined {
    return (index === undefined ? this.#partitions : this.#indexes.get(index))?.get(key);
  }

  /** A partition is never split. */
  scanOrder(segment: number, segments: number): readonly Hashed[] {
    this.#scanOrder ??= [...this.#partitions.keys()].map(hashed).sort(byHash);
    return segments === 1 ? this.#scanOrder : this.#scanOrder.filter(({ hash }) => hash % segments === segment);
  }

  all(prefix = ''): readonly Row[] {
    const found: Row[] = [];
    for (const [key, { rows }] of this.#partitions) {
      if (String(key).startsWith(prefix)) for (const { row } of rows) found.push(row);
    }
    return found;
  }

  #place(index: string, row: Row | undefined): readonly [Scalar, Scalar, Row] | undefined {
    const shape = this.shape.indexes?.[index];
    const partition = shape && row?.item[shape.partition.name];
    const sort = shape && row?.item[shape.sort.name];
    return row === undefined || !isScalar(partition) || !isScalar(sort) ? undefined : [partition, sort, row];
  }

  #move(
    partitions: Map<Scalar, SortedRows>,
    from: readonly [Scalar, Scalar, Row] | undefined,
    to: readonly [Scalar, Scalar, Row] | undefined,
  ): void {
    if (from !== undefined && !(to !== undefined && from[0] === to[0] && from[1] === to[1])) {
      const rows = partitions.get(from[0]);
      rows?.delete({ sort: from[1], row: from[2] });
      if (rows?.rows.length === 0) {
        partitions.delete(from[0]);
        this.#scanOrder = undefined;
      }
    }
    if (to === undefined) return;
    let rows = partitions.get(to[0]);
    if (rows === undefined) {
      rows = new SortedRows();
      partitions.set(to[0], rows);
      this.#scanOrder = undefined;
    }
    rows.set({ sort: to[1], row: to[2] });
  }
}

export function isScalar(value: Value | undefined): value is Scalar {
  return typeof value === 'string' || typeof value === 'number';
}

export interface Hashed {
  readonly key: Scalar;
  readonly hash: number;
}

/** Hashes a key with FNV-1a, 32 bits. As in DynamoDB, the order of hashes is unrelated to the order of keys. */
export function hashed(key: Scalar): Hashed {
  let hash = 0x811c9dc5;
  for (const unit of String(key)) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  return { key, hash: hash >>> 0 };
}

export function byHash(left: Hashed, right: Hashed): number {
  return left.hash - right.hash || (compareValues(left.key, right.key) ?? 0);
}
