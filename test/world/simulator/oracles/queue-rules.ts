/** The queues of unfinished work, each with its job and with the longest wait that Payonce promises for its entries. */
import { IdempotencyRow, QueueRow, RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, RegistryTable } from '../../../../lambdas/kernel/contract/tables.ts';
import type { Item } from '../../dynamodb-values.ts';
import { HOLD_DUE_MS } from '../processors.ts';
import { MAX_SKEW_MS } from './seen.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

export interface Place {
  readonly job: string;
  /** Job item that reads the queue; undefined if each entry is a job item of its own. */
  readonly sweep?: string;
  /** The entries of one queue wait for each other. */
  readonly queue: string;
  readonly dueAtMs: number;
  /**
   * Earliest scheduled time of a run that must handle the row, in Unix milliseconds. Later than the due time if the run
   * compares the due time with its own clock, which may be slow.
   */
  readonly handledFromMs: number;
  /** Latest permitted due time of a row that is written now, in Unix milliseconds. */
  readonly latestMs: number;
  /**
   * Whether a run gives each row that it leaves in the queue a later due time. Otherwise, the run only counts the rows
   * that it leaves.
   */
  readonly isPostponed: boolean;
}

/** Longest interval between two checks of an entry, in milliseconds, by the entry's minimum age. */
type Intervals = readonly (readonly [fromAgeMs: number, intervalMs: number])[];

const ANSWER: Intervals = [
  [0, MINUTE_MS],
  [HOUR_MS, 15 * MINUTE_MS],
];
const INTERVALS: Readonly<Record<string, Intervals>> = {
  answer: ANSWER,
  books: ANSWER,
  // A transition can queue the charge again while a run handles it. The run then postpones the new entry as if it were
  // as old as the previous one.
  return: [[0, 15 * MINUTE_MS]],
  payer: [
    [0, 15 * MINUTE_MS],
    [DAY_MS, HOUR_MS],
    [7 * DAY_MS, DAY_MS],
  ],
  bank: [
    [0, HOUR_MS],
    [DAY_MS, DAY_MS],
  ],
  order: [
    [0, MINUTE_MS],
    [HOUR_MS, 15 * MINUTE_MS],
    [DAY_MS, HOUR_MS],
  ],
  foreign: [
    [0, 5 * MINUTE_MS],
    [10 * MINUTE_MS, 30 * MINUTE_MS],
    [HOUR_MS, 6 * HOUR_MS],
  ],
};

/** Maximum delay of a check, as a share of the interval. */
const LATE = 0.1;
/** Longest time before a claim with a lease is due, in milliseconds. */
const LEASE_MS = MINUTE_MS;
/** Longest time before a released claim is due, in milliseconds: its send window. */
const WINDOW_MS = 15 * MINUTE_MS;
/** In milliseconds, each including its maximum jitter of 10 %. */
const WEBHOOK_WAITS_MS = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 64_800, 80_695].map((each) => each * 1_100);
/** Longest wait of the other rows that the webhook sweep reads, in milliseconds: the wait of a slow lane. */
const LANE_MS = 17 * MINUTE_MS;
const LOCK_PERIOD_MS = 30 * DAY_MS;

function intervalMs(kind: string, ageMs: number): number {
  return INTERVALS[kind]?.findLast(([fromAgeMs]) => fromAgeMs <= Math.max(0, ageMs))?.[1] ?? 0;
}

const numberOf = (row: Item, name: string): number => Number(row[name]);
const partitionOf = (row: Item): string => row[KeyAttribute.partition] as string;

/** Returns the latest due time of an entry that a run or a request writes now. */
function lookedAtBy(kind: string, sinceMs: number, nowMs: number): number {
  // The clocks of the process that wrote `sinceMs` and of the one that checks the entry may both be wrong.
  const ageMs = nowMs + MINUTE_MS + 2 * MAX_SKEW_MS - sinceMs;
  return nowMs + (1 + LATE) * intervalMs(kind, ageMs) + MAX_SKEW_MS;
}

const { partitionKey: QUEUE, sortKey: LOOK } = RegistryTable.queuesIndex;
const { partitionKey: DUE_IN, sortKey: SWEEP_AT } = RegistryTable.dueIndex;
const { partitionKey: OPEN_SHARD, sortKey: CLAIM_DUE } = IdempotencyTable.openClaimsIndex;

interface Listed {
  readonly job: string;
  readonly sweep: string;
  readonly kindOf: (row: Item) => unknown;
  readonly since: string;
  /** Wait after which a run gives the entry up. The run compares this time with its own clock, which may be slow. */
  readonly untilAgeMs?: number;
}

/**
 * By row prefix. `sweep` is the job item that reads the queue; `since` is the attribute with the start of an entry's
 * wait.
 */
