import { LANE_RUN_SECONDS } from '../../kernel/contract/timing.ts';
import { dueAndSweepTimes } from './webhook-delivery.ts';
import type { WebhookOwner } from './webhook-endpoint.ts';

/**
 * An endpoint's own queue for deliveries that would delay other endpoints: all deliveries while the endpoint is slow,
 * and otherwise the deliveries of a range replay or a backlog. Only one execution at a time processes the lane, so the
 * lane occupies a limited share of the senders.
 */
export interface WebhookLane extends WebhookOwner {
  readonly endpointId: string;
  /** Starts at 1. Each write expects the revision that was read and stores the next revision. */
  readonly revision: number;
  /**
   * Number of consecutive runs, up to the latest one, in which an attempt was slow and failed. A run in which no
   * attempt had a result does not change the number.
   */
  readonly hung: number;
  /** Time at which deliveries were last announced, in Unix milliseconds. */
  readonly wokenAtMs: number;
  /**
   * Time since which runs have found the lane empty, in Unix milliseconds. The lane ends {@link LINGER_MS} later,
   * unless deliveries are announced, or a run finds a delivery, before that.
   */
  readonly emptySinceMs?: number;
  /** Time at which the next run is due, in Unix milliseconds. Absent when the lane has ended. */
  readonly dueAtMs?: number;
  /** Time at which the sweep queues the lane, in Unix milliseconds. Set together with `dueAtMs`. */
  readonly sweepAtMs?: number;
  /**
   * Time at which a rival may take over the run, in Unix milliseconds. This time is also the run's fencing token. Set
   * only while a run is in progress.
   */
  readonly leaseExpiresAtMs?: number;
}

/**
 * Maximum number of concurrent attempts in a run. After a run in which an attempt was slow and failed, the next run
 * makes a single attempt to check whether the endpoint responds.
 */
export const LANE_WIDTH = 10;
/**
 * Time after which a run begins no further deliveries, in milliseconds. It leaves enough time to finish the last calls
 * before the function's timeout.
 */
export const LANE_RUN_MS = LANE_RUN_SECONDS * 1000;
/** Must exceed the function timeout. */
const LANE_LEASE_MS = 60_000;
/**
 * Waits after consecutive runs in which an attempt was slow and failed, in milliseconds. No wait exceeds the longest
 * delay of an SQS message.
 */
const HUNG_WAITS_MS: readonly number[] = [30_000, 60_000, 120_000, 300_000, 600_000, 900_000];
/**
 * Minimum wait after a run in which no attempt had a result, in milliseconds. In such a run, no delivery was due,
 * rivals had claimed all due deliveries, or the store failed.
 */
const IDLE_WAIT_MS = 5_000;
/**
 * If the next run is due within this time, in milliseconds, new deliveries are not announced individually. Also the
 * longest wait for the next run of a slow endpoint's lane, unless an attempt was slow and failed.
 */
const LOOK_MS = 60_000;
/**
 * Lifetime of a lane without deliveries, in milliseconds. A writer first reads that the endpoint is slow, or announces
 * deliveries, and then writes the deliveries. The lifetime must exceed the time between the first step and the write.
 */
const LINGER_MS = 10 * 60_000;

/** After a run in which an attempt was slow and failed, the announcement does not bring the next run forward. */
export function withAnnouncement(
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
  return { ...lane, revision: lane.revision + 1, wokenAtMs: nowMs, ...dueAndSweepTimes(dueAtMs, nowMs) };
}

export function isAwake(
  { dueAtMs = Infinity, emptySinceMs, leaseExpiresAtMs = 0 }: WebhookLane,
  nowMs: number,
): boolean {
  return dueAtMs <= nowMs && leaseExpiresAtMs <= nowMs && emptySinceMs === undefined;
}

/**
 * Returns whether new deliveries need no announcement: the next run is due soon, or an announcement would not bring it
 * forward.
 */
export function runsSoon({ dueAtMs, hung }: WebhookLane, nowMs: number): boolean {
  return dueAtMs !== undefined && (hung > 0 || dueAtMs <= nowMs + LOOK_MS);
}

export function claimedLane(lane: WebhookLane, nowMs: number): WebhookLane | undefined {
  const { dueAtMs, leaseExpiresAtMs = 0 } = lane;
  if (dueAtMs === undefined || dueAtMs > nowMs || leaseExpiresAtMs > nowMs) return undefined;
  return { ...lane, revision: lane.revision + 1, leaseExpiresAtMs: nowMs + LANE_LEASE_MS };
}

export interface LaneRun {
  /** Whether an attempt was slow and failed. */
  readonly hung: boolean;
  /** Number of attempts with a result. */
  readonly tried: number;
  /** Time at which the next delivery is due, in Unix milliseconds; absent when the lane is empty. */
  readonly nextAtMs?: number;
  /**
   * Whether the endpoint is still isolated. The next run is then due soon, because deliveries to a slow endpoint are
   * not announced.
   */
  readonly isSlow: boolean;
}

/**
 * @param lane the current lane; deliveries may have been announced during the run
 * @param held the lane as the run claimed it
 */
export function afterRun(lane: WebhookLane, held: WebhookLane, run: LaneRun, nowMs: number): WebhookLane {
  const { leaseExpiresAtMs: _lease, dueAtMs: _due, sweepAtMs: _sweep, emptySinceMs: _since, ...rest } = lane;
  const hung = run.hung ? lane.hung + 1 : run.tried > 0 ? 0 : lane.hung;
  const next: WebhookLane = { ...rest, revision: lane.revision + 1, hung };
  if (run.hung) return { ...next, ...dueAndSweepTimes(nowMs + waitAfter(hung), nowMs) };
  // While a run holds the lane, only announcements write it, so a newer revision proves that deliveries were announced.
  // The time of the announcement is not compared, because clocks differ.
  if (lane.revision > held.revision) return { ...next, ...dueAndSweepTimes(nowMs, nowMs) };
  const soonestMs = run.tried > 0 ? nowMs : nowMs + IDLE_WAIT_MS;
  if (run.isSlow || run.nextAtMs !== undefined) {
    // A delivery that is written after the run's last read can be due before the first delivery that the run found.
    const atMs = Math.min(run.nextAtMs ?? Infinity, nowMs + (run.isSlow ? LOOK_MS : LINGER_MS));
    return { ...next, ...dueAndSweepTimes(Math.max(atMs, soonestMs), nowMs) };
  }
  const emptySinceMs = lane.emptySinceMs ?? nowMs;
  const endsAtMs = emptySinceMs + LINGER_MS;
  return nowMs >= endsAtMs ? next : { ...next, emptySinceMs, ...dueAndSweepTimes(endsAtMs, nowMs) };
}

function waitAfter(hung: number): number {
  return HUNG_WAITS_MS[Math.min(hung, HUNG_WAITS_MS.length) - 1] ?? 0;
}
