import * as z from 'zod';
import { Environment } from '../contract/environment.ts';
import { DEFAULT_SHARDS, type Shards, shardsFor } from '../contract/shards.ts';
import { jsonOf, readVariable } from './variables.ts';

interface Step {
  readonly fromMs: number;
  readonly shards: Shards;
}

interface Known {
  /** The value of the environment variable `PEAK_RATES`, from which `steps` were parsed. */
  readonly text: string | undefined;
  /** Sorted by time. */
  readonly steps: readonly Step[];
}

const BEFORE: Step = { fromMs: Number.NEGATIVE_INFINITY, shards: DEFAULT_SHARDS };

let known: Known = { text: undefined, steps: [BEFORE] };

/**
 * Returns the numbers of partitions for rows with this time. A row's time never changes, so the row stays in its
 * partition when the rates change later.
 *
 * @param ms Unix milliseconds
 * @throws Error if the environment variable is invalid
 */
export function shardsAt(ms: number): Shards {
  return steps().findLast(({ fromMs }) => fromMs <= ms)?.shards ?? DEFAULT_SHARDS;
}

/**
 * Returns the highest numbers of partitions that apply to rows of a time range.
 *
 * @param untilMs end of the rows' times (exclusive), in Unix milliseconds @default rows of any time
 * @throws as {@link shardsAt}
 */
export function mostShards(untilMs = Number.POSITIVE_INFINITY): Shards {
  const past = steps().filter(({ fromMs }) => fromMs < untilMs);
  const most = (name: keyof Shards): number => Math.max(...past.map(({ shards }) => shards[name]));
  return {
    claims: most('claims'),
    outcomes: most('outcomes'),
    queues: most('queues'),
    dueWebhooks: most('dueWebhooks'),
    deliveries: most('deliveries'),
    listParts: most('listParts'),
  };
}

/**
 * In each queue, the shard that contains all entries that only an operator can resolve. One query therefore finds them.
 * A run of a job adds at most a thousand such entries.
 */
export const OPERATOR_SHARD = 0;

export function eachShard(count: number): readonly number[] {
  return Array.from({ length: count }, (_, shard) => shard);
}

function steps(): readonly Step[] {
  const text = process.env[Environment.peakRates];
  if (text !== known.text) known = { text, steps: text === undefined ? [BEFORE] : [BEFORE, ...stepsOf()] };
  return known.steps;
}

function stepsOf(): readonly Step[] {
  const rates = z.object({ from: z.iso.date(), payments: z.int(), tenantPayments: z.int() });
  return readVariable(Environment.peakRates, jsonOf(z.array(rates)), process.env).map(({ from, ...peak }) => ({
    fromMs: Date.parse(from),
    shards: shardsFor(peak),
  }));
}
