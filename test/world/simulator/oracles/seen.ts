import type { Answer } from '../../../../lambdas/kernel/answer.ts';
import { IdempotencyRow, LedgerRow, RegistryRow, ViewsRow } from '../../../../lambdas/kernel/contract/rows.ts';
import type { OrderTransition } from '../../../../lambdas/orders/domain/order-transition.ts';
import { parseOrderTransition } from '../../../../lambdas/orders/store/order-items.ts';
import type { Transition } from '../../../../lambdas/payments/domain/transition.ts';
import { parseTransition } from '../../../../lambdas/payments/store/items.ts';
import { parseBook } from '../../../../lambdas/webhooks/store/webhook-items.ts';
import type { Item } from '../../dynamodb-values.ts';
import type { RowChange } from '../../memory-dynamodb.ts';
import type { Observed, Violation } from '../contract.ts';
import { nameOfRow } from '../stream.ts';

const BOOK_OF_ALL = new RegExp(`^${ViewsRow.book}.*#all#\\d+$`);

/** Maximum difference between two clocks. */
export const MAX_SKEW_MS = 10 * 60_000;

/** Row with the simulated time of its write, in Unix milliseconds. */
export interface Written<Row> {
  readonly row: Row;
  readonly atMs: number;
}

export interface StoredAnswer {
  readonly answer: Answer;
  readonly atMs: number;
  readonly expiresAtSeconds?: number;
}

/** The checks of chains, claims and commissions need not read all rows. */
export class Seen {
  readonly world: Observed;
  /** Oldest first. */
  readonly payments = new Map<string, Written<Transition>[]>();
  /** Oldest first. */
  readonly orders = new Map<string, Written<OrderTransition>[]>();
  /** By operation, including responses in deleted records. */
  readonly answers = new Map<string, StoredAnswer[]>();
  /** Operations with a claim but without a response. */
  readonly claims = new Set<string>();
  /** Times of the newest claim and of its response, in Unix milliseconds, by operation. */
  readonly claimed = new Map<string, { readonly fromMs: number; readonly untilMs?: number }>();
  /** Time when a claim was last released because nothing was sent, in Unix milliseconds, by operation. */
  readonly released = new Map<string, number>();
  /** Versions of each commission, oldest first, by the key of its row. */
  readonly commissions = new Map<string, Written<Item>[]>();
  /** In Unix milliseconds, by endpoint. */
  readonly disabled = new Map<string, { readonly fromMs: number; readonly untilMs?: number }[]>();
  /** First version of each row with an account entry, by partition and sort key. */
  readonly entered = new Map<string, Written<Item>>();
  /** Ids of the payments and orders with writes since the last check. */
  readonly changed = new Set<string>();
  /** Violations that are visible from a single write. */
  readonly #wrong: Violation[] = [];

  constructor(world: Observed) {
    this.world = world;
    const { database, tables } = world;
    for (const table of [tables.ledger, tables.idempotency, tables.registry]) {
      for (const item of database.items(table)) this.#take({ table, after: item });
    }
    database.listen((changes) => changes.forEach((change) => this.#take(change)));
  }

  /** Returns and clears the violations found in single writes since the last call. */
  takeWrong(): readonly Violation[] {
    return this.#wrong.splice(0);
  }

  #take({ table, before, after }: RowChange): void {
    const { tables, nowMs } = this.world;
    if (table === tables.ledger) this.#takeLedger(before, after, nowMs);
    if (table === tables.views && after !== undefined && BOOK_OF_ALL.test(partitionOf(after)))
      this.#takeEntry(after, nowMs);
    if (table === tables.idempotency) this.#takeRecord(before, after, nowMs);
    if (table === tables.registry && partitionOf(after).startsWith(RegistryRow.webhookEndpoints) && after !== undefined)
      this.#takeEndpoints(after, nowMs);
    const isCommission = table === tables.registry && partitionOf(after).startsWith(RegistryRow.commission);
    if (isCommission && after !== undefined) append(this.commissions, nameOfRow(after), { row: after, atMs: nowMs });
  }

  #takeLedger(before: Item | undefined, after: Item | undefined, atMs: number): void {
    if (this.world.mishaps.isByHand) return;
    const partition = partitionOf(after ?? before);
    const id = partition.slice(partition.indexOf('#') + 1);
    if (before !== undefined || after === undefined) {
      this.#wrong.push({ oracle: 'I8 append only', what: 'a Ledger row was changed or removed', about: id });
      return;
    }
    this.changed.add(id);
    if (partition.startsWith(LedgerRow.order)) append(this.orders, id, { row: parseOrderTransition(after), atMs });
    if (partition.startsWith(LedgerRow.payment)) append(this.payments, id, { row: parseTransition(after), atMs });
  }

