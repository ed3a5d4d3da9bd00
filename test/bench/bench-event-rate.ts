import type { StreamRecord } from '../../lambdas/events/use/ledger-stream.ts';
import { relayTransitions } from '../../lambdas/events/use/relay-transitions.ts';
import { StackName } from '../../lambdas/kernel/contract/api.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import { ProcessRecords } from '../../lambdas/once/process-records.ts';
import { nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import { chainOf } from '../../lambdas/payments/use/payment-chain.ts';
import { DynamoDbViews } from '../../lambdas/views/store/dynamodb-views.ts';
import { projectEvent } from '../../lambdas/views/use/project-event.ts';
import type { StackTemplate } from '../../lib/cost/bill.ts';
import { synthesizedStacks } from '../../lib/synthesized.ts';
import { MemoryEventBus } from '../events/memory-event-bus.ts';
import { outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { emptyTables, Stores } from '../world/stores.ts';
import { TABLES } from '../world/tables.ts';

interface BatchSettings {
  readonly memoryMb: number;
  readonly batch: number;
  /** Number of concurrent executions: lanes of one shard, or the maximum concurrency of a queue. */
  readonly atOnce: number;
}

/** Number of calls per event, by service. */
interface EventCalls {
  readonly dynamodb: number;
  readonly bus: number;
}

const PAYMENTS = 100;

/**
 * Counts the calls that the relay and the projector make for a full batch of events. Each event belongs to a different
 * payment with a reference.
 */
async function eventCalls(): Promise<{ readonly relay: EventCalls; readonly projector: EventCalls }> {
  const clock = new SimulatedClock();
  const entropy = countingEntropy();
  const database = emptyTables(clock);
  let calls = 0;
  const client = database.clientWith((_command, apply) => {
    calls += 1;
    return apply();
  });
  const chains = Array.from({ length: PAYMENTS }, (_, number) => paid(number, clock.nowMs()));
  await new Stores(clock, database).write(chains.flat());
  const { ledger } = new Stores(clock, { client });
  const bus = new MemoryEventBus();
  const records = chains.flatMap((chain, number): readonly StreamRecord[] => {
    const transition = chain.at(-1);
    return transition === undefined
      ? []
      : [{ position: String(number), whole: '', content: { kind: 'transition', transition } }];
  });
  const tools = {
    transitions: ledger,
    publisher: bus,
    parking: { park: async () => undefined },
    relayed: new ProcessRecords<never>(),
    alarmed: new ProcessRecords<true>(),
    alarm: () => undefined,
    runner: idempotentRunner,
    digest: systemDigest,
    report: (error: unknown) => {
      throw error;
    },
    clock,
    entropy,
  };
  await relayTransitions(tools, records);
  const relay = { dynamodb: calls / PAYMENTS, bus: bus.calls.length / PAYMENTS };
  calls = 0;
  const views = new DynamoDbViews(client, TABLES.views, { clock, entropy });
  for (const event of bus.published) await projectEvent({ runner: idempotentRunner, views, clock }, event);
  return { relay, projector: { dynamodb: calls / PAYMENTS, bus: 0 } };
}

function paid(number: number, nowMs: number): readonly Transition[] {
  const first = pendingTransition(paymentIdFor(`rate-${number}`), `order-${number}`);
  const { type, payment, postings } = outcomeTransition(first, { kind: 'succeeded', chargeId: 'ch_1' });
  return [first, nextTransition(systemDigest, chainOf([first]), { type, payment, postings }, requestedAt(nowMs))];
}

/**
 * Memory size that gives a function one whole CPU, in megabytes (AWS Lambda developer guide, "Configure Lambda function
 * memory").
 */
const MB_OF_A_PROCESSOR = 1_769;
/** CPU time of an SDK call, in milliseconds: 0.3 on a desktop CPU, multiplied by 2.5 for Lambda. */
const CPU_OF_CALL_MS = 0.75;
/** CPU time of the function's own work for an event, in milliseconds. */
const CPU_OF_EVENT_MS = 0.5;
/** Latency of a call, in milliseconds. */
const WAIT_MS = { dynamodb: 5, bus: 40 };

/**
 * Returns the events per second. A batch takes its CPU time plus the latencies of those calls that are made in
 * sequence.
 *
 * @param rounds number of sequential calls in a batch
 */
function eventRate({ memoryMb, batch, atOnce }: BatchSettings, calls: EventCalls, rounds: EventCalls): number {
  const cpuMs = (calls.dynamodb + calls.bus) * CPU_OF_CALL_MS + CPU_OF_EVENT_MS;
  const share = Math.min(1, memoryMb / MB_OF_A_PROCESSOR);
  const batchMs = (batch * cpuMs) / share + rounds.dynamodb * WAIT_MS.dynamodb + rounds.bus * WAIT_MS.bus;
  return Math.floor((atOnce * batch * 1_000) / batchMs);
}

/** The settings of an earlier version, in which the relay made the calls of a batch in sequence. */
const BEFORE = {
  relay: { memoryMb: 256, batch: 100, atOnce: 1 },
  projector: { memoryMb: 256, batch: 10, atOnce: 10 },
};

export async function eventRates(settings: Readonly<Record<'relay' | 'projector', BatchSettings>>) {
  const calls = await eventCalls();
  // For a batch, the relay reads first transitions ten at a time and makes five calls to the bus at a time.
  const rounds = { relay: { dynamodb: 10, bus: 2 }, projector: { dynamodb: calls.projector.dynamodb, bus: 0 } };
  const roundsBefore = { ...rounds, relay: { dynamodb: 10, bus: 10 } };
  return (['relay', 'projector'] as const).map((name) => ({
    name,
    calls: calls[name].dynamodb + calls[name].bus,
    settings: settings[name],
    before: BEFORE[name],
    rate: eventRate(settings[name], calls[name], rounds[name]),
    rateBefore: eventRate(BEFORE[name], calls[name], roundsBefore[name]),
  }));
}

/** Renders the event-rate table of docs/proof/benchmarks.md. */
export async function eventRateTable(settings: Parameters<typeof eventRates>[0]): Promise<string> {
  const described = ({ memoryMb, batch, atOnce }: BatchSettings) => `${memoryMb} MB, ${atOnce} × ${batch}`;
  const rows = (await eventRates(settings)).map(
    (row) =>
      `| ${row.name} | ${row.calls.toFixed(1)} | ${described(row.before)} | ${row.rateBefore} | ${described(row.settings)} | ${row.rate.toLocaleString('en-US')} |`,
  );
  return [
    '| function | calls for an event | before | events/s | now | events/s |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n');
}

interface Deployed {
  readonly MemorySize: number;
  readonly BatchSize: number;
  readonly ParallelizationFactor?: number;
  readonly ScalingConfig?: { readonly MaximumConcurrency: number };
}

/** Returns the deployed settings of a function and its event source, whose logical ids start with the prefix. */
function settingsOf({ Resources }: StackTemplate, prefix: string): BatchSettings {
  const one = (type: string): Deployed => {
    const found = Object.entries(Resources).find(([id, { Type }]) => Type === type && id.startsWith(prefix));
    invariant(found !== undefined, `the template has no ${type} of ${prefix}`);
    return found[1].Properties as unknown as Deployed;
  };
  const { MemorySize } = one('AWS::Lambda::Function');
  const { BatchSize, ParallelizationFactor, ScalingConfig } = one('AWS::Lambda::EventSourceMapping');
  const atOnce = ParallelizationFactor ?? ScalingConfig?.MaximumConcurrency ?? 1;
  return { memoryMb: MemorySize, batch: BatchSize, atOnce };
}

/** Returns the deployed settings. Synthesizes the templates here, because `npm run bench` runs without jest. */
export function deployedSettings() {
  const service = synthesizedStacks({}).get(StackName.service);
  invariant(service !== undefined, 'the deployment has no service stack');
  return { relay: settingsOf(service, 'EventsRelay'), projector: settingsOf(service, 'ViewsProjector') };
}
