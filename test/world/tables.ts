/** The production reader must accept each row that a test writes. */

import * as z from 'zod';
import { parseActivity } from '../../lambdas/activity/store/dynamodb-activity.ts';
import { parseKnownDatabase } from '../../lambdas/authority/store/known-database.ts';
import { parseExport, parseIdRow, parseOpen } from '../../lambdas/exports/store/export-items.ts';
import { parseCommission, parseCommissionDue } from '../../lambdas/follow-ups/store/commission-items.ts';
import { parseMark } from '../../lambdas/jobs/store/dynamodb-job-marks.ts';
import { parseRun, tokenOf } from '../../lambdas/jobs/store/job-items.ts';
import { IdempotencyRow, LedgerRow, RegistryRow, ViewsRow } from '../../lambdas/kernel/contract/rows.ts';
import {
  IdempotencyTable,
  KeyAttribute,
  LedgerTable,
  RegistryTable,
  ViewsTable,
} from '../../lambdas/kernel/contract/tables.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { parseConsumption } from '../../lambdas/once/store/consumer-items.ts';
import { parseDetails } from '../../lambdas/once/store/details-rows.ts';
import { parseRecord } from '../../lambdas/once/store/record-items.ts';
import { parseApproval } from '../../lambdas/operators/store/approval-items.ts';
import { parseEmailCount } from '../../lambdas/orders/store/dynamodb-email-counts.ts';
import { parseOrderTransition } from '../../lambdas/orders/store/order-items.ts';
import { parseSendingClaim } from '../../lambdas/outbound/store/dynamodb-sending-claims.ts';
import { parseReferenceHolder, parseTransition } from '../../lambdas/payments/store/items.ts';
import {
  HOLDS,
  parseChargeToReturn,
  parseInquiry,
  parseOpenOrder,
  parseOrphan,
} from '../../lambdas/payments/store/queue-items.ts';
import { parseLimit } from '../../lambdas/tenants/store/dynamodb-limits.ts';
import { parseApiKeyUse, parseKey, parseTenant } from '../../lambdas/tenants/store/tenant-administration.ts';
import { parseOwner } from '../../lambdas/tenants/store/tenant-owners.ts';
import { parseViewRow } from '../../lambdas/views/store/dynamodb-views.ts';
import {
  parseBook,
  parseDelivery,
  parseLane,
  parseNotice,
  parseReplay,
} from '../../lambdas/webhooks/store/webhook-items.ts';
import type { Item } from './dynamodb-values.ts';
import type { TableShape } from './memory-table.ts';

export const TABLES = { idempotency: 'Idempotency', ledger: 'Ledger', registry: 'Registry', views: 'Views' } as const;

/** Table with copies of the final responses that PostgreSQL stores. */
export const REPLAY_CACHE = 'ReplayCache';

const KEY = {
  partition: { name: KeyAttribute.partition, type: 'S' },
  sort: { name: KeyAttribute.sort, type: 'S' },
} as const;
const { openClaimsIndex } = IdempotencyTable;
const { recentOutcomesIndex } = LedgerTable;
const { listsIndex } = ViewsTable;
const { dueIndex, queuesIndex, emailIndex } = RegistryTable;

/** Row that production code reads only in condition expressions. */
const newestOfOrder = z.object({ affiliate: z.string(), sequence: z.int() });
/** The tenant, mode, affiliate and order are only in the row's key, so the reader accepts any values for them. */
const commission = (item: Item) =>
  parseCommission(item, { tenantId: tenantId('ten_1'), mode: 'test', affiliate: 'any', orderId: 'any' });
/**
 * A claim, or a completed record with the time of its claim, is the record of a request. Any other record belongs to an
 * effect or a consumer.
 */
const record = (item: Item) =>
  item['status'] === 'INPROGRESS' || (item['status'] === 'COMPLETED' && 'claimedAtMs' in item)
    ? parseRecord(item)
    : parseConsumption(item);

