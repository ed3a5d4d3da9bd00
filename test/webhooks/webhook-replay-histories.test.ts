/** Tests the guarantee "delivered webhooks". */
import { describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import { acceptReplay } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');

/** The range has two events per page. The first event was delivered when it occurred. */
async function history(count: number, faults: readonly PlannedFault[], isPartial = false): Promise<HistoryRun> {
  const calm = new WebhookWorld();
  await calm.addEndpoints([ENDPOINT]);
  const fromMs = calm.clock.nowMs();
  const events = Array.from({ length: count }, (_, index) => eventNamed(`past-${index}`, fromMs + index));
  for (const event of events.slice(0, 1)) await calm.publish(event);
  await calm.drain();
  const { webhooks: store } = calm.store;
  const plan = new FaultPlan(faults);
  const world = new WebhookWorld({ plan, store: calm.store });
  world.past = events;
  const request = {
    caller: OWNER,
    operationId: storedOperationId('wh_replay'),
    fingerprint: { version: 1, sha256: new Uint8Array(32) },
    endpointId: ENDPOINT.id,
    replayId: 'rpl_one',
    fromMs,
    untilMs: fromMs + count,
    isPartial,
    cause: BY_REQUEST,
  };
  const accepted = await world.until('api', (actor) => acceptReplay(world.webhookTools(actor), request));
  await world.drain();
  const { length: calls } = plan.calls;
  await world.pass(6);

  const violations: string[] = [];
  if (!accepted) violations.push('the replay is never accepted');
  const replay = await store.readReplay('rpl_one');
  if (replay?.status !== 'completed') violations.push(`the replay is ${replay?.status ?? 'missing'}`);
  const times = events.map(({ event }) => world.arrivals.filter(({ headers }) => headers['webhook-id'] === event.id));
  if (times.some((arrivals, index) => arrivals.length === 0 && !(isPartial && index === 0)))
    violations.push('an event is missing');
  if (isPartial && (times[0]?.length ?? 0) > 0) violations.push('an accepted event is sent again');
  // A second attempt is allowed only if the result of the first was lost or could not be recorded.
  const mayRepeat = faults.some(({ point }) => {
    const call = plan.calls[point - 1] ?? '';
    return call.endsWith('.post') || call.startsWith('sender');
  });
  if (!mayRepeat && times.some((arrivals) => arrivals.length > 1)) violations.push('an event arrived twice');
  const deliveries = await store.listDeliveries(ENDPOINT.id, { limit: 10 });
  if (deliveries.some(({ status }) => status !== 'delivered')) violations.push('a delivery is not delivered');
  if (deliveries.length !== count) violations.push(`${deliveries.length} deliveries`);
  // The lane remains for some minutes, because writers may still rely on it.
  const due = await store.due(Number.MAX_SAFE_INTEGER - 1, 10);
  if (due.some(({ task }) => task.kind !== 'lane')) violations.push('a task other than a lane is still due');
  if ((await store.dueInLane(ENDPOINT.id, 10)).length > 0) violations.push('a delivery is still in the lane');
  return { calls: plan.calls.slice(0, calls), violations };
}

describe('a range replay', () => {
  test('is complete and delivers each event once, despite any single fault at any call of any page or attempt', async () => {
    const { histories, findings } = await surveyFaults((faults) => history(3, faults), { faults: 1, oneOf: 7 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(150, { slice: 20 }));
  });

  test('of missing events sends all of them, and never an accepted event, despite any single fault', async () => {
    const { histories, findings } = await surveyFaults((faults) => history(3, faults, true), { faults: 1, oneOf: 7 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(100, { slice: 14 }));
  });

  test('is complete and delivers each event once, despite any two faults in a page and its attempt', async () => {
    const { histories, findings } = await surveyFaults((faults) => history(1, faults), {
      faults: 2,
      oneOf: 97,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(1_000, { slice: 10 }));
  });
});
