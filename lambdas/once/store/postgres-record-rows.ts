import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { OperationId } from '../../kernel/ids.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { Row, Statement } from '../../postgres/database.ts';
import { byteText, timestamp, valuesOf } from '../../postgres/values.ts';
import type { CompletedRecord, EffectRecord, IdempotencyRecord, OpenRecord } from '../domain/idempotency.ts';
import { callsText, dueAtMs, parseEffectFields, parseRecordFields } from './record-items.ts';

/** The columns, with the types of their values in the JSON parameter of a statement. */
export const COLUMNS_OF_RECORD = {
  operation_id: 'text',
  payment_id: 'text',
  status: 'text',
  owner: 'text',
  fingerprint_version: 'integer',
  fingerprint: 'bytea',
  claimed_at: 'timestamptz',
  changed_at: 'timestamptz',
  lease_expires_at: 'timestamptz',
  released: 'boolean',
  undecidable: 'boolean',
  due_at: 'timestamptz',
  recorded_at: 'timestamptz',
  response: 'json',
  response_until: 'timestamptz',
  earlier: 'json',
  calls: 'text',
  expires_at: 'timestamptz',
} as const;

type RecordRow = { readonly [Column in keyof typeof COLUMNS_OF_RECORD]?: string | number | boolean };

const names = Object.keys(COLUMNS_OF_RECORD);
export const RECORD_COLUMNS = names.join(', ');
// A nested document is passed as text within the JSON parameter. Otherwise, PostgreSQL would decode the document's
// escapes, and reject U+0000.
const ROW = `json_to_record($1::json) AS given (${Object.entries(COLUMNS_OF_RECORD)
  .map(([name, type]) => `${name} ${type === 'json' ? 'text' : type}`)
  .join(', ')})`;
const valueOf = ([name, type]: readonly [string, string]): string =>
  type === 'json' ? `given.${name}::json` : `given.${name}`;
const VALUES = Object.entries(COLUMNS_OF_RECORD).map(valueOf).join(', ');

/**
 * Inserts the record in `$1` and returns a row, or returns no row if the operation has a record. If another transaction
 * is writing a record of the same operation, the insert waits for it. Only a new statement can then read that record,
 * because a statement does not see rows that were committed after it began.
 */
export const INSERT_RECORD = insertRecordIf('');

/** If the condition (`WHERE …`) is false, the statement returns no row. */
export function insertRecordIf(condition: string): string {
  return `
  INSERT INTO idempotency (${RECORD_COLUMNS})
  SELECT ${VALUES} FROM ${ROW} ${condition}
  ON CONFLICT (operation_id) DO NOTHING
  RETURNING operation_id`;
}

/** Returns no row if the owner of the record in `$1` does not hold the claim. */
export const COMPLETE_RECORD = `
  UPDATE idempotency AS record
  SET ${Object.entries(COLUMNS_OF_RECORD)
    .map((column) => `${column[0]} = ${valueOf(column)}`)
    .join(', ')}
  FROM ${ROW}
  WHERE record.operation_id = given.operation_id AND record.owner = given.owner AND record.status = 'INPROGRESS'
  RETURNING record.operation_id`;

export function selectRecord(operationId: OperationId): Statement {
  return {
    name: 'record-select',
    text: `SELECT ${RECORD_COLUMNS} FROM idempotency WHERE operation_id = $1`,
    values: [operationId],
  };
}

export function selectDueRecords(untilMs: number, limit: number): Statement {
  return {
    name: 'record-due',
    text: `SELECT ${RECORD_COLUMNS} FROM idempotency WHERE due_at <= $1 ORDER BY due_at LIMIT $2`,
    values: [timestamp(untilMs), limit],
  };
}

function rowOfClaim(record: IdempotencyRecord): RecordRow {
  const { operationId, paymentId, status, owner, fingerprint, claimedAtMs, changedAtMs, earlier } = record;
  return {
    operation_id: operationId,
    payment_id: paymentId,
    status,
    owner,
    ...columnsOf(fingerprint),
    claimed_at: timestamp(claimedAtMs),
    ...(changedAtMs === undefined ? {} : { changed_at: timestamp(changedAtMs) }),
    ...(earlier === undefined ? {} : { earlier: JSON.stringify(earlier) }),
  };
}

function columnsOf({ version, sha256 }: Fingerprint): RecordRow {
  return { fingerprint_version: version, fingerprint: byteText(sha256) };
}

export function rowOfOpen(record: OpenRecord): RecordRow {
  return {
    ...rowOfClaim(record),
    lease_expires_at: timestamp(record.leaseExpiresAtMs),
    released: record.released,
    due_at: timestamp(dueAtMs(record)),
    ...defined({ undecidable: record.undecidable }),
  };
}

export function rowOfCompleted(record: CompletedRecord): RecordRow {
  return {
    ...rowOfClaim(record),
    response: JSON.stringify(record.answer),
    expires_at: timestamp(record.expiresAtSeconds * 1000),
    ...(record.calls === undefined ? {} : { calls: callsText(record.calls) }),
  };
}

export function rowOfEffect(record: EffectRecord): RecordRow {
  const { operationId, paymentId, owner, recordedAtMs, request, expiresAtSeconds } = record;
  return {
    operation_id: operationId,
    status: 'COMPLETED',
    owner,
    recorded_at: timestamp(recordedAtMs),
    ...defined({ payment_id: paymentId }),
    ...(request === undefined ? {} : { ...columnsOf(request.fingerprint), response: JSON.stringify(request.answer) }),
    ...(request?.untilSeconds === undefined ? {} : { response_until: timestamp(request.untilSeconds * 1000) }),
    ...(expiresAtSeconds === undefined ? {} : { expires_at: timestamp(expiresAtSeconds * 1000) }),
  };
}

export function parseRecordRow(row: Row): IdempotencyRecord {
  const values = valuesOf(row);
  return parseRecordFields({
    ...fieldsOf(values),
    fingerprint: fingerprintOf(values),
    ...defined({
      claimedAtMs: values['claimed_at'],
      changedAtMs: values['changed_at'],
      leaseExpiresAtMs: values['lease_expires_at'],
      released: values['released'],
      undecidable: values['undecidable'],
      answer: values['response'],
      earlier: values['earlier'],
      calls: values['calls'],
    }),
  });
}

export function parseEffectRow(row: Row): EffectRecord {
  const values = valuesOf(row);
  const { response, recorded_at: recordedAtMs, response_until: until } = values;
  const request = {
    fingerprint: fingerprintOf(values),
    answer: response,
    ...defined({ untilSeconds: seconds(until) }),
  };
  return parseEffectFields({ ...fieldsOf(values), recordedAtMs, ...(response === undefined ? {} : { request }) });
}

function fieldsOf({ operation_id, payment_id, status, owner, expires_at }: Row): Item {
  return {
    operationId: operation_id,
    status,
    owner,
    ...defined({ paymentId: payment_id, expiresAtSeconds: seconds(expires_at) }),
  };
}

function fingerprintOf({ fingerprint_version: version, fingerprint: sha256 }: Row): Item {
  return { version, sha256 };
}

function seconds(atMs: unknown): number | undefined {
  return typeof atMs === 'number' ? atMs / 1000 : undefined;
}
