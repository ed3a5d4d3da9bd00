import { COMPLETE_RECORD, INSERT_RECORD, insertRecordIf } from '../../once/store/postgres-record-rows.ts';
import type { Statement } from '../../postgres/database.ts';
import { timestamp } from '../../postgres/values.ts';
import type { OrphanedCallback } from '../use/effect-store.ts';
import type { Claim, ReferenceName } from '../use/payment-store.ts';
import { type ChainRows, type Queued, rowOfOrphan, rowsOfTransitions, workRowsOf } from './postgres-rows.ts';

/**
 * Each durable write of a payment is one statement, and therefore one transaction and one round trip. Its first part
 * (common table expression), `record`, writes the idempotency record and returns a row, or returns none if another
 * owner was first. All other parts write only if `record` returned a row. In statements without an idempotency record,
 * `record` writes nothing and always returns a row. A part that violates a constraint cancels the whole statement.
 */

export const IF_RECORDED = 'WHERE EXISTS (SELECT 1 FROM record)';

const TRANSITIONS = `json_to_recordset($2::json) AS given (chain_id text, sequence integer, type text,
  occurred_at timestamptz, tenant_id text, mode text, status text, amount_minor bigint, currency text, reference text,
  body text, prev_hash bytea, hash bytea, shard integer, trace text)`;

const POSTING_COLUMNS =
  'chain_id, sequence, leg, tenant_id, mode, account, direction, amount_minor, currency, occurred_at';

const WORK_COLUMNS = 'kind, chain_id, subject, concerns, queue, due_at, since, reason, version, undecidable';
const workRows = (
  parameter: string,
): string => `json_to_recordset(${parameter}::json) AS given (kind text, chain_id text,
  subject text, concerns text, queue text, due_at timestamptz, since timestamptz, reason text, version bigint,
  undecidable boolean)`;

/** Writes the transitions in $2 and the postings in $3. Unbalanced postings violate `transition_balanced`. */
const TRANSITION_WRITES = `
posting_rows AS (
  SELECT * FROM json_to_recordset($3::json) AS given (chain_id text, sequence integer, leg integer, tenant_id text,
    mode text, account text, direction text, amount_minor bigint, currency text, occurred_at timestamptz)
  ${IF_RECORDED}
), appended AS (
  INSERT INTO transition (chain_id, sequence, type, occurred_at, tenant_id, mode, status, amount_minor, currency,
    reference, imbalance_minor, body, prev_hash, hash)
  SELECT given.chain_id, given.sequence, given.type, given.occurred_at, given.tenant_id, given.mode, given.status,
    given.amount_minor, given.currency, given.reference, (
      SELECT coalesce(sum(abs(net_minor)), 0) FROM (
        SELECT sum(CASE direction WHEN 'debit' THEN amount_minor ELSE -amount_minor END) AS net_minor
        FROM posting_rows
        WHERE posting_rows.chain_id = given.chain_id AND posting_rows.sequence = given.sequence
        GROUP BY posting_rows.currency
      ) AS nets
    ), given.body::json, given.prev_hash, given.hash
  FROM ${TRANSITIONS} ${IF_RECORDED}
  RETURNING chain_id
), posted AS (
  INSERT INTO posting (${POSTING_COLUMNS}) SELECT ${POSTING_COLUMNS} FROM posting_rows
)`;

function detailsWrites(parameter: string): string {
  return `noted AS (
  INSERT INTO details (chain_id, part, salt, details, email_hash, sequence)
  SELECT chain_id, part, salt, details::json, email_hash, sequence
  FROM json_to_recordset(${parameter}::json) AS given (chain_id text, part text, salt bytea, details text,
    email_hash text, sequence integer)
  ${IF_RECORDED}
  ON CONFLICT (chain_id, part) DO UPDATE SET salt = EXCLUDED.salt, details = EXCLUDED.details,
    email_hash = EXCLUDED.email_hash, sequence = EXCLUDED.sequence
)`;
}

/**
 * Writes transitions, postings, personal data, queue entries and the outbox:
 *
 *   $2 transitions   $3 postings   $4 details   $5 work   $6 time of the transaction
 *
 * Details and queue entries replace older rows. This is safe, because only one writer can take a position in the chain.
 */
