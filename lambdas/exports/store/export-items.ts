import * as z from 'zod';
import { RegistryRow, SortKey } from '../../kernel/contract/rows.ts';
import { KeyAttribute } from '../../kernel/contract/tables.ts';
import type { Fingerprint } from '../../kernel/fingerprint.ts';
import { tenantId } from '../../kernel/ids.ts';
import { timeSortKey } from '../../kernel/places.ts';
import { type Item, itemSchema } from '../../kernel/platform/items.ts';
import type { ViewOwner } from '../../views/domain/lists.ts';
import {
  type DataExport,
  EXPORT_KINDS,
  type ExportFilters,
  type ExportKey,
  type FilePart,
} from '../domain/data-export.ts';

/*
 * Rows of exports in the Registry:
 *
 * | row                         | partition        | sort key       |
 * |-----------------------------|------------------|----------------|
 * | an export                   | `EXPORT#owner`   | time and id    |
 * | the location of an export   | `EXPORT#owner`   | `ID#id`        |
 * | unfinished exports of owner | `EXPORTS_OPEN`   | owner          |
 */

const owner = { tenantId: z.string().transform(tenantId), mode: z.enum(['test', 'live']) };

const exportItem = itemSchema<DataExport>()({
  ...owner,
  id: z.string(),
  revision: z.int().min(1),
  kind: z.enum(EXPORT_KINDS),
  from: z.string(),
  to: z.string(),
  filters: itemSchema<ExportFilters>()({
    currency: z.string().exactOptional(),
    account: z.string().exactOptional(),
    status: z.string().exactOptional(),
    type: z.string().exactOptional(),
    amountFromMinor: z.int().exactOptional(),
    amountToMinor: z.int().exactOptional(),
  }),
  fromMs: z.int(),
  untilMs: z.int(),
  requestedBy: z.string(),
  fingerprint: itemSchema<Fingerprint>()({ version: z.int(), sha256: z.instanceof(Uint8Array) }),
  createdAtMs: z.int(),
  status: z.enum(['pending', 'running', 'completed', 'failed']),
  owner: z.string().exactOptional(),
  leaseExpiresAtMs: z.int(),
  tries: z.int(),
  uploadId: z.string().exactOptional(),
  parts: z.array(itemSchema<FilePart>()({ number: z.int(), etag: z.string() })),
  nextPart: z.int(),
  rest: z.int().exactOptional(),
  cursor: z.string().exactOptional(),
  isRead: z.boolean(),
  rows: z.int(),
  readRows: z.int(),
  bytes: z.int(),
  endedAtMs: z.int().exactOptional(),
  failure: z.enum(['not_readable', 'too_large', 'upload_lost']).exactOptional(),
});

const openItem = z.object({ ...owner, ids: z.array(z.string()) });
const placeItem = z.object({ createdAtMs: z.int() });

/** The row is absent when there are none. */
export interface OpenExports extends ViewOwner {
  readonly ids: readonly string[];
}

export function exportsPartition({ tenantId: tenant, mode }: ViewOwner): string {
  return `${RegistryRow.export}${tenant}#${mode}`;
}

export function exportPlace({ createdAtMs, id }: Pick<DataExport, 'createdAtMs' | 'id'>): string {
  return timeSortKey(createdAtMs, id);
}

export function exportRow(asked: DataExport): Item {
  return { [KeyAttribute.partition]: exportsPartition(asked), [KeyAttribute.sort]: exportPlace(asked), ...asked };
}

export function parseExport(item: Item): DataExport {
  return exportItem.parse(item);
}

export function idRowKey(key: ExportKey): Item {
  return { [KeyAttribute.partition]: exportsPartition(key), [KeyAttribute.sort]: `${SortKey.exportId}${key.id}` };
}

export function parseIdRow(item: Item): Pick<DataExport, 'createdAtMs'> {
  return placeItem.parse(item);
}

export function openKey({ tenantId: tenant, mode }: ViewOwner): Item {
  return { [KeyAttribute.partition]: RegistryRow.openExports, [KeyAttribute.sort]: `${tenant}#${mode}` };
}

export function openRow(open: OpenExports): Item {
  return { ...openKey(open), ...open };
}

export function parseOpen(item: Item): OpenExports {
  return openItem.parse(item);
}
