/** Tests the guarantee "delivered webhooks". */
import { describe, expect, test } from '@jest/globals';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const EVENT = eventNamed('history');

/** The bus and the queue deliver everything twice. */
async function history(faults: readonly PlannedFault[], answers: readonly number[] = []): Promise<HistoryRun> {
  const plan = new FaultPlan(faults);
  const world = new WebhookWorld({ plan });
  await world.addEndpoints([ENDPOINT]);
  const statuses = [...answers];
  world.answer = () => ({ kind: 'answered', status: statuses.shift() ?? 204, excerpt: 'taken' });
  await world.publish(EVENT);
  world.queue = [...world.queue, ...world.queue];
  await world.publish(EVENT);
  await world.drain();
  const calls = [...plan.calls];
  await world.pass(60);

  const violations: string[] = [];
  const deliveries = await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 10 });
  if (deliveries.length !== 1) violations.push(`${deliveries.length} deliveries`);
  if (deliveries[0]?.status !== 'delivered') violations.push(`the delivery is ${deliveries[0]?.status ?? 'missing'}`);
  if (deliveries[0]?.dueAtMs !== undefined) violations.push('an attempt is still due');
  if ([...world.successes.values()].some((times) => times !== 1)) violations.push('a success was recorded twice');
  if (world.arrivals.some(({ afterSuccess }) => afterSuccess)) violations.push('sent after its success was recorded');
  const bodies = new Set(world.arrivals.map(({ body, headers }) => `${headers['webhook-id']} ${body}`));
  if (bodies.size !== 1) violations.push(`${bodies.size} different ids or bodies`);
  const accepted = world.arrivals.length - answers.length;
  // A second attempt is allowed only if the result of the first was lost or could not be recorded.
  const posted = 1 + plan.calls.findIndex((call) => call.endsWith('.post'));
  const mayRepeat = faults.some(({ point }) => point >= posted);
  if (accepted < 1 || (accepted > 1 && !mayRepeat)) violations.push(`accepted ${accepted} times`);
  if ((await world.store.webhooks.due(Number.MAX_SAFE_INTEGER - 1, 10)).length > 0)
    violations.push('the due queue is not empty');
  return { calls, violations };
}

describe('the delivery of an event to a merchant', () => {
  test('succeeds and is recorded once, despite any single fault at any call', async () => {
    const { histories, findings } = await surveyFaults(history, { faults: 1, oneOf: 4 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(50, { slice: 10 }));
  });

  test('succeeds and is recorded once, despite any pair of faults at any two calls', async () => {
    const { histories, findings } = await surveyFaults(history, { faults: 2, oneOf: 47 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(1_000, { slice: 20 }));
  });

  test('succeeds and is recorded once if the first responses are a 500 and a redirect', async () => {
    const { findings } = await surveyFaults((faults) => history(faults, [500, 302]), { faults: 1, oneOf: 4 });
    expect(findings.slice(0, 3)).toEqual([]);
  });
});

describe('after a fault of the queue or of a sender,', () => {
  test('the sweep recovers a lost message', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(EVENT);
    world.queue = [];
    await world.drain();
    expect(world.arrivals).toHaveLength(0);
    await world.pass(3);
    expect(world.arrivals).toHaveLength(1);
  });

  test('two concurrent messages cause only one attempt', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(EVENT);
    world.queue = [...world.queue, ...world.queue];
    const outcomes = await Promise.all([world.drain(), world.drain()]);
    expect(outcomes.flat().sort()).toEqual(['delivered', 'nothing_due']);
    expect(world.arrivals).toHaveLength(1);
  });
});

test('an owner whose lease has expired cannot overwrite the record of its rival', async () => {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  await world.publish(EVENT);
  let calls = 0;
  world.answer = () => {
    calls += 1;
    return { kind: 'answered', status: calls === 1 ? 500 : 204, excerpt: '' };
  };
  // Delays the write of the first attempt until its lease has expired and a second attempt has succeeded.
  world.plan.holdAt(6 + world.plan.calls.length, () => world.pass(2));
  await world.drain();
  const [delivery] = await world.store.webhooks.listDeliveries(ENDPOINT.id, { limit: 1 });
  expect(delivery?.status).toBe('delivered');
  expect(world.arrivals).toHaveLength(2);
  expect((await world.store.webhooks.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
});
