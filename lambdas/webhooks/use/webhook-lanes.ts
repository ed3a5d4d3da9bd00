import { defined } from '../../kernel/defined.ts';
import { AmbiguousError, RetryableError } from '../../kernel/faults.ts';
import { rounds } from '../../once/use/rounds.ts';
import { LONGEST_DELAY_MS } from '../domain/webhook-delivery.ts';
import { endpointOf, isIsolated, withEndpoint } from '../domain/webhook-endpoint.ts';
import {
  afterRun,
  claimedLane,
  LANE_RUN_MS,
  LANE_WIDTH,
  type LaneRun,
  type WebhookLane,
} from '../domain/webhook-lane.ts';
import { enqueueAtOnce } from './fan-out-webhooks.ts';
import { type SendOutcome, type SendTools, sendFromLane } from './send-webhook.ts';
import type { DueWebhooks } from './webhooks.ts';

export interface LaneTools extends SendTools {
  readonly due: DueWebhooks;
}

/**
 * The run ends when an attempt is slow and fails, when an attempt has no result, when too few deliveries are due to
 * fill a page, or when the run's time is over. Claims the lane's row first, so that only one run at a time processes
 * the lane.
 * @throws RetryableError, AmbiguousError when the store fails: the sweep queues the lane again
 */
export async function runLane(tools: LaneTools, endpointId: string): Promise<readonly SendOutcome[]> {
  const { webhooks, clock } = tools;
  const held = await rounds<WebhookLane | undefined>('this lane', async () => {
    const was = await webhooks.readLane(endpointId);
    const now = was && claimedLane(was, clock.nowMs());
    if (was === undefined || now === undefined) return undefined;
    return (await webhooks.write({ lane: { was, now } })).kind === 'written' ? now : 'again';
  });
  if (held === undefined) return [];
  const { outcomes, run } = await workAt(tools, held);
  const next = await rounds<WebhookLane | undefined>('this lane', async () => {
    const was = await webhooks.readLane(endpointId);
    if (was?.leaseExpiresAtMs !== held.leaseExpiresAtMs || was === undefined) return undefined;
    const now = afterRun(was, held, run, clock.nowMs());
    return (await webhooks.write({ lane: { was, now } })).kind === 'written' ? now : 'again';
  });
  const waitMs = (next?.dueAtMs ?? Infinity) - clock.nowMs();
  const delaySeconds = Math.max(0, Math.ceil(waitMs / 1000));
  if (waitMs <= LONGEST_DELAY_MS) await enqueueAtOnce(tools, held, [{ kind: 'lane', endpointId }], delaySeconds);
  return outcomes;
}

/** Delay of a postponed delivery, in milliseconds. Must exceed the lease of an attempt. */
const SET_BACK_MS = 2 * 60_000;

/**
 * Outcomes that count as the result of an attempt (`LaneRun.tried`). Other outcomes, for example `nothing_due`, do not.
 */
const TRIED: readonly SendOutcome[] = ['dropped', 'delivered', 'delivered_late', 'failed', 'failed_late', 'disabled'];

/** Maximum number of pages per run, in addition to the time limit. */
const MAX_PAGES = 100;

async function workAt(
  tools: LaneTools,
  held: WebhookLane,
): Promise<{ readonly outcomes: readonly SendOutcome[]; readonly run: LaneRun }> {
  const { due, clock } = tools;
  const width = held.hung > 0 ? 1 : LANE_WIDTH;
  const beganAtMs = clock.nowMs();
  const outcomes: SendOutcome[] = [];
  const seen = new Set<string>();
  let nextAtMs: number | undefined;
  let isContinuing = true;
  for (let pages = 0; isContinuing && pages < MAX_PAGES; pages += 1) {
    // The index lags behind and may still contain deliveries of the previous page.
    const found = await due.dueInLane(held.endpointId, 2 * width + 1);
    const fresh = found.flatMap(({ task, sweepAtMs }) =>
      task.kind === 'attempt' && !seen.has(task.deliveryId) ? [{ id: task.deliveryId, sweepAtMs }] : [],
    );
    const page = fresh.filter(({ sweepAtMs }) => sweepAtMs <= clock.nowMs()).slice(0, width);
    for (const { id } of page) seen.add(id);
    const ended = await Promise.allSettled(page.map(({ id }) => sendFromLane(tools, held.endpointId, id)));
    for (const [index, each] of ended.entries()) {
      const entry = page[index];
      if (each.status === 'fulfilled') outcomes.push(each.value);
      else if (entry !== undefined) await setBack(tools, held, entry, each.reason);
    }
    // A delivery of this page can be due again before the rest of the lane, so the lane's next due time is unknown. The
    // next run may therefore begin immediately.
    nextAtMs = page.length === 0 ? found[0]?.sweepAtMs : clock.nowMs();
    const isOk = ended.every(
      (each) => each.status === 'fulfilled' && TRIED.includes(each.value) && each.value !== 'failed_late',
    );
    isContinuing = isOk && page.length === width && width > 1 && clock.nowMs() - beganAtMs < LANE_RUN_MS;
  }
  const tried = outcomes.filter((each) => TRIED.includes(each)).length;
  const hung = outcomes.includes('failed_late');
  const isQuick = !hung && !outcomes.includes('delivered_late') && (tried > 0 || nextAtMs === undefined);
  const isSlow = await slowAfter(tools, held, isQuick);
  return { outcomes, run: { hung, tried, isSlow, ...defined({ nextAtMs }) } };
}

/**
 * Postpones a delivery after a failure in Payonce, so that later deliveries are attempted. If the failure is not
 * transient, also queues a message for this delivery alone, which becomes a dead letter if the delivery fails again.
 */
async function setBack(
  tools: LaneTools,
  held: WebhookLane,
  { id: deliveryId, sweepAtMs }: { readonly id: string; readonly sweepAtMs: number },
  reason: unknown,
): Promise<void> {
  const task = { kind: 'attempt', endpointId: held.endpointId, deliveryId } as const;
  tools.report(reason);
  const isTransient = reason instanceof RetryableError || reason instanceof AmbiguousError;
  if (!isTransient) await enqueueAtOnce(tools, held, [task]);
  await tools.due.move({ task, sweepAtMs }, { sweepAtMs: tools.clock.nowMs() + SET_BACK_MS });
}

/**
 * Ends the isolation of an endpoint that responds quickly or has no deliveries.
 *
 * @returns whether the endpoint is still isolated
 */
async function slowAfter(
  { webhooks, clock }: LaneTools,
  { tenantId, mode, endpointId }: WebhookLane,
  isQuick: boolean,
): Promise<boolean> {
  return rounds<boolean>('these endpoints', async () => {
    const was = await webhooks.readBook({ tenantId, mode });
    const endpoint = endpointOf(was, endpointId);
    if (endpoint === undefined) return false;
    if (endpoint.slow === undefined || !isQuick) return isIsolated(was, endpoint, clock.nowMs());
    const { slow: _slow, ...rest } = endpoint;
    const outcome = await webhooks.write({ book: { was, now: withEndpoint(was, rest) } });
    return outcome.kind === 'written' ? isIsolated(was, rest, clock.nowMs()) : 'again';
  });
}
