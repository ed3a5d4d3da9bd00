import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { OWN_DETAILS } from '../../once/store/details-rows.ts';
import { rowOfCompleted, rowOfOpen } from '../../once/store/postgres-record-rows.ts';
import { PostgresRecords } from '../../once/store/postgres-records.ts';
import type { CommitOutcome } from '../../once/use/record-store.ts';
import { readRows } from '../../postgres/attempts.ts';
import type { Statement } from '../../postgres/database.ts';
import type { Transition } from '../domain/transition.ts';
import type {
  Claim,
  ClaimOutcome,
  Commit,
  PaymentEnds,
  PaymentHistory,
  PaymentStore,
  ReferenceName,
  TransitionPage,
} from '../use/payment-store.ts';
import { transitionsWithDetails, transitionWithDetails } from './items.ts';
import { readEnds } from './payment-ends.ts';
import {
  detailsRowsOf,
  readChain,
  SELECT_CHAIN_ROWS,
  SELECT_TRANSITION,
  selectChain,
  UNION_DETAILS,
} from './postgres-chains.ts';
import { parseTransitionRow, rowsOfTransitions } from './postgres-rows.ts';
import { claimStatement, recordStatement, selectReference } from './postgres-statements.ts';

/** Number of newest transitions that `readEnds` reads with one query. Most chains are not longer. */
const NEWEST = 4;

/** Stores payments with two durable writes; each write is a single statement. */
export class PostgresStore extends PostgresRecords implements PaymentStore {
  /**
   * Writes the claim. Of two concurrent first attempts, the second waits for the statement of the first, writes nothing,
   * and reads the record of the first in a new statement.
   *
   *   A ── claim ✓ ────────────
   *   B ────── claim: no row ── read: record of A
   */
  async claim(claim: Claim): Promise<ClaimOutcome> {
    const { record, reference } = claim;
    const nowMs = this.tools.pacing.clock.nowMs();
    const statement = claimStatement(rowOfOpen(record), claim, nowMs);
    const claimed = await this.claimBy(statement, record);
    if (claimed.kind !== 'taken') return claimed;
    if (claimed.constraint !== 'reference_pkey' || reference === undefined) return { kind: 'transition_exists' };
    return { kind: 'reference_taken', paymentId: await this.#holderOf(reference.name) };
  }

  /** See the timelines in `executeOnce`. */
  async commit({ record, expects, transition, ...queued }: Commit): Promise<CommitOutcome> {
    const nowMs = this.tools.pacing.clock.nowMs();
    const statement = recordStatement(rowOfCompleted(record), expects, {
      ...queued,
      rows: rowsOfTransitions(transition === undefined ? [] : [transition]),
      nowMs,
    });
    const outcome = await this.commitBy(statement, record);
    if (outcome.kind === 'committed' && transition !== undefined) {
      await this.tools.committed?.(transition.payment.id, nowMs);
    }
    return outcome;
  }

  async readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined> {
    const transitions = await this.#read({
      name: 'payment-read',
      text: `(${SELECT_CHAIN_ROWS}
          AND (sequence = 1 OR sequence = (SELECT max(sequence) FROM transition WHERE chain_id = $1))) ${UNION_DETAILS}`,
      values: [paymentId],
    });
    const [first] = transitions;
    return first === undefined ? undefined : { first, newest: transitions.at(-1) ?? first };
  }

  async readEnds(paymentId: PaymentId, operationId: OperationId): Promise<PaymentEnds | undefined> {
    const read = async (name: string, text: string, value: unknown): Promise<readonly Transition[]> => {
      const statement = { name, text: `${SELECT_TRANSITION} WHERE chain_id = $1 ${text}`, values: [paymentId, value] };
      return (await readRows(this.tools, statement)).map(parseTransitionRow);
    };
    return readEnds(
      {
        newest: () => read('transition-newest', 'ORDER BY sequence DESC LIMIT $2', NEWEST),
        at: (sequences) => read('transition-some', 'AND sequence = ANY ($2)', sequences),
      },
      operationId,
    );
  }

  async readNotes(first: Transition): Promise<Transition> {
    const rows = await readRows(this.tools, {
      name: 'details-read',
      text: 'SELECT part, salt, details FROM details WHERE chain_id = $1 AND part = $2',
      values: [first.payment.id, OWN_DETAILS],
    });
    return transitionWithDetails(detailsRowsOf(rows), first);
  }

  async listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]> {
    return this.#read(selectChain(paymentId, page));
  }

  async #read(statement: Statement): Promise<readonly Transition[]> {
    const { transitions, details } = await readChain(this.tools, statement);
    return transitionsWithDetails(details, transitions.map(parseTransitionRow));
  }

  async #holderOf(name: ReferenceName): Promise<PaymentId> {
    const [row] = await readRows(this.tools, selectReference(name));
    invariant(row !== undefined, 'the row of a reference in use is missing, although reference rows are never deleted');
    return row['payment_id'] as PaymentId;
  }
}
