import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { nameOfEvent } from '../lambdas/events/domain/event.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { LedgerRow, RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, LedgerTable } from '../lambdas/kernel/contract/tables.ts';
import { invariant } from '../lambdas/kernel/invariant.ts';
import { systemClock, systemDigest } from '../lambdas/kernel/platform/platform.ts';
import { toStreamImage } from '../lambdas/kernel/platform/stream-images.ts';
import { parseTransition } from '../lambdas/payments/store/items.ts';
import { createPayment } from '../lambdas/payments/use/create-payment.ts';
import { fanOut } from '../lambdas/webhooks/use/fan-out-webhooks.ts';
import { bundle } from '../lib/lambda-code.ts';
import type { EventCpu, EventFunction, EventSettings } from '../test/bench/bench-event-rate.ts';
import { typicalPayment, typicalTools } from '../test/bench/bench-typical-payment.ts';
import { eventsOf } from '../test/events/event-fixtures.ts';
import { countingEntropy } from '../test/support/counting-entropy.ts';
import { ROOT_KEY } from '../test/webhooks/webhook-fixtures.ts';
import { MemoryDynamoDb } from '../test/world/memory-dynamodb.ts';
import { TABLE_SHAPES, TABLES } from '../test/world/tables.ts';
import { median } from './median.ts';
import { type Shares, sharesIn } from './profile.ts';
import { type Answer, withStandIn } from './stand-in.ts';
import { profiling } from './start.ts';

type Item = Readonly<Record<string, unknown>>;

interface Paid {
  /** Keyed by table and key, as the functions read the rows before their first write. */
  readonly rows: Map<string, Item>;
  readonly records: Readonly<Record<EventFunction, readonly object[]>>;
}

const FOLDERS: Readonly<Record<EventFunction, string>> = {
  relay: 'outbox-relay',
  projector: 'views-projector',
  fanOut: 'webhook-fan-out',
  sender: 'webhook-sender',
};

/**
 * Measures the CPU time of the functions that handle a payment's event. Each function runs in new processes, with the
 * batch size of the stacks. The payment has a reference, and its tenant has one webhook endpoint.
 *
 * @param events the number of events of each process; the first half is a warm-up and is not measured
 * @returns `cpu`: milliseconds for one event, as medians of the rounds; `projector`: a CPU profile of a further
 * process, with its import and warm-up
 */
