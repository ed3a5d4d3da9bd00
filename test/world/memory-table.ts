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
  /** Whole rows are in the index. @default keys only */
  readonly projectsAll?: true;
}

/** The shape of one table, and who reads its rows. */
export interface TableShape extends KeyShape {
  readonly name: string;
  /** Sparse indexes. */
  readonly indexes?: Readonly<Record<string, IndexShape>>;
  /** Unix seconds. */
  readonly timeToLive?: string;
  /** By what precedes the first `#` of the partition key, that included: what reads such a row, and throws when it cannot. */
  readonly readers: Readonly<Record<string, (item: Item) => unknown>>;
}

export type Scalar = string | number;

export interface Row {
  readonly item: Item;
  /** Bytes. */
  readonly size: number;
  readonly partition: Scalar;
  /** Empty in a table without sort key. */
  readonly sort: Scalar;
}

/** A row at its place in an index, or in the table itself. */
export interface Placed {
  readonly sort: Scalar;
  readonly row: Row;
}

export const NO_SORT = '';

/** Rows of one partition in the order of their sort keys; those of an index may share one. */
export class SortedRows {
  readonly rows: Placed[] = [];

  /** The first place that is not before the probe. */
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

  /** The first place whose sort key is not less than, or greater than, this one. */
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

/** The rows of one table and of its indexes. It checks nothing. */
export class MemoryTable {
  readonly shape: TableShape;
  readonly #partitions = new Map<Scalar, SortedRows>();
  readonly #indexes: ReadonlyMap<string, Map<Scalar, SortedRows>>;
  /** The partitions in the order of a scan, until another is added. */
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

  /** @param after undefined deletes */
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

  /** The rows under a partition key, of the table or of one of its indexes. */
  partition(key: Scalar, index?: string): SortedRows | undefined {
    return (index === undefined ? this.#partitions : this.#indexes.get(index))?.get(key);
  }

  /** The partitions of a segment, in the order of their hashes; a partition is never split. */
  scanOrder(segment: number, segments: number): readonly Hashed[] {
    this.#scanOrder ??= [...this.#partitions.keys()].map(hashed).sort(byHash);
    return segments === 1 ? this.#scanOrder : this.#scanOrder.filter(({ hash }) => hash % segments === segment);
  }

  /** Every row whose partition key begins so, partition by partition. */
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

/** FNV-1a, 32 bits: an order that says nothing about the keys, as DynamoDB's. */
export function hashed(key: Scalar): Hashed {
  let hash = 0x811c9dc5;
  for (const unit of String(key)) hash = Math.imul(hash ^ (unit.codePointAt(0) ?? 0), 0x01000193);
  return { key, hash: hash >>> 0 };
}

export function byHash(left: Hashed, right: Hashed): number {
  return left.hash - right.hash || (compareValues(left.key, right.key) ?? 0);
}
