import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Action, ActivityDraft } from '../../../lambdas/activity/domain/activity.ts';
import { eraseDetails } from '../../../lambdas/activity/store/dynamodb-activity.ts';
import { NO_BOUNDS } from '../../../lambdas/archive/domain/judge-chain.ts';
import { DynamoDbLedgerRows } from '../../../lambdas/archive/store/dynamodb-ledger-rows.ts';
import { RowFiles } from '../../../lambdas/archive/store/row-files.ts';
import { verifyRows } from '../../../lambdas/archive/use/verify-rows.ts';
import type { PostgresStores } from '../../../lambdas/authority/postgres-stores.ts';
import { commissionOfChain } from '../../../lambdas/follow-ups/recover-commission.ts';
import { DynamoDbLostCommissions } from '../../../lambdas/follow-ups/store/dynamodb-lost-commissions.ts';
import { invariant } from '../../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../../lambdas/kernel/platform/platform.ts';
import { erasePayment } from '../../../lambdas/operators/use/erase-payment.ts';
import { parseOrderId } from '../../../lambdas/orders/ids.ts';
import { eraseOrder } from '../../../lambdas/orders/use/erase-order.ts';
import type { Payment } from '../../../lambdas/payments/domain/payment.ts';
import { parsePaymentId } from '../../../lambdas/payments/ids.ts';
import type { PaymentChain } from '../../../lambdas/payments/use/payment-chain.ts';
import { DynamoDbImpliedRows } from '../../../lambdas/resolving/store/dynamodb-implied-rows.ts';
import {
  initialQueueRebuildState,
  type QueueRebuildState,
  rebuildQueues,
} from '../../../lambdas/resolving/use/rebuild-queues.ts';
import { DynamoDbViews } from '../../../lambdas/views/store/dynamodb-views.ts';
import { ProjectedEvents } from '../../../lambdas/views/use/projected-events.ts';
import { initialRebuildState, rebuildViews } from '../../../lambdas/views/use/rebuild-views.ts';
import { countingEntropy } from '../../support/counting-entropy.ts';
import type { MemoryDynamoDb } from '../memory-dynamodb.ts';
import { Stores } from '../stores.ts';
import { TABLES } from '../tables.ts';
import { noFault, type Simulation } from './simulation.ts';

/** The tools run in the current process, and no faults are injected into their calls. */
export function operatorIn(simulation: Simulation, database: MemoryDynamoDb) {
  const { process } = simulation;
  const documents = database.clientWith((command, apply) =>
    process.call(
      `dynamodb ${command}`,
      { throttle: noFault, ambiguous: noFault, lasts: [2, 15], timeoutMs: 2_000 },
      apply,
    ),
  );
  const pacing = { clock: process.clock, entropy: countingEntropy() };
  const views = new DynamoDbViews(documents, TABLES.views, pacing);
  return { process, documents, pacing, views, store: new Stores(process.clock, { client: documents }) };
}

type Operator = ReturnType<typeof operatorIn>;

export async function rebuildAllViews({ process, pacing, views, store }: Operator): Promise<void> {
  const books = { views, ledger: store.ledgerScan, store, orders: store };
  await rebuildViews(
    { ...books, digest: systemDigest, ...process.clock, ...pacing },
    initialRebuildState(1),
    async () => {},
  );
}

export function rebuildAllQueues({ documents, pacing, store, process }: Operator): Promise<QueueRebuildState> {
  const commissions = new DynamoDbLostCommissions(documents, TABLES.registry, pacing);
  const commission = async (chain: PaymentChain): Promise<boolean> => {
    const due = commissionOfChain(systemDigest, chain);
    return due !== undefined && commissions.restore(due);
  };
  const rows = new DynamoDbImpliedRows(documents, TABLES, pacing);
  const tools = { store, orders: store, ledger: store.ledgerScan, rows, clock: process.clock, commission };
  return rebuildQueues(tools, initialQueueRebuildState(1), async () => {});
}

/** @returns the number of findings */
export async function verifyAll({ documents, pacing }: Operator): Promise<number> {
  const ledger = new DynamoDbLedgerRows(documents, TABLES.ledger, pacing);
  const parts = new RowFiles(mkdtempSync(join(tmpdir(), 'payonce-verify-')));
  const { findings } = await verifyRows({ ledger, parts, save: () => undefined }, { bounds: NO_BOUNDS });
  parts.close();
  return findings.length;
}

/**
 * @param postgres PostgreSQL stores, if PostgreSQL is the authority
 *
 * @default DynamoDB is the authority
 */
export async function eraseNamed(
  { process, documents, pacing, views, store: stores }: Operator,
  id: string,
  postgres?: PostgresStores,
): Promise<void> {
  const store = postgres?.store ?? stores;
  const orders = postgres?.orders() ?? stores;
  const eraseRows = (draft: ActivityDraft): Promise<boolean> =>
    postgres?.erase(draft) ??
    eraseDetails({ client: documents, registry: TABLES.registry, pacing }, stores.activity, draft);
  const erase =
    (action: Action) =>
    (erased: Pick<Payment, 'tenantId' | 'mode'> & { readonly id: string }): Promise<boolean> =>
      eraseRows({
        chain: { tenantId: erased.tenantId, mode: erased.mode },
        action,
        actor: { by: 'command', operator: 'Ada Example' },
        about: [erased.id],
        occurredAtMs: process.clock.nowMs(),
      });
  const payment = parsePaymentId(id);
  if (payment !== undefined) {
    await erasePayment({ store, processed: new ProjectedEvents(views), erase: erase('payment.erased') }, payment);
    return;
  }
  const order = parseOrderId(id);
  invariant(order !== undefined, 'only a payment or an order can be erased');
  await eraseOrder({ orders, records: store, erase: erase('order.erased') }, order);
}
