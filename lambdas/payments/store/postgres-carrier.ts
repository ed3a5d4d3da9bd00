import { DynamoDBServiceException, TransactionCanceledException } from '@aws-sdk/client-dynamodb';
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { KeyAttribute, LedgerTable } from '../../kernel/contract/tables.ts';
import { defined } from '../../kernel/defined.ts';
import { sameBytes } from '../../kernel/digest.ts';
import { TerminalError } from '../../kernel/faults.ts';
import type { Link } from '../../kernel/hash-chain.ts';
import { invariant } from '../../kernel/invariant.ts';
import type { Item } from '../../kernel/platform/items.ts';
import { detailsKey, readDetailsRows } from '../../once/store/details-rows.ts';
import type { StoreTables, TransactItem } from '../../once/store/transact-items.ts';
import { itemOf, ROW_IS_NEW, transactOnce } from '../../once/store/transact-items.ts';
import { type PostgresTools, readRows } from '../../postgres/attempts.ts';
import type { Carrier, CarryObserver } from '../../postgres/carry.ts';
import type { Row } from '../../postgres/database.ts';
import { Outbox, type OutboxRow } from '../../postgres/outbox.ts';
import { valuesOf } from '../../postgres/values.ts';
import { parsePaymentId } from '../ids.ts';
import { detailsPut, type NewDetails, parseTransition, transitionRow, transitionSort } from './items.ts';
import { newDetailsOf, type RowsOfCopy, rowsOfCopy, storedOfRow } from './postgres-rows.ts';

/** Converts the rows of one kind of chain to the rows of the DynamoDB tables, and back. */
export interface CopiedChain {
  readonly owns: (chainId: string) => boolean;
  /** Returns the Ledger row of a stored transition, as the DynamoDB store would write it. */
  readonly rowOf: (stored: Item) => Item;
  readonly detailsOf: (tables: Pick<StoreTables, 'registry'>, stored: Item, details: NewDetails) => TransactItem;
  /** @throws if the row is unreadable */
  readonly rowsOfCopy: (item: Item) => RowsOfCopy;
}

export const PAYMENT_CHAIN: CopiedChain = {
  owns: (id) => parsePaymentId(id) !== undefined,
  rowOf: (stored) => transitionRow(parseTransition(stored)),
  detailsOf: (tables, stored, details) => detailsPut(tables, parseTransition(stored).payment, details),
  rowsOfCopy,
};

export interface LedgerCarrierTools extends PostgresTools {
  readonly client: DynamoDBDocumentClient;
  readonly tables: Pick<StoreTables, 'ledger' | 'registry'>;
  readonly chains: readonly CopiedChain[];
  readonly observer: Pick<CarryObserver, 'stopped' | 'failed'>;
}

/**
 * Rows are far smaller than 400 KB, so ten with their details stay below 4 MB (Amazon DynamoDB developer guide,
 * "Quotas": item size, transaction size).
 */
const ROWS_AT_ONCE = 10;
/** Limit of a read that must return all waiting rows. No chain has more. */
const ALL_ROWS = 1_000_000;
/** Maximum number of items in one transaction (Amazon DynamoDB API reference, "TransactWriteItems"). */
const ITEMS_AT_ONCE = 100;

/**
 * Age from which an unreadable transition stops its chain, in milliseconds. During a deployment, newer code may have
 * written the transition; the newer code can read it and will copy it.
 */
const UNREADABLE_AFTER_MS = 3_600_000;

const WAITING = `WITH waiting AS (
  SELECT chain_id, kind, sequence, trace, stopped_at, created_at FROM outbox WHERE chain_id = $1
  ORDER BY kind = 'erasure', sequence LIMIT $2
)
SELECT waiting.kind, waiting.sequence, waiting.trace, waiting.stopped_at, waiting.created_at,
  transition.body::text, transition.prev_hash, transition.hash,
  details.part, details.salt, details.details, details.email_hash
FROM waiting
LEFT JOIN transition ON waiting.kind = 'transition'
  AND transition.chain_id = waiting.chain_id AND transition.sequence = waiting.sequence
LEFT JOIN details ON details.chain_id = transition.chain_id AND details.sequence = transition.sequence
ORDER BY waiting.kind = 'erasure', waiting.sequence`;

