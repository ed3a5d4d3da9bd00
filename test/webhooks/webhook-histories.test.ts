import { describe, expect, test } from '@jest/globals';
import { FAULT_KINDS, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { endpointNamed, eventNamed, OWNER } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

const ENDPOINT = endpointNamed('orders');
const EVENT = eventNamed('history');

interface Told {
  readonly calls: number;
  readonly violations: readonly string[];
}

/** One event, one endpoint. The bus and the queue deliver everything twice, and time advances until nothing is due. */
async function history(faults: readonly PlannedFault[], answers: readonly number[] = []): Promise<Told> {
  const plan = new FaultPlan(faults);
  const world = new WebhookWorld(plan);
  await world.addEndpoints([ENDPOINT]);
  const statuses = [...answers];
  world.answer = () => ({ kind: 'answered', status: statuses.shift() ?? 204, excerpt: 'taken' });
  await world.publish(EVENT);
  world.doubleMessages();
  await world.publish(EVENT);
  await world.drain();
  const calls = plan.calls.length;
  await world.pass(60);

  const violations: string[] = [];
  const deliveries = await world.store.listDeliveries(ENDPOINT.id, { limit: 10 });
  if (deliveries.length !== 1) violations.push(`${deliveries.length} deliveries`);
  if (deliveries[0]?.status !== 'delivered') violations.push(`the delivery is ${deliveries[0]?.status ?? 'not there'}`);
  if (deliveries[0]?.dueAtMs !== undefined) violations.push('an attempt is still due');
  if ([...world.successes.values()].some((times) => times !== 1)) violations.push('a success was recorded twice');
  if (world.arrivals.some(({ afterSuccess }) => afterSuccess)) violations.push('sent after its success was recorded');
  const bodies = new Set(world.arrivals.map(({ body, headers }) => `${headers['webhook-id']} ${body}`));
  if (bodies.size !== 1) violations.push(`${bodies.size} different ids or bodies`);
  const accepted = world.arrivals.length - answers.length;
  // A second call is allowed only if the result of the first was lost or could not be recorded.
  const posted = 1 + plan.calls.findIndex((call) => call.endsWith('.post'));
  const mayRepeat = faults.some(({ point }) => point >= posted);
  if (accepted < 1 || (accepted > 1 && !mayRepeat)) violations.push(`accepted ${accepted} times`);
  if ((await world.store.due(Number.MAX_SAFE_INTEGER - 1, 10)).length > 0)
    violations.push('the due queue is not empty');
  return { calls, violations };
}

async function survey(depth: 1 | 2, answers: readonly number[] = []): Promise<{ histories: number; found: string[] }> {
  const found: string[] = [];
  let histories = 0;
  let generation: { faults: readonly PlannedFault[]; calls: number }[] = [];
  const run = async (faults: readonly PlannedFault[]): Promise<void> => {
    histories += 1;
    const { calls, violations } = await history(faults, answers);
    found.push(...violations.map((violation) => `${JSON.stringify(faults)}: ${violation}`));
    next.push({ faults, calls });
  };
  let next: { faults: readonly PlannedFault[]; calls: number }[] = [];
  await run([]);
  for (let level = 0; level < depth; level += 1) {
    generation = next;
    next = [];
    for (const { faults, calls } of generation) {
      for (let point = (faults.at(-1)?.point ?? 0) + 1; point <= calls; point += 1) {
        for (const kind of FAULT_KINDS) await run([...faults, { point, kind }]);
      }
    }
  }
  return { histories, found };
}

describe('an event reaches a merchant, its success is recorded once, and nothing is sent after it', () => {
  test('with every single fault at every call', async () => {
    const { histories, found } = await survey(1);
    expect(found).toEqual([]);
    expect(histories).toBeGreaterThan(50);
  });

  test('with every pair of faults at every two calls', async () => {
    const { histories, found } = await survey(2);
    expect(found.slice(0, 5)).toEqual([]);
    expect(histories).toBeGreaterThan(1_000);
  });

  test('when the first answers are a 500 and a redirect', async () => {
    expect((await survey(1, [500, 302])).found).toEqual([]);
  });
});

describe('faults of the queue', () => {
  test('the sweep recovers a lost message', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(EVENT);
    world.loseMessages();
    await world.drain();
    expect(world.arrivals).toHaveLength(0);
    await world.pass(3);
    expect(world.arrivals).toHaveLength(1);
  });

  test('two concurrent messages make one attempt', async () => {
    const world = new WebhookWorld();
    await world.addEndpoints([ENDPOINT]);
    await world.publish(EVENT);
    world.doubleMessages();
    const outcomes = await Promise.all([world.drain(), world.drain()]);
    expect(outcomes.flat().sort()).toEqual(['delivered', 'nothing_due']);
    expect(world.arrivals).toHaveLength(1);
  });
});

test('an owner whose lease has ended cannot overwrite the record of its rival', async () => {
  const world = new WebhookWorld();
  await world.addEndpoints([ENDPOINT]);
  await world.publish(EVENT);
  let calls = 0;
  world.answer = () => {
    calls += 1;
    return { kind: 'answered', status: calls === 1 ? 500 : 204, excerpt: '' };
  };
  // The first attempt's record is held until its lease has ended and a second attempt has succeeded.
  world.plan.interruption = { point: 6 + world.plan.calls.length, act: () => world.pass(2) };
  await world.drain();
  const [delivery] = await world.store.listDeliveries(ENDPOINT.id, { limit: 1 });
  expect(delivery?.status).toBe('delivered');
  expect(world.arrivals).toHaveLength(2);
  expect((await world.store.readBook(OWNER)).endpoints[0]?.disabled).toBeUndefined();
});
