import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import * as z from 'zod';
import { RegistryRow } from '../../kernel/contract/rows.ts';
import { KeyAttribute, RegistryTable } from '../../kernel/contract/tables.ts';
import type { Pacing } from '../../kernel/platform/attempts.ts';
import type { Item } from '../../kernel/platform/items.ts';
import type { ChainId } from '../../payments/ids.ts';
import type { ViewRow } from '../domain/views.ts';
import type { ViewStore } from '../use/view-store.ts';
import { queryRange } from './query-range.ts';

const { name: index, partitionKey, sortKey } = RegistryTable.emailIndex;
const entry = z.object({ [KeyAttribute.partition]: z.string(), [partitionKey]: z.string(), [sortKey]: z.string() });

/**
 * Reads an index of the details rows in the Registry. The index is eventually consistent. An erasure removes a row
 * together with its index entry.
 */
export function emailIndex(
  client: DynamoDBDocumentClient,
  registryTable: string,
  pacing: Pacing,
): Pick<ViewStore, 'range'> {
  const source = { client, pacing, table: registryTable, index, partitionKey, sortKey, parse: parseEntry };
  return { range: (range) => queryRange(source, range) };
}

function parseEntry(item: Item): ViewRow {
  const { pk, emailOf, place } = entry.parse(item);
  const chainId = pk.slice(RegistryRow.details.length) as ChainId;
  return { partition: emailOf, sort: place, chainId, sequence: 0, body: '{}' };
}