/** Personal data whose transition no longer waits to be copied: both were already copied in one transaction. */
const COPIED_DETAILS = `SELECT transition.body::text, transition.prev_hash, transition.hash,
  details.part, details.salt, details.details, details.email_hash
FROM details
JOIN transition ON transition.chain_id = details.chain_id AND transition.sequence = details.sequence
WHERE details.chain_id = $1 AND NOT EXISTS (
  SELECT 1 FROM outbox WHERE outbox.chain_id = details.chain_id AND outbox.kind = 'transition'
    AND outbox.sequence = details.sequence
)`;

interface Copy {
  readonly link: Link;
  readonly item: Item;
  readonly details: readonly TransactItem[];
}

interface Waiting {
  readonly rows: readonly OutboxRow[];
  readonly isStopped: boolean;
  /** The transitions, up to the first unreadable one. Erasures are not copied. */
  readonly copies: readonly Copy[];
  readonly unreadable: { readonly sequence: number; readonly createdAtMs: number; readonly error: unknown } | undefined;
}

/** Copies transitions and personal data, as the DynamoDB stores would have written them. */
export class LedgerCarrier implements Carrier {
  readonly #tools: LedgerCarrierTools;
  readonly #outbox: Outbox;

  constructor(tools: LedgerCarrierTools) {
    this.#tools = tools;
    this.#outbox = new Outbox(tools);
  }

  /**
   * Returns a carrier that begins no attempt after this time, in Unix milliseconds. A call to DynamoDB may end two
   * seconds later.
   */
  until(untilMs: number): LedgerCarrier {
    return new LedgerCarrier({ ...this.#tools, pacing: { ...this.#tools.pacing, untilMs } });
  }

  /**
   * Copies transitions in ascending order, each only after its predecessor. An owner also copies the rows of a crashed
   * owner:
   *
   *   A ── T1 ✓ ── crash
   *   B ──────────── takes over ── T2 ✓ ── carry: T1, T2
   *
   * An erasure deletes the copies only after all transitions that were written before it are copied. A carrier that has
   * read personal data before the erasure then finds the transition in the Ledger, and its own transaction is canceled
   * as a whole:
   *
   *   carrier A ── read T1 with details ──────────────────────────────────────── T1 ✗ details ✗
   *   erasure   ─────────────────────────── delete details ✓
   *   carrier B ──────────────────────────────────────────── T1 ✓ ── delete copies ✓
   *
   * If the chain is stopped because a transition can never be copied, an erasure deletes the copies now, and a second
   * time when the chain is copied again. Without an erasure, the copies stay: after a restore of PostgreSQL, only they
   * contain the lost rows.
   */
  async carry(chainId: string): Promise<'carried' | 'stopped'> {
    for (;;) {
      const { rows, isStopped, copies, unreadable } = await this.#waiting(chainId);
      if (isStopped) return this.#stopped(chainId);
      const stoppedAt = await this.#copy(chainId, copies);
      if (stoppedAt !== undefined) return this.#stop(chainId, stoppedAt);
      if (unreadable !== undefined) {
        if (this.#tools.pacing.clock.nowMs() - unreadable.createdAtMs < UNREADABLE_AFTER_MS) throw unreadable.error;
        this.#tools.observer.failed(chainId, unreadable.error);
        return this.#stop(chainId, unreadable.sequence);
      }
      if (copies.length < rows.length) await this.#eraseCopies(chainId);
      await this.#outbox.remove(chainId, rows);
      if (rows.length < ROWS_AT_ONCE) return 'carried';
    }
  }

  /**
   * Copies a chain again. If the chain is stopped, resumes it only after all its waiting transitions are in the Ledger
   * and `copied` has returned. A crash before that leaves the chain stopped, so the next call calls `copied` again:
   *
   *   jobs      mark after T2 ───────────────────────────────────── read T2 again
   *   carrier   T2 in the Ledger ── copied: mark before T2 ── T2 leaves the outbox
   *
   * @param copied must set back the progress marks of the jobs that read the Ledger without waiting for this chain;
   * `sinceMs` is the time of its oldest waiting transition, in Unix milliseconds
   * @throws if the chain is stopped and this code cannot read a transition
   */
  async carryAgain(chainId: string, copied: (sinceMs: number) => Promise<void>): Promise<'carried' | 'stopped'> {
    const { isStopped, copies, unreadable } = await this.#waiting(chainId, ALL_ROWS);
    if (isStopped) {
      for (let from = 0; from < copies.length; from += ROWS_AT_ONCE) {
        const stoppedAt = await this.#copy(chainId, copies.slice(from, from + ROWS_AT_ONCE));
        if (stoppedAt !== undefined) return this.#stop(chainId, stoppedAt);
      }
      if (unreadable !== undefined) throw unreadable.error;
      await copied(Math.min(...copies.map(({ item }) => Number(item['occurredAtMs']))));
      await this.#outbox.resume(chainId);
    }
    return this.carry(chainId);
  }

  async #stop(chainId: string, sequence: number): Promise<'stopped'> {
    // Raise the alarm before the row is marked: a crash may then raise it twice, but cannot lose it.
    this.#tools.observer.stopped(chainId, sequence);
    await this.#outbox.stop(chainId, sequence);
    return this.#stopped(chainId);
  }

  async #stopped(chainId: string): Promise<'stopped'> {
    if (await this.#outbox.hasErasure(chainId)) await this.#eraseCopies(chainId);
    return 'stopped';
  }

  async #waiting(chainId: string, limit = ROWS_AT_ONCE): Promise<Waiting> {
    const found = await readRows(this.#tools, {
      name: 'outbox-waiting',
      text: WAITING,
      values: [chainId, limit],
    });
    // A transition with personal data has one row for each part of the data.
    const parts = Map.groupBy(found.map(valuesOf), ({ kind, sequence }) => `${String(kind)} ${String(sequence)}`);
    const rows: OutboxRow[] = [];
    const copies: Copy[] = [];
    let isStopped = false;
    let unreadable: Waiting['unreadable'];
    for (const ofRow of parts.values()) {
      const [row] = ofRow;
      invariant(row !== undefined, 'a group of rows is empty');
      const { kind, sequence } = row as unknown as OutboxRow;
      rows.push({ kind, sequence });
      if (row['stopped_at'] !== undefined) isStopped = true;
      if (kind === 'erasure' || unreadable !== undefined) continue;
      try {
        copies.push(this.#copyOf(chainId, row, ofRow));
      } catch (error) {
        unreadable = { sequence, createdAtMs: Number(row['created_at']), error };
      }
    }
    return { rows, isStopped, copies, unreadable };
  }

  #copyOf(chainId: string, row: Row, parts: readonly Row[]): Copy {
    const { chains, tables } = this.#tools;
    const chain = chains.find(({ owns }) => owns(chainId));
    invariant(chain !== undefined, `${chainId} is the id of neither a payment nor an order`);
    const stored = storedOfRow(row);
    // Drop the trace of this execution: a different execution wrote the transition.
    const { trace: _trace, ...item } = chain.rowOf(stored);
    const isOutcome = LedgerTable.recentOutcomesIndex.partitionKey in item;
    return {
      link: stored as unknown as Link,
      // Parsing drops attributes that a later version wrote, so the stored attributes are added.
      item: { ...item, ...stored, ...(isOutcome ? defined({ trace: row['trace'] }) : {}) },
      details: parts
        .filter((part) => part['part'] !== undefined)
        .map((part) => chain.detailsOf(tables, stored, newDetailsOf(part))),
    };
  }

