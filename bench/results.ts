import type { EventCpu } from '../test/bench/bench-event-rate.ts';
import type { RefundCost } from '../test/bench/bench-refund.ts';
import type { AuthorityCosts } from './authority.ts';
import type { Shares } from './profile.ts';
import type { SpeedRatio } from './speed.ts';
import type { StartRatios, WarmRatios } from './start.ts';
import type { Weight } from './weight.ts';

/** `bench/results.json` lists the results. */
export interface Result {
  readonly metric: string;
  readonly value: number;
  readonly goal: number;
  /** The same measurement of a comparable program; null where there is none. */
  readonly peer: number | null;
  readonly unit: string;
}

interface Goal extends Result {
  /** Cause of a missed goal, determined with a profile. */
  readonly cause: string;
}

const THROUGHPUT = 'throughput, 32 payments in flight';
const POSTGRES_THROUGHPUT = 'throughput with PostgreSQL, 32 payments in flight';
const PROJECTED = 'events that the projector handles';
/** All others should be low. */
const HIGHER_IS_BETTER: ReadonlySet<string> = new Set([THROUGHPUT, POSTGRES_THROUGHPUT, PROJECTED]);

export interface Measured {
  readonly throughput: readonly SpeedRatio[];
  readonly authority: AuthorityCosts;
  readonly refund: RefundCost;
  /** Maximum for a page of any list, with any filters. */
  readonly listCalls: number;
  readonly weight: Weight;
  readonly start: StartRatios;
  readonly warm: WarmRatios;
  readonly profiles: { readonly import: Shares; readonly payments: Shares; readonly projector: Shares };
  readonly eventCpu: EventCpu;
}

const TO_NAIVE = 'of a naive handler';
const TO_DYNAMODB = 'relative to DynamoDB';
const BEFORE_SEND = 'before the send';

export function resultsOf(measured: Measured): readonly Result[] {
  return goalsOf(measured).map(({ metric, value, goal, peer, unit }) => ({ metric, value, goal, peer, unit }));
}

export function resultsTable(results: readonly Result[]): string {
  const rows = results.map((each) => {
    const { metric, value, goal, peer, unit } = each;
    const bound = `${HIGHER_IS_BETTER.has(metric) ? '≥' : '≤'} ${goal}`;
    return `| ${metric} | ${value} | ${bound} | ${peer ?? ''} | ${unit} | ${isMet(each) ? 'met' : 'missed'} |`;
  });
  return ['| metric | value | goal | peer | unit | |', '|---|---|---|---|---|---|', ...rows].join('\n');
}

export function missesOf(measured: Measured): string {
  const missed = goalsOf(measured).filter((each) => !isMet(each));
  return missed.length === 0
    ? 'Every goal is met.'
    : missed.map(({ metric, cause }) => `- **${metric}**: ${cause}`).join('\n');
}

export function isMet({ metric, value, goal }: Result): boolean {
  return HIGHER_IS_BETTER.has(metric) ? value >= goal : value <= goal;
}