const WRITES = `${TRANSITION_WRITES}, ${detailsWrites('$4')}, queued AS (
  INSERT INTO work (${WORK_COLUMNS}) SELECT ${WORK_COLUMNS} FROM ${workRows('$5')} ${IF_RECORDED}
  ON CONFLICT (kind, chain_id, subject) DO UPDATE SET concerns = EXCLUDED.concerns, queue = EXCLUDED.queue,
    due_at = EXCLUDED.due_at, since = EXCLUDED.since, reason = EXCLUDED.reason, version = EXCLUDED.version,
    undecidable = EXCLUDED.undecidable
), announced AS (
  INSERT INTO outbox (chain_id, kind, sequence, shard, created_at, trace)
  SELECT chain_id, 'transition', sequence, shard, $6::timestamptz, trace FROM ${TRANSITIONS} ${IF_RECORDED}
)`;

interface Written extends Queued {
  readonly rows: ChainRows;
  readonly nowMs: number;
}

function valuesOf(record: object, { rows, nowMs, ...queued }: Written): readonly string[] {
  return [
    JSON.stringify(record),
    JSON.stringify(rows.transitions),
    JSON.stringify(rows.postings),
    JSON.stringify(rows.details),
    JSON.stringify(workRowsOf(queued)),
    timestamp(nowMs),
  ];
}

const REFERENCE = `json_to_recordset($7::json) AS given (tenant_id text, mode text, reference text, payment_id text)`;

/**
 * The claim takes the reference if it is free, or if the payment in $8 still holds it. Otherwise the second insert
 * violates `reference_pkey`, which cancels the claim.
 */
const CLAIM = `WITH record AS (${INSERT_RECORD}), ${WRITES}, taken AS (
  INSERT INTO reference (tenant_id, mode, reference, payment_id)
  SELECT tenant_id, mode, reference, payment_id FROM ${REFERENCE} WHERE EXISTS (SELECT 1 FROM appended)
  ON CONFLICT (tenant_id, mode, reference) DO UPDATE SET payment_id = EXCLUDED.payment_id
  WHERE reference.payment_id = $8
  RETURNING payment_id
), refused AS (
  INSERT INTO reference (tenant_id, mode, reference, payment_id)
  SELECT tenant_id, mode, reference, payment_id FROM ${REFERENCE}
  WHERE EXISTS (SELECT 1 FROM appended) AND NOT EXISTS (SELECT 1 FROM taken)
)
SELECT operation_id FROM record`;

/** Returns a row if the record is new. */
export function claimStatement(record: object, { pending, reference }: Claim, nowMs: number): Statement {
  const rows = rowsOfTransitions(pending === undefined ? [] : [pending]);
  const named =
    reference === undefined || pending === undefined
      ? []
      : [
          {
            tenant_id: reference.name.tenantId,
            mode: reference.name.mode,
            reference: reference.name.reference,
            payment_id: pending.payment.id,
          },
        ];
  return {
    name: 'payment-claim',
    text: CLAIM,
    values: [...valuesOf(record, { rows, nowMs }), JSON.stringify(named), reference?.replaces ?? null],
  };
}

export function selectReference({ tenantId, mode, reference }: ReferenceName): Statement {
  return {
    name: 'reference-read',
    text: 'SELECT payment_id FROM reference WHERE tenant_id = $1 AND mode = $2 AND reference = $3',
    values: [tenantId, mode, reference],
  };
}

const COMPLETE = `WITH record AS (${COMPLETE_RECORD}), ${WRITES} SELECT operation_id FROM record`;
const INSERT = `WITH record AS (${INSERT_RECORD}), ${WRITES} SELECT operation_id FROM record`;

/**
 * @param expects `open`: the owner must still hold the claim. `absent`: there must be no record (claim of an order, or
 * commit after the record was lost). If the expectation is wrong, the statement writes nothing and returns no row
 */
export function recordStatement(record: object, expects: 'open' | 'absent', written: Written): Statement {
  const values = valuesOf(record, written);
  return expects === 'open'
    ? { name: 'record-complete', text: COMPLETE, values }
    : { name: 'record-insert', text: INSERT, values };
}

const APPEND = `WITH record AS (SELECT $1::json AS appended), ${WRITES} SELECT 1 AS appended FROM record`;

export function appendStatement(written: Written): Statement {
  return { name: 'chain-append', text: APPEND, values: valuesOf({}, written) };
}

const IMPORT = `WITH record AS (SELECT $1::json AS imported), ${TRANSITION_WRITES} SELECT 1 AS imported FROM record`;

/** Adds nothing to the outbox. */
export function importStatement(rows: Pick<ChainRows, 'transitions' | 'postings'>): Statement {
  const values = ['{}', JSON.stringify(rows.transitions), JSON.stringify(rows.postings)];
  return { name: 'chain-import', text: IMPORT, values };
}