export const TABLE_SHAPES: readonly TableShape[] = [
  {
    name: TABLES.idempotency,
    partition: { name: IdempotencyTable.partitionKey, type: 'S' },
    indexes: {
      [openClaimsIndex.name]: {
        partition: { name: openClaimsIndex.partitionKey, type: 'N' },
        sort: { name: openClaimsIndex.sortKey, type: 'N' },
        projectsAll: true,
      },
    },
    timeToLive: IdempotencyTable.timeToLiveAttribute,
    readers: { [IdempotencyRow.record]: record } satisfies Readers<typeof IdempotencyRow>,
  },
  {
    ...KEY,
    name: TABLES.ledger,
    indexes: {
      [recentOutcomesIndex.name]: {
        partition: { name: recentOutcomesIndex.partitionKey, type: 'S' },
        sort: { name: recentOutcomesIndex.sortKey, type: 'S' },
      },
    },
    readers: {
      [LedgerRow.payment]: parseTransition,
      [LedgerRow.order]: parseOrderTransition,
      [LedgerRow.activity]: parseActivity,
    } satisfies Readers<typeof LedgerRow>,
  },
  {
    ...KEY,
    name: TABLES.registry,
    indexes: {
      [dueIndex.name]: {
        partition: { name: dueIndex.partitionKey, type: 'S' },
        sort: { name: dueIndex.sortKey, type: 'N' },
      },
      [queuesIndex.name]: {
        partition: { name: queuesIndex.partitionKey, type: 'S' },
        sort: { name: queuesIndex.sortKey, type: 'N' },
        projectsAll: true,
      },
      [emailIndex.name]: {
        partition: { name: emailIndex.partitionKey, type: 'S' },
        sort: { name: emailIndex.sortKey, type: 'S' },
      },
    },
    timeToLive: IdempotencyTable.timeToLiveAttribute,
    readers: {
      [RegistryRow.apiKey]: parseKey,
      [RegistryRow.apiKeys]: (item) => item,
      [RegistryRow.operatorKey]: parseKey,
      [RegistryRow.operatorKeys]: (item) => item,
      [RegistryRow.apiKeyUse]: parseApiKeyUse,
      [RegistryRow.tenants]: parseTenant,
      [RegistryRow.databases]: parseKnownDatabase,
      [RegistryRow.owners]: parseOwner,
      [RegistryRow.reference]: parseReferenceHolder,
      [RegistryRow.limit]: parseLimit,
      [RegistryRow.details]: parseDetails,
      [RegistryRow.return]: parseChargeToReturn,
      [RegistryRow.inquiry]: parseInquiry,
      [RegistryRow.openOrder]: parseOpenOrder,
      [RegistryRow.hold]: HOLDS.parse,
      [RegistryRow.orphan]: parseOrphan,
      [RegistryRow.keptOrphan]: parseOrphan,
      [RegistryRow.emailCount]: parseEmailCount,
      [RegistryRow.sending]: parseSendingClaim,
      [RegistryRow.jobRuns]: parseRun,
      [RegistryRow.jobLock]: tokenOf,
      [RegistryRow.approvals]: parseApproval,
      [RegistryRow.jobMark]: parseMark,
      [RegistryRow.webhookEndpoints]: parseBook,
      [RegistryRow.webhookDelivery]: parseDelivery,
      [RegistryRow.webhookReplay]: parseReplay,
      [RegistryRow.webhookLane]: parseLane,
      [RegistryRow.webhookNotice]: parseNotice,
      [RegistryRow.export]: (item) => (item['revision'] === undefined ? parseIdRow(item) : parseExport(item)),
      [RegistryRow.openExports]: parseOpen,
      [RegistryRow.commission]: commission,
      [RegistryRow.commissionOfOrder]: (item) => newestOfOrder.parse(item),
      [RegistryRow.commissionDue]: parseCommissionDue,
    } satisfies Readers<typeof RegistryRow>,
  },
  {
    ...KEY,
    name: TABLES.views,
    indexes: {
      [listsIndex.name]: {
        partition: { name: listsIndex.partitionKey, type: 'S' },
        sort: KEY.sort,
        projectsAll: true,
      },
    },
    readers: {
      ...Object.fromEntries(Object.values(ViewsRow).map((prefix) => [prefix, parseViewRow])),
      // Rows of consumers that only the tests define.
      'TEST#': (item) => item,
    },
  },
  {
    name: REPLAY_CACHE,
    partition: { name: IdempotencyTable.partitionKey, type: 'S' },
    timeToLive: IdempotencyTable.timeToLiveAttribute,
    readers: { [IdempotencyRow.record]: parseRecord },
  },
];

/** A new kind of row without a reader is a type error. */
type Readers<Rows extends Readonly<Record<string, string>>> = Readonly<
  Record<Rows[keyof Rows], (item: Item) => unknown>
>;
