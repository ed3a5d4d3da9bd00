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
import { flagsOf, synthesizedStacks } from '../../lib/synthesized.ts';
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
  /** Concurrent batches of one shard (`ParallelizationFactor`), or the maximum concurrency of a queue. */
  readonly atOnce: number;
}

/** Number of calls for one event or for one batch. */
interface EventCalls {
  readonly dynamodb: number;
  readonly bus: number;
}

const PAYMENTS = 100;

/** Each event belongs to a different payment with a reference. The batch is full. */
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

/** Gives a function one full CPU (AWS Lambda developer guide, "Configure Lambda function memory"). */
const MB_OF_A_PROCESSOR = 1_769;
export function cpuShare(memoryMb: number): number {
  return Math.min(1, memoryMb / MB_OF_A_PROCESSOR);
}

/** Assumed latency of a call, in milliseconds. */
const WAIT_MS = { dynamodb: 5, bus: 40 };

/**
 * A batch takes its CPU time plus the latencies of its sequential calls.
 *
 * @param cpuMs CPU time of one event
 * @param rounds number of sequential calls in a batch
 */
function eventRate({ memoryMb, batch, atOnce }: BatchSettings, cpuMs: number, rounds: EventCalls): number {
  const batchMs = (batch * cpuMs) / cpuShare(memoryMb) + rounds.dynamodb * WAIT_MS.dynamodb + rounds.bus * WAIT_MS.bus;
  return Math.floor((atOnce * batch * 1_000) / batchMs);
}

export type EventFunction = 'relay' | 'projector' | 'fanOut' | 'sender';
export type EventSettings = Readonly<Record<EventFunction, BatchSettings>>;
/** In milliseconds for one event. */
export type EventCpu = Readonly<Record<EventFunction, number>>;

interface Handling {
  readonly title: string;
  /**
   * Sequential calls only. The relay reads ten first transitions concurrently and makes five concurrent calls to the
   * bus.
   */
  readonly rounds: EventCalls;
}

export const EVENT_FUNCTIONS: readonly (readonly [EventFunction, Handling])[] = [
  ['relay', { title: 'relay', rounds: { dynamodb: 10, bus: 2 } }],
  ['projector', { title: 'projector', rounds: { dynamodb: 4, bus: 0 } }],
  ['fanOut', { title: 'webhook fan-out', rounds: { dynamodb: 3, bus: 0 } }],
  ['sender', { title: 'webhook sender', rounds: { dynamodb: 6, bus: 0 } }],
];

/** @param cpu measured by `npm run bench` */
export async function eventRates(settings: EventSettings, cpu: EventCpu) {
  const calls = await eventCalls();
  return EVENT_FUNCTIONS.flatMap(([name, { rounds }]) =>
    name === 'relay' || name === 'projector'
      ? {
          name,
          calls: calls[name].dynamodb + calls[name].bus,
          settings: settings[name],
          rate: eventRate(settings[name], cpu[name], rounds),
        }
      : [],
  );
}

export function eventCpuTable(cpu: EventCpu): string {
  const rows = EVENT_FUNCTIONS.map(([name, { title }]) => {
    const cpuMs = cpu[name];
    const goal = name === 'projector' ? '300' : '';
    return `| ${title} | ${cpuMs.toFixed(2)} | ${Math.round(1_000 / cpuMs)} | ${goal} |`;
  });
  return ['| function | CPU ms for an event | events/s of a core | goal |', '|---|---|---|---|', ...rows].join('\n');
}

export function eventCpuOf(page: string): EventCpu {
  const found = EVENT_FUNCTIONS.map(([name, { title }]) => {
    const cpuMs = new RegExp(`\\| ${title} \\| ([\\d.]+) \\| \\d+ \\|`).exec(page)?.[1];
    invariant(cpuMs !== undefined, `the page has no CPU time of the ${title}`);
    return [name, Number(cpuMs)] as const;
  });
  return Object.fromEntries(found) as Record<EventFunction, number>;
}

export async function eventRateTable(settings: EventSettings, cpu: EventCpu): Promise<string> {
  const described = ({ memoryMb, batch, atOnce }: BatchSettings) => `${memoryMb} MB, ${atOnce} × ${batch}`;
  const rows = (await eventRates(settings, cpu)).map(
    (row) =>
      `| ${row.name} | ${row.calls.toFixed(1)} | ${described(row.settings)} | ${row.rate.toLocaleString('en-US')} |`,
  );
  return ['| function | calls for an event | deployed | events/s |', '|---|---|---|---|', ...rows].join('\n');
}

interface Deployed {
  readonly MemorySize: number;
  readonly BatchSize: number;
  readonly ParallelizationFactor?: number;
  readonly ScalingConfig?: { readonly MaximumConcurrency: number };
}

/** The logical ids of the function and of its event source start with the prefix. */
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

/** Synthesizes the templates in this process, because the server that does so for tests runs only with Jest. */
export function deployedSettings(): EventSettings {
  const service = synthesizedStacks({}, flagsOf()).get(StackName.service);
  invariant(service !== undefined, 'the deployment has no service stack');
  return {
    relay: settingsOf(service, 'EventsRelay'),
    projector: settingsOf(service, 'ViewsProjector'),
    fanOut: settingsOf(service, 'WebhooksFanOut'),
    sender: settingsOf(service, 'WebhooksSender'),
  };
}