export function detailsStatement(chainId: string, details: ChainRows['details']): Statement {
  return {
    name: 'details-import',
    text: `WITH record AS (SELECT $1::text AS chain_id), ${detailsWrites('$2')}
      DELETE FROM details USING record WHERE details.chain_id = record.chain_id
        AND details.part NOT IN (SELECT part FROM json_to_recordset($2::json) AS given (part text))`,
    values: [chainId, JSON.stringify(details)],
  };
}

const effectIf = (condition: string): string => `record AS (${insertRecordIf(condition)}), ${WRITES}, orphaned AS (
  INSERT INTO orphan (operation_id, received_at, reason, is_foreign, due_at, event)
  SELECT operation_id, received_at, reason, is_foreign, due_at, event::json
  FROM json_to_recordset($7::json) AS given (operation_id text, received_at timestamptz, reason text,
    is_foreign boolean, due_at timestamptz, event text)
  ${IF_RECORDED}
  ON CONFLICT (operation_id) DO UPDATE SET received_at = EXCLUDED.received_at, reason = EXCLUDED.reason,
    is_foreign = EXCLUDED.is_foreign, due_at = EXCLUDED.due_at, event = EXCLUDED.event
), adopted AS (
  DELETE FROM orphan ${IF_RECORDED} AND orphan.operation_id = $8
), logged AS (
  INSERT INTO activity (chain, sequence, occurred_at, action, body, prev_hash, hash)
  SELECT chain, sequence, occurred_at, action, body::json, prev_hash, hash
  FROM json_to_recordset($9::json) AS given (chain text, sequence integer, occurred_at timestamptz, action text,
    body text, prev_hash bytea, hash bytea)
  ${IF_RECORDED}
)`;

export interface EffectRows extends Written {
  readonly orphan?: OrphanedCallback;
  readonly adopted?: OrphanedCallback;
  readonly activity?: object;
}

/** Additional parts of an effect's statement. They use {@link IF_RECORDED} to write only if the effect is written. */
interface EffectParts {
  readonly name: string;
  /** Their parameters begin at `$10`. */
  readonly text: string;
  /** SQL condition, `WHERE …`. If it does not hold, nothing of the effect is written. @default none */
  readonly condition?: string;
  readonly values: readonly unknown[];
}

/** Returns a row if the record is new and the condition holds. */
export function effectStatement(
  record: object,
  { orphan, adopted, activity, ...written }: EffectRows,
  parts?: EffectParts,
): Statement {
  return {
    name: parts?.name ?? 'effect-record',
    text: `WITH ${effectIf(parts?.condition ?? '')}${parts === undefined ? '' : `, ${parts.text}`} SELECT operation_id FROM record`,
    values: [
      ...valuesOf(record, written),
      JSON.stringify(orphan === undefined ? [] : [rowOfOrphan(orphan)]),
      adopted?.operationId ?? null,
      JSON.stringify(activity === undefined ? [] : [activity]),
      ...(parts?.values ?? []),
    ],
  };
}

/**
 * Returns the parts that remove a given-up orphan. The condition locks the orphan: the second of two concurrent
 * statements waits, and then writes nothing.
 */
export function dismissal({ operationId }: OrphanedCallback): EffectParts {
  return {
    name: 'effect-dismissal',
    text: `dismissed AS (DELETE FROM orphan ${IF_RECORDED} AND orphan.operation_id = $10)`,
    condition:
      'WHERE EXISTS (SELECT 1 FROM (SELECT due_at FROM orphan WHERE operation_id = $10 FOR UPDATE) kept WHERE due_at IS NULL)',
    values: [operationId],
  };
}

export function queueIfAbsentStatement(queued: Queued): Statement {
  return {
    name: 'work-queue-if-absent',
    text: `INSERT INTO work (${WORK_COLUMNS}) SELECT ${WORK_COLUMNS} FROM ${workRows('$1')}
      ON CONFLICT (kind, chain_id, subject) DO NOTHING
      RETURNING kind`,
    values: [JSON.stringify(workRowsOf(queued))],
  };
}

export function queueOrNoteStatement(queued: Queued): Statement {
  return {
    name: 'work-queue-or-note',
    text: `INSERT INTO work (${WORK_COLUMNS}) SELECT ${WORK_COLUMNS} FROM ${workRows('$1')}
      ON CONFLICT (kind, chain_id, subject) DO UPDATE SET version = coalesce(work.version, 0) + 1`,
    values: [JSON.stringify(workRowsOf(queued))],
  };
}
