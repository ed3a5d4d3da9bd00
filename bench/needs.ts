import { eventsPerSecond, requestsPerSecond } from '../lib/region-quotas.ts';
import { cpuShare, EVENT_FUNCTIONS, type EventCpu, type EventSettings } from '../test/bench/bench-event-rate.ts';
import type { PartitionMeter } from '../test/bench/bench-partition-meter.ts';

/** Payments per second for which the tables are computed. */
const RATE = 1_000;
const WAIT_MS = { processor: 300, receiver: 200, dynamodb: 5 };
/** These calls are sequential: the limit, the claim and the commit. */
const CALLS_OF_PAYMENT = 3;
/** The setting `memoryMb` can change it. */
const PAYMENTS_MB = 512;
/** Default quota of an account and region (AWS Lambda developer guide, "Lambda quotas"). */
const EXECUTIONS = 1_000;
/** Default quota per second and table (Amazon DynamoDB developer guide, "Quotas"). */
const TABLE_UNITS = 40_000;

const TABLES = ['Idempotency', 'Ledger', 'Registry', 'Views'] as const;
const REGIONS = ['us-east-1', 'eu-central-1', 'ap-northeast-1', ''] as const;

interface Measured {
  /** CPU time in the payments function, in milliseconds. */
  readonly payment: number;
  readonly events: EventCpu;
  readonly settings: EventSettings;
  /** Write units of one payment. */
  readonly units: PartitionMeter;
}

/** The executions that one payment per second needs. */
function executionsOf({ payment, events, settings }: Measured): ReadonlyMap<string, number> {
  const ofPayment = payment / cpuShare(PAYMENTS_MB) + CALLS_OF_PAYMENT * WAIT_MS.dynamodb + WAIT_MS.processor;
  const found = new Map([['payments', ofPayment / 1_000]]);
  for (const [name, { title, rounds }] of EVENT_FUNCTIONS) {
    const { batch, memoryMb } = settings[name];
    const waitMs = rounds.dynamodb * WAIT_MS.dynamodb + rounds.bus * 40 + (name === 'sender' ? WAIT_MS.receiver : 0);
    found.set(title, (events[name] / cpuShare(memoryMb) + waitMs / batch) / 1_000);
  }
  return found;
}

export function needsTable(measured: Measured): string {
  const { payment, events } = measured;
  const executions = executionsOf(measured);
  const cpu: readonly (readonly [string, number])[] = [
    ['payments', payment],
    ...EVENT_FUNCTIONS.map(([name, { title }]) => [title, events[name]] as const),
  ];
  const rows = cpu.map(([title, cpuMs]): readonly [string, number, number] => [
    title,
    (cpuMs * RATE) / 1_000,
    (executions.get(title) ?? Number.NaN) * RATE,
  ]);
  const total = ['all', ...[1, 2].map((at) => rows.reduce((sum, row) => sum + Number(row[at]), 0))] as const;
  const lines = [...rows, total].map(
    ([title, cores, atOnce]) => `| ${title} | ${cores.toFixed(1)} | ${Math.ceil(atOnce)} |`,
  );
  return ['| function | cores | executions at once |', '|---|---|---|', ...lines].join('\n');
}

export function quotaTable(measured: Measured): string {
  const { units } = measured;
  const perPayment = [...executionsOf(measured).values()].reduce((sum, each) => sum + each, 0);
  const rows: (readonly [string, string, number])[] = [
    ['concurrent Lambda executions', EXECUTIONS.toLocaleString('en-US'), EXECUTIONS / perPayment],
    ...TABLES.map((table): readonly [string, string, number] => [
      `write units of the ${table} table, ${units.of(table)} per payment`,
      `${TABLE_UNITS.toLocaleString('en-US')}/s`,
      TABLE_UNITS / units.of(table),
    ]),
    ...REGIONS.map((region): readonly [string, string, number] => [
      `EventBridge deliveries in ${region === '' ? 'other regions' : `\`${region}\``}, 2 per payment`,
      `${(2 * eventsPerSecond(region)).toLocaleString('en-US')}/s`,
      eventsPerSecond(region),
    ]),
    [
      'API Gateway requests, 1 per payment',
      `${requestsPerSecond('').toLocaleString('en-US')}/s`,
      requestsPerSecond(''),
    ],
  ];
  const lines = rows.map(
    ([quota, value, payments]) => `| ${quota} | ${value} | ${Math.floor(payments).toLocaleString('en-US')} |`,
  );
  return ['| quota | default | payments/s |', '|---|---|---|', ...lines].join('\n');
}
