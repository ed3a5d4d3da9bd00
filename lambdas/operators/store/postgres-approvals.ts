import { invariant } from '../../kernel/invariant.ts';
import { parseRecordRow, rowOfOpen, selectRecord } from '../../once/store/postgres-record-rows.ts';
import { detailsRowsOf } from '../../payments/store/postgres-chains.ts';
import { PostgresEffects } from '../../payments/store/postgres-effects.ts';
import { bodyItem, bodyText, rowOfDetails } from '../../payments/store/postgres-rows.ts';
import { type EffectRows, effectStatement, IF_RECORDED } from '../../payments/store/postgres-statements.ts';
import type { Effect } from '../../payments/use/effect-store.ts';
import type { ClaimOutcome, PaymentStore } from '../../payments/use/payment-store.ts';
import { type PostgresTools, readRows } from '../../postgres/attempts.ts';
import type { Row, Statement } from '../../postgres/database.ts';
import { timestamp } from '../../postgres/values.ts';
import { type Approval, type ApprovalEnd, approvalTime } from '../domain/approval.ts';
import type { ApprovalChange, ApprovingStore, OperatorClaim } from '../use/approving-store.ts';
import { parseApproval, storedApproval, withReason } from './approval-items.ts';

/** No transition contains an approval's reason. */
const NO_TRANSITION = 0;

/** The first part inserts the approvals in `$10`, the second inserts the verdicts in `$11`. */
const APPROVAL_PARTS = `asked AS (
  INSERT INTO approval (approval_id, created_at, tenant_id, mode, payment_id, body)
  SELECT approval_id, created_at, tenant_id, mode, payment_id, body::json
  FROM json_to_recordset($10::json) AS given (approval_id text, created_at timestamptz, tenant_id text, mode text,
    payment_id text, body text)
  ${IF_RECORDED}
), ended AS (
  INSERT INTO approval_end (approval_id, verdict, ended_at, body)
  SELECT approval_id, verdict, ended_at, body::json
  FROM json_to_recordset($11::json) AS given (approval_id text, verdict text, ended_at timestamptz, body text)
  ${IF_RECORDED}
)`;

/**
 * Condition that the operation in `$12`, if any, has no record. A statement does not see rows that were committed after
 * it began. If two concurrent statements thus both find no record, the second fails on the activity log, because both
 * insert an entry at the same position.
 */
const IS_ABSENT = 'WHERE NOT EXISTS (SELECT 1 FROM idempotency WHERE operation_id = $12)';

/**
 * Condition of an approved effect: the approval's reason, which the effect copies, still exists under the keys `$13`
 * and `$14`. The reason is locked, so that a concurrent erasure waits, and then also erases the copy:
 *
 *   approval ── lock reason ── copy ── commit ✓
 *   erasure  ──────── delete reason: waits ──── ✓ ── delete copy ✓ ── nothing left
 */
const REASON_EXISTS = 'EXISTS (SELECT 1 FROM details WHERE chain_id = $13 AND part = $14 FOR UPDATE)';

/** One statement, so that approval, end and reason are consistent. */
const APPROVALS = `SELECT approval.body::text, approval_end.body::text AS ended, details.part, details.salt, details.details
  FROM approval
  LEFT JOIN approval_end ON approval_end.approval_id = approval.approval_id
  LEFT JOIN details ON details.chain_id = approval.payment_id AND details.part = approval.approval_id`;

/**
 * Stores the effects of operators' requests. If a request must wait for an approval, stores the approval instead.
 *
 * Of two concurrent verdicts, the second violates the primary key of `approval_end`, which cancels its effect:
 *
 *   A ── read ── approve: record ✓ transition ✓ end ✓
 *   B ──── read ── reject: record, end ✗
 */
export class PostgresApprovals extends PostgresEffects implements ApprovingStore {
  readonly #tools: PostgresTools;

  constructor(tools: PostgresTools, transitions: Pick<PaymentStore, 'listTransitions'>) {
    super(tools, transitions);
    this.#tools = tools;
  }