  #takeEntry(row: Item, atMs: number): void {
    const name = nameOfRow(row);
    if (!this.entered.has(name)) this.entered.set(name, { row, atMs });
  }

  #takeEndpoints(after: Item, atMs: number): void {
    for (const { id, disabled } of parseBook(after).endpoints) {
      const spans = this.disabled.get(id) ?? [];
      const open = spans.findIndex(({ untilMs }) => untilMs === undefined);
      if (disabled !== undefined && open < 0) spans.push({ fromMs: atMs });
      else if (disabled === undefined && open >= 0)
        spans[open] = { fromMs: spans[open]?.fromMs ?? atMs, untilMs: atMs };
      this.disabled.set(id, spans);
    }
  }

  #takeRecord(before: Item | undefined, after: Item | undefined, atMs: number): void {
    const operation = partitionOf(after ?? before).slice(IdempotencyRow.record.length);
    const isOpen = after?.['status'] === 'INPROGRESS';
    const isOvertaken =
      before?.['status'] === 'INPROGRESS' && after !== undefined && before['owner'] !== after['owner'];
    if (isOvertaken && !isOpen) {
      const what = 'an owner stored a response after a takeover of its claim';
      this.#wrong.push({ oracle: 'F11 one owner', what, about: operation });
    }
    if (isOpen && after['released'] === true) this.released.set(operation, atMs);
    if (isOpen) this.claims.add(operation);
    else this.claims.delete(operation);
    const { fromMs = atMs, untilMs } = this.claimed.get(operation) ?? {};
    if (isOpen) this.claimed.set(operation, { fromMs: untilMs === undefined ? fromMs : atMs });
    else if (untilMs === undefined) this.claimed.set(operation, { fromMs, untilMs: atMs });
    if (before?.['status'] === 'COMPLETED' && after !== undefined) {
      const what = 'the record of a completed operation was overwritten';
      this.#wrong.push({ oracle: 'I3 one stored answer', what, about: operation });
    }
    // A recovery removes a response whose transition was lost.
    if (after === undefined && this.world.isRestoring) this.answers.delete(operation);
    const answer = after?.['status'] === 'COMPLETED' ? answerIn(after) : undefined;
    if (answer === undefined) return;
    const known = this.answers.get(operation) ?? [];
    if (known.length > 0 && !known.some((each) => isSame(each.answer, answer))) {
      const what = 'a second stored response differs from the first';
      this.#wrong.push({ oracle: 'I3 one stored answer', what, about: operation });
    }
    const expires = after?.['expiresAt'];
    const expiry = typeof expires === 'number' ? { expiresAtSeconds: expires } : {};
    this.answers.set(operation, [...known, { answer, atMs, ...expiry }]);
  }
}

function partitionOf(item: Item | undefined): string {
  const key = item?.['pk'];
  return typeof key === 'string' ? key : '';
}

function append<Row>(chains: Map<string, Row[]>, id: string, row: Row): void {
  const chain = chains.get(id);
  if (chain === undefined) chains.set(id, [row]);
  else chain.push(row);
}

function answerIn(item: Item): Answer | undefined {
  const request = item['request'] as { readonly answer?: Answer } | undefined;
  return (item['answer'] as Answer | undefined) ?? request?.answer;
}

function isSame(left: Answer, right: Answer): boolean {
  return left.status === right.status && left.body === right.body;
}
