import { BatchGetCommand } from '@aws-sdk/lib-dynamodb';
import { receiveCallback } from '../../lambdas/callbacks/receive-callback.ts';
import { type CommissionEvent, keepCommission } from '../../lambdas/follow-ups/keep-commission.ts';
import { JOBS } from '../../lambdas/jobs/contract/jobs.ts';
import { acceptedRun } from '../../lambdas/jobs/domain/job-run.ts';
import { DynamoDbJobRuns } from '../../lambdas/jobs/store/dynamodb-job-runs.ts';
import { workRun } from '../../lambdas/jobs/use/work-run.ts';
import { MetadataName } from '../../lambdas/kernel/contract/metadata.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import type { OperationId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { DynamoDbConsumerRecords } from '../../lambdas/once/store/dynamodb-consumer-records.ts';
import { DynamoDbApprovals } from '../../lambdas/operators/store/dynamodb-approvals.ts';
import { DynamoDbStore } from '../../lambdas/payments/store/dynamodb-store.ts';
import { createPayment } from '../../lambdas/payments/use/create-payment.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import { fanOut } from '../../lambdas/webhooks/use/fan-out-webhooks.ts';
import { eventsOf } from '../events/event-fixtures.ts';
import { countingJob, recordingObserver, recordOf } from '../jobs/job-fixtures.ts';
import { callback } from '../payments/payment-fixtures.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { itemSize } from '../world/dynamodb-values.ts';
import { MemoryDynamoDb } from '../world/memory-dynamodb.ts';
import { SimulatedSystem } from '../world/simulator/system.ts';
import { TABLE_SHAPES, TABLES } from '../world/tables.ts';
import { PartitionMeter } from './bench-partition-meter.ts';
import { reconcilingOfMonth } from './bench-reconcile.ts';
import { typicalPayment, typicalProcessor, typicalTools } from './bench-typical-payment.ts';

export interface CountedPath {
  /** Includes indexes. */
  readonly writeUnits: number;
  /** These units are for transitions and personal data, which are copies if PostgreSQL is the authority. */
  readonly copyUnits: number;
  /** Each item or page read has at most four kilobytes, so it costs at most one read unit. */
  readonly reads: number;
  /** Leaves out the copies in indexes. Rows count even if they expire later. */
  readonly storedBytes: Readonly<Record<string, number>>;
}

/** DynamoDB adds this overhead to each item (Amazon DynamoDB developer guide, "Item sizes and formats"). */
const OVERHEAD_BYTES = 100;

function keysOf({ input }: BatchGetCommand): number {
  return Object.values(input.RequestItems ?? {}).reduce((sum, { Keys = [] }) => sum + Keys.length, 0);
}

class CountedWorld {
  readonly clock = new SimulatedClock();
  readonly #meter = new PartitionMeter(TABLE_SHAPES);
  readonly #stored = new Map<string, number>();
  #reads = 0;
  readonly client;
  readonly pacing;

  constructor() {
    const database = new MemoryDynamoDb({ tables: TABLE_SHAPES, nowMs: () => this.clock.nowMs() });
    this.client = database.clientWith((command, apply, sent) => {
      this.#meter.transaction = command === 'TransactWriteCommand';
      if (/^(Get|Query|TransactGet|Scan)/.test(command)) this.#reads += 1;
      if (sent instanceof BatchGetCommand) this.#reads += keysOf(sent);
      return apply();
    });
    this.pacing = { clock: this.clock, entropy: countingEntropy() };
    database.listen((changes) => {
      this.#meter.note(changes);
      for (const { table, before, after } of changes) {
        const bytes = (item: typeof after) => (item === undefined ? 0 : itemSize(item) + OVERHEAD_BYTES);
        this.#stored.set(table, (this.#stored.get(table) ?? 0) + bytes(after) - bytes(before));
      }
    });
  }