  async readApproval(id: string): Promise<Approval | undefined> {
    const [row] = await readRows(this.#tools, {
      name: 'approval-read',
      text: `${APPROVALS} WHERE approval.approval_id = $1`,
      values: [id],
    });
    return row === undefined ? undefined : parseApprovalRow(row);
  }

  async listApprovals({ after = '', limit }: { readonly after?: string; readonly limit: number }) {
    const before = approvalTime(after) ?? Number.MAX_SAFE_INTEGER;
    const rows = await readRows(this.#tools, {
      name: 'approval-list',
      text: `${APPROVALS} WHERE (approval.created_at, approval.approval_id) < ($1, $2)
        ORDER BY approval.created_at DESC, approval.approval_id DESC LIMIT $3`,
      values: [timestamp(before), after, limit],
    });
    return Promise.all(rows.map(parseApprovalRow));
  }

  /** The claim is an effect whose record is open. */
  async claimChange({ record, pending, activity, ...change }: OperatorClaim): Promise<ClaimOutcome> {
    const { operationId, owner } = record;
    const nowMs = this.#tools.pacing.clock.nowMs();
    const effect = { transitions: [pending], activity, ...change };
    const kind = await this.write(rowOfOpen(record), effect, nowMs);
    if (kind === 'applied') await this.#tools.committed?.(pending.payment.id, nowMs);
    if (kind === 'applied') return { kind: 'claimed' };
    const [row] = kind === 'taken' ? [] : await readRows(this.#tools, selectRecord(operationId));
    if (row === undefined) return { kind: 'transition_exists' };
    const found = parseRecordRow(row);
    // If this call owns the record, an earlier attempt of this call was applied, and its response was lost.
    return found.owner === owner ? { kind: 'claimed' } : { kind: 'record_exists', record: found };
  }

  protected override statementOf(
    record: object,
    rows: EffectRows,
    effect: Omit<Effect, 'record'> & ApprovalChange,
  ): Statement {
    const { approval, ended, absent } = effect;
    if (approval === undefined && ended === undefined && absent === undefined)
      return super.statementOf(record, rows, effect);
    const asked = approval === undefined ? undefined : askedRows(approval);
    const copied = ended?.end.verdict === 'approved' ? ended.approval : undefined;
    const details = asked === undefined ? rows.rows.details : [...rows.rows.details, asked.reason];
    return effectStatement(
      record,
      { ...rows, rows: { ...rows.rows, details } },
      {
        name: copied === undefined ? 'effect-approval' : 'effect-approved',
        text: APPROVAL_PARTS,
        values: [
          JSON.stringify(asked === undefined ? [] : [asked.approval]),
          JSON.stringify(ended === undefined ? [] : [endRow({ id: ended.approval.id, end: ended.end })]),
          absent ?? null,
          ...(copied === undefined ? [] : [copied.paymentId, copied.id]),
        ],
        condition: copied === undefined ? IS_ABSENT : `${IS_ABSENT} AND ${REASON_EXISTS}`,
      },
    );
  }
}

function askedRows(approval: Approval) {
  const { row, ...reason } = storedApproval(approval);
  return { approval: approvalRow(row), reason: rowOfDetails(row.paymentId, NO_TRANSITION, reason) };
}

export function approvalRow(row: Omit<Approval, 'reason' | 'salt' | 'end'>) {
  invariant(approvalTime(row.id) !== undefined, `${row.id} is not the id of an approval`);
  return {
    approval_id: row.id,
    created_at: timestamp(row.createdAtMs),
    tenant_id: row.tenantId,
    mode: row.mode,
    payment_id: row.paymentId,
    body: bodyText({ ...row }),
  };
}

export function endRow({ id, end }: { readonly id: string; readonly end: ApprovalEnd }) {
  return {
    approval_id: id,
    verdict: end.verdict,
    ended_at: timestamp(end.atMs),
    body: JSON.stringify(end),
  };
}

function parseApprovalRow(row: Row): Promise<Approval> {
  const { body, ended, part } = row;
  const end = typeof ended === 'string' ? { end: JSON.parse(ended) as unknown } : {};
  const approval = parseApproval({ ...bodyItem(String(body)), ...end });
  return withReason(part === null ? new Map() : detailsRowsOf([row]), approval);
}
