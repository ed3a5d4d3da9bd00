import { defined } from '../../kernel/defined.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import type { Mode, TenantId } from '../../kernel/ids.ts';
import { EXPORTS_FOLDER, FILE_DAYS } from '../contract.ts';

export const EXPORT_KINDS = ['entries', 'payments', 'refunds', 'disputes', 'events'] as const;
export type ExportKind = (typeof EXPORT_KINDS)[number];

export interface ExportFilters {
  /** ISO 4217, upper case. */
  readonly currency?: string;
  readonly account?: string;
  readonly status?: string;
  readonly type?: string;
  /** Lower limit of the amount (inclusive), in minor units. The upper limit `amountToMinor` is also inclusive. */
  readonly amountFromMinor?: number;
  readonly amountToMinor?: number;
}

export interface FilePart {
  readonly number: number;
  readonly etag: string;
}

export interface ExportKey {
  readonly tenantId: TenantId;
  readonly mode: Mode;
  readonly id: string;
}

/**
 * Every change increments `revision` and requires the previous revision, so a writer cannot save after another one has
 * taken over.
 */
export interface DataExport extends ExportKey {
  readonly revision: number;
  readonly kind: ExportKind;
  /** The first day, as `YYYY-MM-DD` in UTC. `to` is the last day. */
  readonly from: string;
  readonly to: string;
  readonly filters: ExportFilters;
  /** Inclusive. */
  readonly fromMs: number;
  /** Exclusive: the end of the last day, or the time of the request in whole seconds if that is earlier. */
  readonly untilMs: number;
  /** An API key or an operator. */
  readonly requestedBy: string;
  readonly fingerprint: Fingerprint;
  readonly createdAtMs: number;
  readonly status: 'pending' | 'running' | 'completed' | 'failed';
  readonly owner?: string;
  /** Time until which no other writer may continue, in Unix milliseconds. */
  readonly leaseExpiresAtMs: number;
  /** Number of writers that started since a part or a file of remaining rows was last saved. */
  readonly tries: number;
  readonly uploadId?: string;
  readonly parts: readonly FilePart[];
  /** The number of the next part. Each writer begins at a number that no earlier writer has used. */
  readonly nextPart: number;
  /**
   * Number in the key of the file that stores the rows after the saved parts, if they are too few for a part. Absent or
   * 0 when there is no such file.
   */
  readonly rest?: number;
  /** Position after the last row that is in a saved part or in the file of remaining rows. */
  readonly cursor?: string;
  /** Whether all rows are in saved parts. */
  readonly isRead: boolean;
  /** Number of rows in saved parts and in the file of remaining rows. */
  readonly rows: number;
  readonly readRows: number;
  /** Size of the saved parts, in bytes. */
  readonly bytes: number;
  readonly endedAtMs?: number;
  readonly failure?: 'not_readable' | 'too_large' | 'upload_lost';
}

/**
 * Time within which the writer of a new export must start, in milliseconds. If no writer has started by then, the next
 * read of the export or the next run of the job that resumes exports starts one.
 */
const START_MS = 10_000;

export type RequestedExport = Pick<
  DataExport,
  | keyof ExportKey
  | 'kind'
  | 'from'
  | 'to'
  | 'filters'
  | 'fromMs'
  | 'untilMs'
  | 'requestedBy'
  | 'fingerprint'
  | 'createdAtMs'
>;

/** @param asked the request, or an export in any state */
export function initialExport(asked: RequestedExport): DataExport {
  const { tenantId, mode, id, kind, from, to, filters, fromMs, untilMs, requestedBy, fingerprint, createdAtMs } = asked;
  const request = { kind, from, to, filters, fromMs, untilMs, requestedBy, fingerprint, createdAtMs };
  return {
    tenantId,
    mode,
    id,
    ...request,
    revision: 1,
    status: 'pending',
    leaseExpiresAtMs: createdAtMs + START_MS,
    tries: 0,
    parts: [],
    nextPart: 0,
    isRead: false,
    rows: 0,
    readRows: 0,
    bytes: 0,
  };
}

export function hasEnded({ status }: Pick<DataExport, 'status'>): boolean {
  return status === 'completed' || status === 'failed';
}

export function hasNoWriter(asked: DataExport, nowMs: number): boolean {
  return !hasEnded(asked) && asked.leaseExpiresAtMs <= nowMs;
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** Time for which a pre-signed URL for a file is valid, in seconds. */
export const LINK_SECONDS = 15 * 60;

export function fileEndsAtMs({ endedAtMs }: DataExport): number | undefined {
  return endedAtMs === undefined ? undefined : endedAtMs + FILE_DAYS * DAY_MS;
}

export function fileOf({ tenantId, mode, id }: ExportKey): string {
  return `${EXPORTS_FOLDER}${tenantId}/${mode}/${id}.csv`;
}

export function remainderKey(key: ExportKey, number: number): string {
  return `${fileOf(key)}.${number}`;
}

export function exportObject(asked: DataExport): Record<string, unknown> {
  const { id, kind, from, to, filters, untilMs, status, rows, readRows, bytes, failure, createdAtMs, endedAtMs } =
    asked;
  const { currency, account, status: ofStatus, type, amountFromMinor, amountToMinor } = filters;
  const ends = status === 'completed' ? fileEndsAtMs(asked) : undefined;
  return {
    id,
    object: 'export',
    kind,
    from,
    to,
    filters: {
      ...defined({ currency, account, status: ofStatus, type, amount_from: amountFromMinor, amount_to: amountToMinor }),
    },
    until: seconds(untilMs),
    status,
    rows: hasEnded(asked) ? rows : Math.max(rows, readRows),
    bytes,
    failure: failure ?? null,
    requested_by: asked.requestedBy,
    created: seconds(createdAtMs),
    ended: endedAtMs === undefined ? null : seconds(endedAtMs),
    file_expires: ends === undefined ? null : seconds(ends),
  };
}

function seconds(ms: number): number {
  return Math.floor(ms / 1000);
}