  /**
   * If the condition of a put fails, DynamoDB returns the existing row. If the hash of this row equals the transition's
   * hash, the transition was already copied.
   *
   * @returns undefined when all are in the Ledger; otherwise the sequence of the first that can never be copied
   */
  async #copy(chainId: string, copies: readonly Copy[]): Promise<number | undefined> {
    const [first] = copies;
    if (first === undefined) return undefined;
    const items = [
      ...copies.map(({ item }) => this.#put(item)),
      ...copies.flatMap(({ details }) => details),
      ...this.#checkBefore(first),
    ];
    const written = await transactOnce(this.#tools.client, this.#tools.pacing, items).catch((error: unknown) => {
      if (!isInvalid(error)) throw error;
      return { kind: 'invalid' as const, error };
    });
    if (written.kind === 'invalid') {
      if (copies.length === 1) {
        this.#tools.observer.failed(chainId, written.error);
        return first.link.sequence;
      }
      for (const copy of copies) {
        const stoppedAt = await this.#copy(chainId, [copy]);
        if (stoppedAt !== undefined) return stoppedAt;
      }
      return undefined;
    }
    if (written.kind !== 'refused') return undefined;
    const found = written.reasons.map(itemOf);
    const missing = copies.filter(({ link }, index) => !isSame(link, found[index]));
    const isTaken = missing.some((copy) => found[copies.indexOf(copy)] !== undefined);
    // If no put's condition failed, the check of the predecessor failed: it is missing or is a different row.
    if (isTaken || missing.length === copies.length) return missing[0]?.link.sequence;
    return this.#copy(chainId, missing);
  }

  #put(item: Item): TransactItem {
    return {
      Put: {
        TableName: this.#tools.tables.ledger,
        Item: item,
        ConditionExpression: ROW_IS_NEW,
        ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
      },
    };
  }

  #checkBefore({ link: { sequence, prevHash }, item }: Copy): TransactItem[] {
    if (sequence === 1) return [];
    return [
      {
        ConditionCheck: {
          TableName: this.#tools.tables.ledger,
          Key: {
            [KeyAttribute.partition]: item[KeyAttribute.partition],
            [KeyAttribute.sort]: transitionSort(sequence - 1),
          },
          ConditionExpression: '#hash = :hash',
          ExpressionAttributeNames: { '#hash': 'hash' },
          ExpressionAttributeValues: { ':hash': prevHash },
        },
      },
    ];
  }

  /**
   * After a restore of only the Registry, writes the copies of personal data that are missing there although the Ledger
   * contains their transitions. Then deletes the copies of erased personal data, including copies that this call wrote
   * and that were erased in the meantime:
   *
   *   here    ── read details ─────────────────────────────────── write copies ── no details: delete copies ✓
   *   erasure ────────────────── delete details ── delete copies ✓
   *
   * Safe to repeat. After a crash, it must be repeated, because erased data can remain until then.
   *
   * @returns the number of copies that were missing
   */
  async restoreCopies(chainId: string): Promise<number> {
    const { client, pacing, tables } = this.#tools;
    const rows = await readRows(this.#tools, { name: 'details-copied', text: COPIED_DETAILS, values: [chainId] });
    const copied = await readDetailsRows({ client, pacing, registry: tables.registry }, chainId);
    const puts = rows
      .map(valuesOf)
      .filter(({ part }) => !copied.has(part))
      .flatMap((row) => this.#copyOf(chainId, row, [row]).details);
    for (let from = 0; from < puts.length; from += ROWS_AT_ONCE) {
      await transactOnce(client, pacing, puts.slice(from, from + ROWS_AT_ONCE));
    }
    await this.#eraseCopies(chainId);
    return puts.length;
  }

  /**
   * Deletes the copies of erased personal data. The copies are listed before the rows are read. A row is copied only
   * after its commit, so if a listed copy has no row in PostgreSQL, the row was erased. If the first transition (T1) is
   * missing too, the payment or the order was moved to another database, and nothing is deleted:
   *
   *   here  ── list copies ─────────────────────────────── read: no T1, no details ── delete nothing
   *   move  ──────────────── copy rows ── switch ── delete rows
   */
  async #eraseCopies(chainId: string): Promise<void> {
    const { client, pacing, tables } = this.#tools;
    const copied = await readDetailsRows({ client, pacing, registry: tables.registry }, chainId);
    const rows = await readRows(this.#tools, {
      name: 'details-parts',
      text: `SELECT part FROM details WHERE chain_id = $1
        UNION ALL SELECT NULL FROM transition WHERE chain_id = $1 AND sequence = 1`,
      values: [chainId],
    });
    const kept = new Set(rows.map(({ part }) => part));
    if (!kept.has(null)) return;
    const deletions = [...copied.keys()]
      .filter((part) => !kept.has(part))
      .map((part) => ({ Delete: { TableName: tables.registry, Key: detailsKey(chainId, String(part)) } }));
    for (let from = 0; from < deletions.length; from += ITEMS_AT_ONCE) {
      await transactOnce(client, pacing, deletions.slice(from, from + ITEMS_AT_ONCE));
    }
  }
}

function isSame({ hash }: Link, found: Item | undefined): boolean {
  const existing = found?.['hash'];
  return existing instanceof Uint8Array && sameBytes(existing, hash);
}

/**
 * Reports whether DynamoDB has refused the content of a transaction, for example because an item is too large. Returns
 * false if the function lacks a permission: this affects all transactions, so no chain is stopped.
 */
function isInvalid(error: unknown): boolean {
  const cause = error instanceof TerminalError ? error.cause : undefined;
  if (cause instanceof TransactionCanceledException)
    return (cause.CancellationReasons ?? []).some(({ Code }) => Code === 'ValidationError');
  return cause instanceof DynamoDBServiceException && cause.name === 'ValidationException';
}
