import { LANE_RUN_SECONDS } from '../../kernel/contract/timing.ts';
import { dueFrom } from './webhook-delivery.ts';
import type { WebhookOwner } from './webhook-endpoint.ts';

/**
 * The queue of the deliveries of one endpoint that would delay those of others: of a slow endpoint, of a range replay, and of
 * a backlog. One execution at a time processes it, so that it occupies a bounded part of all senders.
 */
export interface WebhookLane extends WebhookOwner {
  readonly endpointId: string;
  /** Starts at 1. Each write expects the revision that was read and stores the next. */
  readonly revision: number;
  /** Number of latest runs in sequence in which an attempt was slow and failed. */
  readonly hung: number;
  /** Time of the latest announcement of deliveries. Unix milliseconds. */
  readonly wokenAtMs: number;
  /** Time since which runs find no delivery. A lane without deliveries ends after {@link LINGER_MS}. Unix milliseconds. */
  readonly emptySinceMs?: number;
  /** When the next run is due. Absent when the lane has ended. Unix milliseconds. */
  readonly dueAtMs?: number;
  /** When the sweep queues it. Set with `dueAtMs`. Unix milliseconds. */
  readonly sweepAtMs?: number;
  /** Set while a run works: the time at which a rival may take over, and the run's fencing token. Unix milliseconds. */
  readonly leaseExpiresAtMs?: number;
}

/** Concurrent attempts of a run. After a run that hung, one attempt finds out whether the endpoint answers again. */
export const LANE_WIDTH = 10;
/** A run stops taking deliveries after this time. With its last calls it ends before its function does. */
export const LANE_RUN_MS = LANE_RUN_SECONDS * 1000;
/** Must exceed the function timeout. */
const LANE_LEASE_MS = 60_000;
/** The waits after runs that hung. Each is at most the longest delay of a message. */
const HUNG_WAITS_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000, 600_000, 900_000];
/** The wait after a run that achieved nothing because rivals hold its deliveries or the store has failed. */
const IDLE_WAIT_MS = 5_000;
/** New deliveries are not announced one by one if the next run is due within this time. */
const LOOK_MS = 60_000;
/** Must exceed the time in which a writer that has read the endpoint as slow, or has announced deliveries, writes them. */
const LINGER_MS = 10 * 60_000;

/** Announces deliveries. After runs that hung, the next run is not brought forward. */
export function woken(
  was: WebhookLane | undefined,
  { tenantId, mode }: WebhookOwner,
  endpointId: string,
  nowMs: number,
): WebhookLane {
  const { emptySinceMs: _empty, ...lane } = was ?? {
    tenantId,
    mode,
    endpointId,
    revision: 0,
    hung: 0,
    wokenAtMs: nowMs,
  };
  const dueAtMs = lane.hung > 0 ? (lane.dueAtMs ?? nowMs) : Math.min(lane.dueAtMs ?? nowMs, nowMs);
  return { ...lane, revision: lane.revision + 1, wokenAtMs: nowMs, ...dueFrom(dueAtMs, nowMs) };
}

/** A run is due, has not begun, and does not find the lane empty: it need not be woken. */
export function isAwake(
  { dueAtMs = Infinity, emptySinceMs, leaseExpiresAtMs = 0 }: WebhookLane,
  nowMs: number,
): boolean {
  return dueAtMs <= nowMs && leaseExpiresAtMs <= nowMs && emptySinceMs === undefined;
}

/** Whether the next run is soon enough for new deliveries, so that they need not be announced one by one. */
export function looksSoon({ dueAtMs, hung }: WebhookLane, nowMs: number): boolean {
  return dueAtMs !== undefined && (hung > 0 || dueAtMs <= nowMs + LOOK_MS);
}

/** @returns undefined when no run is due, or a rival works */
export function claimedLane(lane: WebhookLane, nowMs: number): WebhookLane | undefined {
  const { dueAtMs, leaseExpiresAtMs = 0 } = lane;
  if (dueAtMs === undefined || dueAtMs > nowMs || leaseExpiresAtMs > nowMs) return undefined;
  return { ...lane, revision: lane.revision + 1, leaseExpiresAtMs: nowMs + LANE_LEASE_MS };
}

/** The result of a run. */
export interface LaneRun {
  /** An attempt was slow and failed. */
  readonly hung: boolean;
  /** Number of attempts that had a result. */
  readonly tried: number;
  /** When the next delivery is due; absent when the lane is empty. Unix milliseconds. */
  readonly nextAtMs?: number;
  /** The endpoint is still isolated: new deliveries are not announced. */
  readonly isSlow: boolean;
}

/**
 * The lane after a run.
 *
 * @param lane as it is now: it may have been woken during the run
 * @param held as the run claimed it
 */
export function afterRun(lane: WebhookLane, held: WebhookLane, run: LaneRun, nowMs: number): WebhookLane {
  const { leaseExpiresAtMs: _lease, dueAtMs: _due, sweepAtMs: _sweep, emptySinceMs: _since, ...rest } = lane;
  const hung = run.hung ? lane.hung + 1 : run.tried > 0 ? 0 : lane.hung;
  const next: WebhookLane = { ...rest, revision: lane.revision + 1, hung };
  if (run.hung) return { ...next, ...dueFrom(nowMs + waitAfter(hung), nowMs) };
  if (lane.wokenAtMs > held.wokenAtMs) return { ...next, ...dueFrom(nowMs, nowMs) };
  const soonestMs = run.tried > 0 ? nowMs : nowMs + IDLE_WAIT_MS;
  if (run.isSlow || run.nextAtMs !== undefined) {
    // A delivery that is written now can be due before the first one that the run found.
    const atMs = Math.min(run.nextAtMs ?? Infinity, nowMs + (run.isSlow ? LOOK_MS : LINGER_MS));
    return { ...next, ...dueFrom(Math.max(atMs, soonestMs), nowMs) };
  }
  const emptySinceMs = lane.emptySinceMs ?? nowMs;
  const endsAtMs = emptySinceMs + LINGER_MS;
  return nowMs >= endsAtMs ? next : { ...next, emptySinceMs, ...dueFrom(endsAtMs, nowMs) };
}

function waitAfter(hung: number): number {
  return HUNG_WAITS_MS[Math.min(hung, HUNG_WAITS_MS.length) - 1] ?? 0;
}