function goalsOf(measured: Measured): readonly Goal[] {
  const { throughput, authority, refund, listCalls, weight, start, warm, profiles, eventCpu } = measured;
  const { owners } = weight;
  const [naive, powertools] = throughput;
  if (naive === undefined || powertools === undefined)
    throw new Error('the throughput of a compared handler is missing');
  return [
    {
      metric: 'CPU time of the import of the payments function',
      value: round(start.importToBareClient),
      goal: 1.5,
      peer: round(start.powertoolsToBareClient),
      unit: 'of a bare DynamoDB client',
      cause: `V8 takes ${percent(profiles.import.compilation)} of it to compile modules. zod’s schemas take ${percent(profiles.import.zod)}, Node.js ${percent(profiles.import['Node.js'])} and the SDK ${percent(profiles.import['AWS SDK'])}. Compiled code cannot be deployed ([0145](../design/decisions/0145-no-compiled-code-in-the-bundles.md)).`,
    },
    {
      metric: 'CPU time of the import and the first payment',
      value: round(start.firstToPowertools),
      goal: 1.5,
      peer: 1,
      unit: 'of a Powertools handler',
      cause: `the import takes ${percent(start.importShare)} of it. The first payment compiles the parts of the SDK that it uses.`,
    },
    {
      metric: 'CPU time of a payment, engine alone',
      value: round(naive.cpuRatio),
      goal: 1,
      peer: round(naive.cpuRatio / powertools.cpuRatio),
      unit: TO_NAIVE,
      cause: `the SDK takes ${percent(profiles.payments['AWS SDK'])} of the CPU time of a warm process. It marshals and signs two transactions of several rows, where the naive handler writes two rows.`,
    },
    {
      metric: 'CPU time of a payment, whole handler',
      value: round(warm.toNaive),
      goal: 1,
      peer: round(warm.powertoolsToNaive),
      unit: TO_NAIVE,
      cause: `the SDK takes ${percent(profiles.payments['AWS SDK'])}, Node.js ${percent(profiles.payments['Node.js'])} and Payonce’s own layers ${percent(profiles.payments.Payonce)}. The naive handler neither authenticates nor validates.`,
    },
    {
      metric: THROUGHPUT,
      value: round(1 / naive.timeRatio),
      goal: 1,
      peer: round(powertools.timeRatio / naive.timeRatio),
      unit: TO_NAIVE,
      cause:
        'the local DynamoDB is on the same machine, and a transaction of several rows costs it more CPU time than a simple call (see “Throughput”).',
    },
    ...authorityGoals(authority),
    {
      metric: 'DynamoDB calls of the 400th refund of a payment',
      value: refund.calls,
      goal: 3,
      peer: 2,
      unit: BEFORE_SEND,
      cause: REFUND_CAUSE,
    },
    {
      metric: 'read units of the 400th refund of a payment',
      value: refund.readUnits,
      goal: 4,
      peer: null,
      unit: BEFORE_SEND,
      cause: REFUND_CAUSE,
    },
    {
      metric: 'DynamoDB calls of a page of a list, any filters',
      value: listCalls,
      goal: 60,
      peer: 21,
      unit: 'at most',
      cause: 'a list reads one partition for each shard.',
    },
    {
      metric: PROJECTED,
      value: Math.round(1_000 / eventCpu.projector),
      goal: 300,
      peer: null,
      unit: 'per second of a core',
      cause: `the SDK takes ${percent(profiles.projector['AWS SDK'])}, Node.js ${percent(profiles.projector['Node.js'])} and Payonce’s own code ${percent(profiles.projector.Payonce)}. The calls to DynamoDB are the cost.`,
    },
    {
      metric: 'files read at the start of the payments function',
      value: weight.files,
      goal: 4,
      peer: 1,
      unit: 'files',
      cause: 'each part of the code that is loaded on demand is a separate file.',
    },
    {
      metric: 'code read at the start of the payments function',
      value: Math.round(weight.kilobytes.get('payments') ?? Number.NaN),
      goal: 400,
      peer: null,
      unit: 'kB, minified',
      cause: `${kilobytes(owners['AWS SDK'])} kB of it are the AWS SDK’s, ${kilobytes(owners.zod)} kB zod’s, ${kilobytes(owners.Powertools)} kB Powertools’ and ${kilobytes(owners.Payonce)} kB Payonce’s own.`,
    },
  ];
}

function authorityGoals({ postgres, rocketRides, duplicateMs }: AuthorityCosts): readonly Goal[] {
  return [
    {
      metric: 'round trips of a payment with PostgreSQL',
      value: postgres.statements + postgres.calls,
      goal: 5,
      peer: rocketRides.statements,
      unit: 'until the response',
      cause: 'claim, commit, and the copy: a read, a DynamoDB transaction and a deletion.',
    },
    {
      metric: 'CPU time of a payment with PostgreSQL',
      value: round(postgres.cpuRatio),
      goal: 1.5,
      peer: round(rocketRides.cpuRatio),
      unit: TO_DYNAMODB,
      cause: 'the rows are written twice: to PostgreSQL, and as a copy to DynamoDB.',
    },
    {
      metric: POSTGRES_THROUGHPUT,
      value: round(1 / postgres.throughputRatio),
      goal: 0.75,
      peer: round(1 / rocketRides.throughputRatio),
      unit: TO_DYNAMODB,
      cause: 'both databases are on the same machine, and the copy writes the rows a second time.',
    },
    {
      metric: 'response to a duplicate that waits for a commit',
      value: round(duplicateMs),
      goal: 10,
      peer: null,
      unit: 'ms after the start of the commit',
      cause: 'the duplicate waits for the commit, and reads the record.',
    },
  ];
}

const REFUND_CAUSE =
  'the whole chain is read when the newest transition has no sums, as in rows that an older version wrote.';

function percent(share: number): string {
  return `${(100 * share).toFixed(0)} %`;
}

function kilobytes(bytes: number): number {
  return Math.round(bytes / 1000);
}

function round(ratio: number): number {
  return Math.round(ratio * 100) / 100;
}