  async count(path: () => Promise<unknown>): Promise<CountedPath> {
    this.#meter.units.clear();
    this.#stored.clear();
    this.#reads = 0;
    await path();
    const writeUnits = [...this.#meter.units.values()].reduce((sum, units) => sum + units, 0);
    const copyUnits = this.#meter.of(TABLES.ledger) + this.#meter.of(TABLES.registry, RegistryRow.details);
    return { writeUnits, copyUnits, reads: this.#reads, storedBytes: Object.fromEntries(this.#stored) };
  }
}

/**
 * The event, commission and webhook of a payment use its stores; each other path has new stores.
 *
 * @param reconciled counts the comparisons of a month, which takes longer than all other paths
 */
export async function countPaths(reconciled = reconcilingOfMonth) {
  const metadata = { note: 'n'.repeat(496) };
  const plain = await paymentPaths();
  const referred = await paymentPaths({ reference: 'order-6735' });
  const named = await paymentPaths({ metadata: { [MetadataName.affiliate]: 'aff_7' } });
  const noted = await paymentPaths({ reference: 'order-6735', metadata });
  return {
    payment: plain.payment,
    paymentWithReference: referred.payment,
    paymentWithReferenceAndMetadata: noted.payment,
    event: plain.event,
    eventWithReference: referred.event,
    commission: named.commission,
    webhook: plain.webhook,
    callback: await callbackPath(),
    run: await runPath(),
    idleReads: await idleReads(),
    reconciling: await reconciled(),
  };
}

async function paymentPaths(changes: Parameters<typeof typicalPayment>[1] = {}) {
  const world = new CountedWorld();
  const { tools, deliver } = await typicalTools(world.client, world.pacing);
  const request = typicalPayment('counted', changes);
  const payment = await world.count(() => createPayment(tools, request));
  const chain = await tools.store.listTransitions(request.paymentId, { afterSequence: 0, limit: 10 });
  const events = eventsOf(systemDigest, chain);
  const event = await world.count(async () => {
    for (const each of events) await projectEvent(tools, each);
  });
  const records = new DynamoDbConsumerRecords(world.client, TABLES, world.pacing);
  const commission = await world.count(async () => {
    for (const each of events) await keepCommission({ ...tools, records }, each as CommissionEvent);
  });
  const webhook = await world.count(async () => {
    for (const each of events) await fanOut(tools, each);
    await deliver();
  });
  return { payment, event, commission, webhook };
}

async function callbackPath(): Promise<CountedPath> {
  const world = new CountedWorld();
  const { client, pacing } = world;
  const processor = typicalProcessor();
  const store = new DynamoDbStore(client, TABLES, pacing);
  const tools = {
    ...pacing,
    store,
    effects: new DynamoDbApprovals(client, TABLES, pacing, store),
    processor,
    books: processor,
    runner: idempotentRunner,
    replays: new ProcessReplayCache(),
    digest: systemDigest,
  };
  const request = typicalPayment('counted', { source: 'tok_async' });
  await createPayment(tools, request);
  const [charge] = processor.charges(request.paymentId);
  if (charge === undefined) throw new Error('the charge is missing');
  await processor.inside.approve(charge.chargeId);
  return world.count(() => receiveCallback(tools, callback('evt_counted', charge.chargeId)));
}

/** Counts from the executor's call to the end of the run. The reads of the job's queues are not included. */
async function runPath(): Promise<CountedPath> {
  const world = new CountedWorld();
  const { client, pacing, clock } = world;
  const runs = new DynamoDbJobRuns(client, TABLES, pacing);
  const run = acceptedRun('resolve', clock.nowMs(), clock.nowMs());
  const asked = { ...recordOf(run), operationId: 'jobcall_1' as OperationId, expiresAtSeconds: 1_800_000_000 };
  const tasks = { enqueue: async () => undefined };
  const jobs = { resolve: countingJob(0) };
  const tools = { runs, tasks, jobs, observer: recordingObserver(), runner: idempotentRunner, clock };
  return world.count(async () => {
    await new DynamoDbConsumerRecords(client, TABLES, pacing).recordOnce(asked, []);
    await runs.accept(recordOf(run), run);
    const ended = await workRun(tools, run, 1);
    if (ended !== 'succeeded') throw new Error(`the run ended as ${ended}`);
  });
}

const SETTLED_MS = 5 * 60_000;

/**
 * Returns an average of read units, weighted by how often each job runs. The queries are those of the deployed
 * functions.
 */
async function idleReads(): Promise<number> {
  const system = await SimulatedSystem.begin(1);
  let units = 0;
  const { database } = system.account;
  const isVoid = database.isVoid.bind(database);
  // A query of an empty partition costs half a unit, or one unit when consistent.
  database.isVoid = (query) => {
    units += query.ConsistentRead === true ? 1 : 0.5;
    return isVoid(query);
  };
  let [reads, runs] = [0, 0];
  for (const { id, every } of JOBS) {
    units = 0;
    system.at(system.nowMs + 1, id, () => system.runJob(id));
    await system.run(system.nowMs + SETTLED_MS);
    reads += units / every;
    runs += 1 / every;
  }
  return Math.round(reads / runs);
}
