import { activityRowFor } from '../../activity/store/postgres-activity.ts';
import { defined } from '../../kernel/defined.ts';
import type { OperationId, PaymentId } from '../../kernel/ids.ts';
import type { Due } from '../../kernel/looks.ts';
import { failOnUnreadable, type Unreadable } from '../../kernel/platform/queue-rows.ts';
import type { EffectRecord } from '../../once/domain/idempotency.ts';
import { parseEffectRow, rowOfEffect, selectRecord } from '../../once/store/postgres-record-rows.ts';
import { type PostgresTools, readRows, writeIf, writeRows } from '../../postgres/attempts.ts';
import type { Statement } from '../../postgres/database.ts';
import { timestamp } from '../../postgres/values.ts';
import type { Transition } from '../domain/transition.ts';
import type { Effect, EffectOutcome, EffectStore, OrphanedCallback } from '../use/effect-store.ts';
import type { PaymentStore, TransitionPage } from '../use/payment-store.ts';
import type { OrphanStore } from '../use/unfinished-work.ts';
import { type DueTools, readDue } from './postgres-due.ts';
import { parseOrphanRow, rowsOfTransitions } from './postgres-rows.ts';
import { dismissal, type EffectRows, effectStatement, queueOrNoteStatement } from './postgres-statements.ts';

/** Each effect is one durable write. */
export class PostgresEffects implements EffectStore, OrphanStore {
  readonly #tools: DueTools;
  readonly #transitions: Pick<PaymentStore, 'listTransitions'>;

  constructor(
    tools: PostgresTools,
    transitions: Pick<PaymentStore, 'listTransitions'>,
    unreadable: Unreadable = failOnUnreadable,
  ) {
    this.#tools = { ...tools, unreadable };
    this.#transitions = transitions;
  }

  /**
   * Writes an effect and its record without a claim. If two deliveries of one callback race, the second waits for the
   * transaction of the first, writes nothing, and finds the record of the first. If the first transaction is rolled
   * back, the second writes.
   *
   *   A ── read ── decide T3 ── record ✓ T3 ✓ ── commit
   *   B ──── read ── decide T3 ──── record: waits ────── recorded before
   *
   * If two callbacks report the same fact at the same time, the second statement fails, because its position in the
   * chain is taken. The second callback then rereads the chain and has nothing to add.
   *
   *   A ── read ── decide T3 ── record A ✓ T3 ✓
   *   B ──── read ── decide T3 ──── T3 ✗ ── read ── record B ✓
   */
  async recordEffect(effect: Effect): Promise<EffectOutcome> {
    const nowMs = this.#tools.pacing.clock.nowMs();
    const outcome = await this.#record(effect, nowMs);
    const [first] = effect.transitions;
    if (outcome.kind === 'recorded' && first !== undefined) await this.#tools.committed?.(first.payment.id, nowMs);
    return outcome;
  }

  async #record(effect: Effect, nowMs: number): Promise<EffectOutcome> {
    const { record, ...others } = effect;
    const written = await this.write(rowOfEffect(record), others, nowMs);
    if (written === 'applied') return { kind: 'recorded' };
    if (written === 'taken') return { kind: 'transition_exists' };
    const found = await this.readEffect(record.operationId);
    // Either the effect's condition did not hold, or the record was deleted between the write and this read.
    if (found === undefined) return { kind: 'transition_exists' };
    // If this call wrote the record, its earlier attempt was applied, and only the response was lost.
    return found.owner === record.owner ? { kind: 'recorded' } : { kind: 'recorded_before', record: found };
  }

  protected async write(record: object, effect: Omit<Effect, 'record'>, nowMs: number) {
    const { activity, transitions, ...others } = effect;
    const rows = rowsOfTransitions(transitions);
    const entry = activity === undefined ? undefined : await activityRowFor(this.#tools, activity);
    const effectRows = { ...others, rows, nowMs, ...defined({ activity: entry }) };
    return (await writeIf(this.#tools, this.statementOf(record, effectRows, effect))).kind;
  }

  protected statementOf(record: object, rows: EffectRows, { dismissed }: Omit<Effect, 'record'>): Statement {
    return effectStatement(record, rows, dismissed === undefined ? undefined : dismissal(dismissed));
  }

  async readEffect(operationId: OperationId): Promise<EffectRecord | undefined> {
    const [row] = await readRows(this.#tools, selectRecord(operationId));
    return row === undefined ? undefined : parseEffectRow(row);
  }

  async queueOrNote(entries: Parameters<EffectStore['queueOrNote']>[0]): Promise<void> {
    await writeRows(this.#tools, queueOrNoteStatement(entries));
  }

  async listTransitions(paymentId: PaymentId, page: TransitionPage): Promise<readonly Transition[]> {
    return this.#transitions.listTransitions(paymentId, page);
  }

  async waiting(kind: 'own' | 'foreign', { untilMs, limit }: Due): Promise<readonly OrphanedCallback[]> {
    return readDue(this.#tools, {
      select: {
        name: 'orphan-waiting',
        text: `SELECT operation_id, received_at, reason, is_foreign, event, due_at FROM orphan
          WHERE due_at <= $1 AND coalesce(is_foreign, false) = $2 ORDER BY due_at LIMIT $3`,
        values: [timestamp(untilMs), kind === 'foreign', limit],
      },
      parse: parseOrphanRow,
      postpone: ({ operation_id, due_at }, dueAt) => ({
        name: 'orphan-postpone-unreadable',
        text: 'UPDATE orphan SET due_at = $3 WHERE operation_id = $1 AND due_at = $2',
        values: [operation_id, timestamp(Number(due_at)), dueAt],
      }),
    });
  }

  async postponeOrphan({ operationId, isForeign = false }: OrphanedCallback, dueAtMs: number): Promise<void> {
    await writeRows(this.#tools, {
      name: 'orphan-postpone',
      text: 'UPDATE orphan SET due_at = $2, is_foreign = $3 WHERE operation_id = $1 AND due_at IS NOT NULL',
      values: [operationId, timestamp(dueAtMs), isForeign],
    });
  }

  /** Has no effect on an orphan that was adopted since the read. */
  async giveUp({ operationId, isForeign = false }: OrphanedCallback): Promise<void> {
    await writeRows(this.#tools, {
      name: 'orphan-give-up',
      text: 'UPDATE orphan SET due_at = NULL, is_foreign = $2 WHERE operation_id = $1',
      values: [operationId, isForeign],
    });
  }

  /** Deletes an orphan whose effect is recorded in another database. */
  async removeOrphan({ operationId }: OrphanedCallback): Promise<void> {
    await writeRows(this.#tools, {
      name: 'orphan-remove',
      text: 'DELETE FROM orphan WHERE operation_id = $1',
      values: [operationId],
    });
  }
}
