import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import { invariant } from '../../kernel/invariant.ts';
import { OWN_DETAILS } from '../../once/store/details-rows.ts';
import { rowOfCompleted, rowOfOpen } from '../../once/store/postgres-record-rows.ts';
import { PostgresRecords } from '../../once/store/postgres-records.ts';
import type { CommitOutcome } from '../../once/use/record-store.ts';
import { rounds } from '../../once/use/rounds.ts';
import { readRows, writeIf } from '../../postgres/attempts.ts';
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
import { withAllDetails, withDetails } from './items.ts';
import { readEnds } from './payment-ends.ts';
import { detailsRowsOf, parseTransitionRow } from './postgres-rows.ts';
import { claimStatement, commitStatement } from './postgres-statements.ts';

/** Number of transitions that are read together with the newest one. Most chains are not longer. */
const NEWEST = 4;

const TRANSITION = 'SELECT body::text, prev_hash, hash FROM transition';
/** The columns of a chain and of its details, which one statement reads, so that both are of one moment. */
const DETAILS = 'UNION ALL SELECT NULL, NULL, NULL, NULL, part, salt, details FROM details WHERE chain_id = $1';
const TRANSITIONS = `SELECT sequence, body::text, prev_hash, hash, NULL AS part, NULL::bytea AS salt, NULL::json AS details
  FROM transition WHERE chain_id = $1`;

/** Stores payments with two durable writes, each one statement. */
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
    return rounds<ClaimOutcome>('this key', async () => {
      const written = await writeIf(this.tools, statement);
      if (written.kind === 'applied') return { kind: 'claimed' };
      if (written.kind === 'taken') {
        if (written.constraint !== 'reference_pkey' || reference === undefined) return { kind: 'transition_exists' };
        return { kind: 'reference_taken', paymentId: await this.#holderOf(reference.name) };
      }
      const found = await this.readRecord(record.operationId);
      // The record was deleted between the two statements.
      if (found === undefined) return 'again';
      // If the record is this call's own, its first attempt was applied and the response was lost.
      return found.owner === record.owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
    });
  }

  /**
   * Writes the stored response and the outcome only while the owner holds the claim. See the timelines in
   * `executeOnce`.
   */
  async commit({ record, expects, transition, inquiry, ...queued }: Commit): Promise<CommitOutcome> {
    const statement = commitStatement(rowOfCompleted(record), expects, {
      ...queued,
      transitions: transition === undefined ? [] : [transition],
      inquiries: inquiry === undefined ? [] : [inquiry],
      nowMs: this.tools.pacing.clock.nowMs(),
    });
    const written = await writeIf(this.tools, statement);
    if (written.kind === 'applied') return { kind: 'committed' };
    if (written.kind === 'taken') return { kind: 'transition_exists' };
    const existing = await this.readRecord(record.operationId);
    if (existing?.status === 'COMPLETED' && existing.owner === record.owner) return { kind: 'committed' };
    return { kind: 'fenced', record: existing };
  }

  async readPayment(paymentId: PaymentId): Promise<PaymentHistory | undefined> {
    const transitions = await this.#read({
      name: 'payment-read',
      text: `(${TRANSITIONS}
          AND (sequence = 1 OR sequence = (SELECT max(sequence) FROM transition WHERE chain_id = $1))) ${DETAILS}`,
      values: [paymentId],
    });
    const [first] = transitions;
    return first === undefined ? undefined : { first, newest: transitions.at(-1) ?? first };
  }

  async readEnds(paymentId: PaymentId, operationId: OperationId): Promise<PaymentEnds | undefined> {
    const read = async (name: string, text: string, value: unknown): Promise<readonly Transition[]> => {
      const statement = { name, text: `${TRANSITION} WHERE chain_id = $1 ${text}`, values: [paymentId, value] };
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
    return withDetails(detailsRowsOf(rows), first);
  }

  async listTransitions(
    paymentId: PaymentId,
    { afterSequence, limit }: TransitionPage,
  ): Promise<readonly Transition[]> {
    return this.#read({
      name: 'transition-list',
      text: `(${TRANSITIONS} AND sequence > $2 ORDER BY sequence LIMIT $3) ${DETAILS}`,
      values: [paymentId, afterSequence, limit],
    });
  }

  async #read(statement: Statement): Promise<readonly Transition[]> {
    const { transitions = [], details = [] } = Object.groupBy(await readRows(this.tools, statement), ({ sequence }) =>
      sequence === null ? 'details' : 'transitions',
    );
    // The order of the parts of a union is not defined.
    const inOrder = transitions.map(parseTransitionRow).toSorted((left, right) => left.sequence - right.sequence);
    return withAllDetails(detailsRowsOf(details), inOrder);
  }

  async #holderOf({ tenantId, mode, reference }: ReferenceName): Promise<PaymentId> {
    const [row] = await readRows(this.tools, {
      name: 'reference-read',
      text: 'SELECT payment_id FROM reference WHERE tenant_id = $1 AND mode = $2 AND reference = $3',
      values: [tenantId, mode, reference],
    });
    invariant(row !== undefined, 'the row of a reference in use is missing, although reference rows are never deleted');
    return row['payment_id'] as PaymentId;
  }
}