export async function measureEvents(
  settings: EventSettings,
  { rounds, events }: { readonly rounds: number; readonly events: number },
): Promise<{ readonly cpu: EventCpu; readonly projector: Shares }> {
  const directory = mkdtempSync(join(tmpdir(), 'payonce-events-'));
  const profiles = join(directory, 'profiles');
  try {
    bundle(directory, Object.values(FOLDERS));
    const { rows, records } = await paid(events);
    return await withStandIn(answerFrom(rows), async (url) => {
      redirectWebhooks(rows, url);
      const cpuOf = async (name: EventFunction): Promise<number> => {
        const { batch } = settings[name];
        const file = join(directory, `${name}.json`);
        writeFileSync(file, JSON.stringify(batchesOf(records[name], batch)));
        const runs: number[] = [];
        for (let round = 0; round < rounds; round += 1)
          runs.push(await runOnce(join(directory, FOLDERS[name], 'index.mjs'), file, url));
        // The page shows two decimals, and computes rates from the shown values.
        return Number(median(runs).toFixed(2));
      };
      const cpu = {
        relay: await cpuOf('relay'),
        projector: await cpuOf('projector'),
        fanOut: await cpuOf('fanOut'),
        sender: await cpuOf('sender'),
      };
      const projector = join(directory, FOLDERS.projector);
      await runOnce(join(projector, 'index.mjs'), join(directory, 'projector.json'), url, profiles);
      return { cpu, projector: sharesIn(profiles, projector) };
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function batchesOf(records: readonly object[], size: number): readonly (readonly object[])[] {
  return Array.from({ length: Math.ceil(records.length / size) }, (_, batch) =>
    records.slice(batch * size, (batch + 1) * size),
  );
}

async function paid(payments: number): Promise<Paid> {
  const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => systemClock.nowMs() });
  const { tools } = await typicalTools(database.client, { clock: systemClock, entropy: countingEntropy() });
  for (let index = 0; index < payments; index += 1) {
    const outcome = await createPayment(tools, typicalPayment(`event-${index}`, { reference: `order-${index}` }));
    invariant(outcome.kind === 'first', `the payment was not executed: ${outcome.kind}`);
  }
  const ledger = database.items(TABLES.ledger, LedgerRow.payment);
  const events = eventsOf(systemDigest, ledger.map(parseTransition));
  for (const event of events) await fanOut(tools, event);
  const rows = new Map<string, Item>();
  for (const table of [TABLES.ledger, TABLES.registry])
    for (const item of database.items(table)) rows.set(keyOf(table, item), item);
  const published = events.map((event, index) =>
    sqsRecord({ source: 'payonce', 'detail-type': nameOfEvent(event.event), detail: event }, index),
  );
  const outcomes = ledger.filter((item) => item[LedgerTable.recentOutcomesIndex.partitionKey] !== undefined);
  const deliveries = database.items(TABLES.registry, RegistryRow.webhookDelivery);
  return {
    rows,
    records: {
      relay: outcomes.map((item, index) => ({
        eventName: 'INSERT',
        dynamodb: {
          SequenceNumber: String(index),
          Keys: toStreamImage({ pk: item[KeyAttribute.partition], sk: item[KeyAttribute.sort] }),
          NewImage: toStreamImage(item),
        },
      })),
      projector: published,
      fanOut: published,
      sender: deliveries.map(({ endpointId, id }, index) =>
        sqsRecord({ kind: 'attempt', endpointId, deliveryId: id }, index),
      ),
    },
  };
}

function sqsRecord(body: object, index: number): object {
  return {
    messageId: String(index),
    body: JSON.stringify(body),
    attributes: { ApproximateReceiveCount: '1' },
    messageAttributes: {},
  };
}

function keyOf(table: string, key: Item): string {
  return [table, key[KeyAttribute.partition], key[KeyAttribute.sort]].join(' ');
}

function redirectWebhooks(rows: Map<string, Item>, url: string): void {
  for (const [key, row] of rows) {
    if (!key.startsWith(`${TABLES.registry} ${RegistryRow.webhookEndpoints}`)) continue;
    const endpoints = row['endpoints'] as readonly object[];
    rows.set(key, { ...row, endpoints: endpoints.map((endpoint) => ({ ...endpoint, url: `${url}/hook` })) });
  }
}

function answerFrom(rows: ReadonlyMap<string, Item>): Answer {
  const answers: Readonly<Record<string, (body: Item) => object>> = {
    GetItem: ({ TableName, Key }) => {
      const [partition, sort] = [KeyAttribute.partition, KeyAttribute.sort].map(
        (name) => (Key as Readonly<Record<string, { readonly S: string }>>)[name]?.S,
      );
      const row = rows.get([TableName, partition, sort].join(' '));
      return row === undefined ? {} : { Item: toStreamImage(row) };
    },
    Query: () => ({ Items: [], Count: 0, ScannedCount: 0 }),
    PutEvents: ({ Entries }) => ({
      FailedEntryCount: 0,
      Entries: (Entries as readonly object[]).map((_, index) => ({ EventId: String(index) })),
    }),
    SendMessage: ({ MessageBody }) => ({
      MessageId: 'message',
      MD5OfMessageBody: createHash('md5').update(String(MessageBody)).digest('hex'),
    }),
    GetSecretValue: () => ({ SecretString: ROOT_KEY }),
  };
  return (operation, body) => answers[operation]?.(body) ?? {};
}

const PROGRAM = `
  const [url, file] = JSON.parse(process.argv[1]);
  const { readFileSync } = await import('node:fs');
  const batches = JSON.parse(readFileSync(file, 'utf8'));
  const context = { getRemainingTimeInMillis: () => 300_000, awsRequestId: 'request' };
  const cpuMs = () => { const { user, system } = process.cpuUsage(); return (user + system) / 1000; };
  const { handler } = await import(url);
  const handle = async (Records) => {
    const { batchItemFailures } = await handler({ Records }, context);
    if (batchItemFailures.length > 0) throw new Error('the function did not handle every record');
  };
  const half = Math.floor(batches.length / 2);
  for (const batch of batches.slice(0, half)) await handle(batch);
  const warmed = cpuMs();
  for (const batch of batches.slice(half)) await handle(batch);
  const cpu = (cpuMs() - warmed) / batches.slice(half).flat().length;
  process.stdout.write('\\n' + JSON.stringify(cpu));
  process.exit();
`;

/** @returns the mean CPU time of one event in the second half of the batches, in milliseconds */
async function runOnce(bundled: string, file: string, url: string, profiles?: string): Promise<number> {
  const asked = JSON.stringify([pathToFileURL(bundled).href, file]);
  const options = [...profiling(profiles), '--input-type=module', '-e', PROGRAM, asked];
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    env: environmentOf(url),
    maxBuffer: 64 * 1024 * 1024,
  });
  // The last line is the result. The lines before it are the function's log.
  return JSON.parse(stdout.slice(stdout.lastIndexOf('\n'))) as number;
}

function environmentOf(url: string): Readonly<Record<string, string>> {
  return {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_ENDPOINT_URL: url,
    [Environment.idempotencyTable]: TABLES.idempotency,
    [Environment.ledgerTable]: TABLES.ledger,
    [Environment.registryTable]: TABLES.registry,
    [Environment.viewsTable]: TABLES.views,
    [Environment.eventBus]: 'payonce',
    [Environment.parkingQueueUrl]: `${url}/000000000000/parked`,
    [Environment.webhookTasksQueueUrl]: `${url}/000000000000/tasks`,
    [Environment.webhookLanesQueueUrl]: `${url}/000000000000/lanes`,
    [Environment.webhookRootSecretId]: 'webhook-root',
    [Environment.webhookLoopback]: 'true',
    POWERTOOLS_METRICS_NAMESPACE: 'Payonce',
    POWERTOOLS_SERVICE_NAME: 'bench',
  };
}