const LISTED: Readonly<Record<string, Listed>> = {
  [RegistryRow.inquiry]: {
    job: 'resolve',
    sweep: 'inquiries',
    kindOf: (row) => row['waitsFor'] ?? 'answer',
    since: 'claimedAtMs',
  },
  [RegistryRow.return]: { job: 'resolve', sweep: 'returns', kindOf: () => 'return', since: 'foundAtMs' },
  [RegistryRow.openOrder]: { job: 'resolve', sweep: 'orders', kindOf: () => 'order', since: 'createdAtMs' },
  [RegistryRow.orphan]: {
    job: 'retry-orphans',
    sweep: 'orphans',
    kindOf: ({ isForeign }) => (isForeign === true ? 'foreign' : 'answer'),
    since: 'receivedAtMs',
    untilAgeMs: DAY_MS,
  },
};

/** Operations whose open claim must have a due time. For all other operations, the caller repeats the request. */
const RESOLVED = new RegExp(`^${IdempotencyRow.record}(?:pay|cap|can|ref|ord)_`);

/** @returns undefined when the row is no open claim, and `nowhere` when it is an open claim without a due time */
export function placeOfClaim(row: Item, nowMs: number): Place | 'nowhere' | undefined {
  if (row['status'] !== 'INPROGRESS' || !RESOLVED.test(partitionOf(row))) return undefined;
  if (row[OPEN_SHARD] === undefined || typeof row[CLAIM_DUE] !== 'number') return 'nowhere';
  const waitMs = row['released'] === true ? WINDOW_MS : LEASE_MS;
  return placed(
    { job: 'resolve', sweep: 'claims', queue: 'claims', isPostponed: true },
    row[CLAIM_DUE],
    nowMs + (1 + LATE) * waitMs,
  );
}

/**
 * @returns undefined when the row belongs in no queue, and `nowhere` when it has no due time although it must have one
 */
export function placeOf(row: Item, nowMs: number): Place | 'nowhere' | undefined {
  const kind = /^[A-Z_]+#/.exec(partitionOf(row))?.[0] ?? '';
  const listed = LISTED[kind];
  if (listed !== undefined) {
    const { [QUEUE]: queue, [LOOK]: dueAtMs } = row;
    if (typeof queue !== 'string' || typeof dueAtMs !== 'number') return 'nowhere';
    const sinceMs = numberOf(row, listed.since);
    const latestMs = lookedAtBy(String(listed.kindOf(row)), sinceMs, nowMs);
    const isLast = listed.untilAgeMs !== undefined && dueAtMs >= sinceMs + listed.untilAgeMs;
    return {
      job: listed.job,
      sweep: listed.sweep,
      queue: queueNamed(queue),
      dueAtMs,
      handledFromMs: isLast ? dueAtMs + MAX_SKEW_MS : dueAtMs,
      latestMs,
      isPostponed: true,
    };
  }
  if (row[DUE_IN] !== undefined) return placeInSweep(row, kind, nowMs);
  const { dueAtMs: postponedToMs } = row;
  if (kind === RegistryRow.hold && typeof postponedToMs === 'number') {
    const of = { job: 'expire-authorizations', queue: kind, isPostponed: true } as const;
    return placed(of, postponedToMs, nowMs + HOLD_DUE_MS);
  }
  const sortMs = Number((row[KeyAttribute.sort] as string).slice(0, 13));
  const of = { queue: kind, isPostponed: false };
  if (kind === RegistryRow.hold)
    return placed({ job: 'expire-authorizations', ...of }, sortMs + HOLD_DUE_MS, nowMs + HOLD_DUE_MS);
  if (kind === RegistryRow.commissionDue)
    return placed({ job: 'release-commissions', ...of }, sortMs, nowMs + LOCK_PERIOD_MS);
  return undefined;
}

function placeInSweep(row: Item, kind: string, nowMs: number): Place {
  const waitMs = kind === RegistryRow.webhookDelivery ? WEBHOOK_WAITS_MS[numberOf(row, 'tries') - 1] : undefined;
  // The sender of an endpoint's lane handles the deliveries of the lane. The sweep handles the lane itself.
  const job = row['apart'] === true ? 'lane' : 'sweep-webhooks';
  const untilMs = nowMs + Math.max((1 + LATE) * (waitMs ?? 0), LANE_MS);
  return placed({ job, sweep: 'due', queue: job, isPostponed: true }, numberOf(row, SWEEP_AT), untilMs);
}

/** A run compares the due time with its own clock. */
function placed(of: Omit<Place, 'dueAtMs' | 'handledFromMs' | 'latestMs'>, dueAtMs: number, untilMs: number): Place {
  return { ...of, dueAtMs, handledFromMs: dueAtMs + MAX_SKEW_MS, latestMs: untilMs + MAX_SKEW_MS };
}

/** Routine inquiries, and inquiries that wait for an operator, are read together. */
function queueNamed(partition: string): string {
  const queue = partition.replace(/#.*/, '#');
  return queue === QueueRow.undecidable ? QueueRow.routineInquiry : queue;
}
