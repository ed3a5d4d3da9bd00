import type { OrderId } from '../../kernel/ids.ts';
import type { Due } from '../../kernel/looks.ts';
import { failOnUnreadable, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import { OWN_DETAILS } from '../../once/store/details-rows.ts';
import { rowOfCompleted, rowOfOpen } from '../../once/store/postgres-record-rows.ts';
import { PostgresRecords } from '../../once/store/postgres-records.ts';
import type { ClaimOutcome, CommitOutcome } from '../../once/use/record-store.ts';
import type { CopiedChain } from '../../payments/store/postgres-carrier.ts';
import { readChain, selectChain } from '../../payments/store/postgres-chains.ts';
import { type DueTools, readDueWork, THIS_ENTRY } from '../../payments/store/postgres-due.ts';
import {
  type ChainRows,
  parseOrderRow,
  rowOfChain,
  rowOfDetails,
  storedOfCopy,
  storedOfRow,
  workKeyOfOrder,
} from '../../payments/store/postgres-rows.ts';
import { appendStatement, recordStatement } from '../../payments/store/postgres-statements.ts';
import type { OpenOrder, TransitionPage } from '../../payments/use/payment-store.ts';
import { type PostgresTools, readRows, writeIf, writeRows } from '../../postgres/attempts.ts';
import { byteText, timestamp } from '../../postgres/values.ts';
import type { OrderTransition } from '../domain/order-transition.ts';
import { parseOrderId } from '../ids.ts';
import type { OrderAppend, OrderClaim, OrderCommit, OrderStore } from '../use/order-store.ts';
import {
  contactsPut,
  newContacts,
  orderTransitionRow,
  parseOrderTransition,
  storedOrderTransition,
  withContacts,
} from './order-items.ts';

export const ORDER_CHAIN: CopiedChain = {
  owns: (id) => parseOrderId(id) !== undefined,
  rowOf: (stored) => orderTransitionRow(parseOrderTransition(stored)),
  detailsOf: (tables, stored, details) => contactsPut(tables, parseOrderTransition(stored).order, details),
  rowsOfCopy: (item) => {
    const transition = parseOrderTransition(item);
    const { order, first } = transition;
    return {
      transition: rowOfChain(transition, order, storedOfCopy(item)),
      postings: [],
      commitments: first === undefined ? [] : [{ part: OWN_DETAILS, commitment: first.commitment }],
    };
  },
};

/** Orders are in the same PostgreSQL tables as payments. Each write is one statement. */
export class PostgresOrders extends PostgresRecords implements OrderStore {
  readonly #queue: DueTools;

  /** @param unreadable receives rows of the queue that cannot be parsed @default the read fails */
  constructor(tools: PostgresTools, unreadable: Unreadable = failOnUnreadable) {
    super(tools);
    this.#queue = { ...tools, unreadable };
  }

  async claimOrder({ record, first }: OrderClaim): Promise<ClaimOutcome> {
    const begun = first === undefined ? { transitions: [] } : { transitions: [first] };
    const claimed = await this.claimBy(recordStatement(rowOfOpen(record), 'absent', this.#written(begun)), record);
    return claimed.kind === 'taken' ? { kind: 'transition_exists' } : claimed;
  }

  async commitOrder({ record, expects, ...append }: OrderCommit): Promise<CommitOutcome> {
    const written = this.#written(append);
    const outcome = await this.commitBy(recordStatement(rowOfCompleted(record), expects, written), record);
    if (outcome.kind === 'committed') await this.#committed(append, written);
    return outcome;
  }

  /**
   * Appends transitions. If two drivers have read the same newest transition, one appends, and the other rereads the
   * chain.
   *
   *   A ── read T4 ── call ── T5 ✓
   *   B ──── read T4 ── call ── T5 ✗ ── read T5 ── nothing to add
   */
  async appendToOrder(append: OrderAppend): ReturnType<OrderStore['appendToOrder']> {
    const written = this.#written(append);
    const outcome = await writeIf(this.tools, appendStatement(written));
    if (outcome.kind === 'taken' && !(outcome.mayBeOwn && (await this.#hasAppended(append)))) {
      return { kind: 'transition_exists' };
    }
    await this.#committed(append, written);
    return { kind: 'appended' };
  }

  async listOrderTransitions(orderId: OrderId, page: TransitionPage): Promise<readonly OrderTransition[]> {
    const { transitions, details } = await readChain(this.tools, selectChain(orderId, page));
    return Promise.all(transitions.map((row) => withContacts(details, parseOrderTransition(storedOfRow(row)))));
  }

  async openOrders(due: Due): Promise<readonly OpenOrder[]> {
    return readDueWork(this.#queue, ['open_order'], due, parseOrderRow);
  }

  async postponeOrder(open: OpenOrder, dueAtMs: number): Promise<void> {
    await writeRows(this.tools, {
      name: 'order-postpone',
      text: `UPDATE work SET due_at = $5 ${THIS_ENTRY} AND version = $4`,
      values: [...entryOf(open), timestamp(dueAtMs)],
    });
  }

  async closeOrder(open: OpenOrder): Promise<void> {
    await writeRows(this.tools, {
      name: 'order-close',
      text: `DELETE FROM work ${THIS_ENTRY} AND version = $4`,
      values: entryOf(open),
    });
  }

  /** An earlier attempt of this call, whose response was lost, may have appended the transitions. */
  async #hasAppended({ transitions: [first] }: OrderAppend): Promise<boolean> {
    if (first === undefined) return false;
    const { order, sequence, hash } = first;
    const rows = await readRows(this.tools, {
      name: 'transition-is',
      text: 'SELECT 1 AS found FROM transition WHERE chain_id = $1 AND sequence = $2 AND hash = $3',
      values: [order.id, sequence, byteText(hash)],
    });
    return rows.length > 0;
  }

  #written({ transitions, open }: OrderAppend) {
    const rows: ChainRows = {
      transitions: transitions.map((transition) =>
        rowOfChain(transition, transition.order, storedOrderTransition(transition)),
      ),
      postings: [],
      details: transitions.flatMap(({ first, order, sequence }) =>
        first === undefined ? [] : [rowOfDetails(order.id, sequence, newContacts(first))],
      ),
    };
    return { rows, nowMs: this.tools.pacing.clock.nowMs(), ...(open === undefined ? {} : { reopened: open }) };
  }

  async #committed({ transitions: [first] }: OrderAppend, { nowMs }: { readonly nowMs: number }): Promise<void> {
    if (first !== undefined) await this.tools.committed?.(first.order.id, nowMs);
  }
}

/** The key of the queue entry, and the version that the entry had when it was read. */
function entryOf(open: OpenOrder): readonly unknown[] {
  const { kind, chain_id, subject } = workKeyOfOrder(open);
  return [kind, chain_id, subject, open.sequence];
}
