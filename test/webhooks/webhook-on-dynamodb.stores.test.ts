import { beforeAll, describe, expect, test } from '@jest/globals';
import { storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { acceptReplay } from '../../lambdas/webhooks/use/replay-webhooks.ts';
import { BY_REQUEST } from '../support/causes.ts';
import { faultKindsByEffect, type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { createTables, storesOn } from '../support/local-aws.ts';
import { whole } from '../support/slice.ts';
import { endpointNamed, eventNamed } from './webhook-fixtures.ts';
import { WebhookWorld } from './webhook-world.ts';

/** It is long enough for a lease and a retry. */
const MOST_MINUTES = 3;

let tables: Awaited<ReturnType<typeof createTables>>;
let made = 0;
beforeAll(async () => {
  tables = await createTables('webhook-histories');
});

async function history(how: 'live' | 'replay', faults: readonly PlannedFault[]): Promise<HistoryRun> {
  made += 1;
  const owner = { tenantId: tenantId(`ten_hooks_${process.pid}_${made}`), mode: 'test' } as const;
  const endpoint = endpointNamed(`hooks-${process.pid}-${made}`);
  const plan = new FaultPlan(faults);
  const world = new WebhookWorld({ plan, ...storesOn(tables) });
  const { webhooks: store } = world.store;
  await world.addEndpoints([endpoint], owner);
  const atMs = world.clock.nowMs();
  const event = eventNamed(`${process.pid}-${made}`, atMs, 'payment.completed', owner);
  world.past = [event];
  const request = {
    caller: owner,
    operationId: storedOperationId(`wh_${process.pid}_${made}`),
    fingerprint: { version: 1, sha256: new Uint8Array(32) },
    endpointId: endpoint.id,
    // The id ends with a base32 character, as derived ids do, because this character determines the shard of the due
    // queue.
    replayId: `rpl_${process.pid}_${made}a`,
    fromMs: atMs,
    untilMs: atMs + 1,
    cause: BY_REQUEST,
  };
  if (how === 'live') await world.publish(event);
  else await world.until('api', (actor) => acceptReplay(world.webhookTools(actor), request));
  await world.drain();
  const calls = plan.calm();
  const statuses = async () =>
    (await store.listDeliveries(endpoint.id, { limit: 10 })).map(
      ({ status, dueAtMs }) => `${status} ${dueAtMs ?? 'done'}`,
    );
  for (let minute = 0; minute < MOST_MINUTES && (await statuses()).join() !== 'delivered done'; minute += 1)
    await world.pass(1);

  const violations: string[] = [];
  const end = (await statuses()).join();
  if (end !== 'delivered done') violations.push(`deliveries: ${end}`);
  if (new Set(world.arrivals.map(({ body }) => body)).size !== 1)
    violations.push('no body or different bodies arrived');
  // A second attempt is allowed only if the result of the first was lost or could not be recorded.
  const posted = 1 + plan.calls.findIndex((call) => call.endsWith('.post'));
  const mayRepeat = faults.some(({ point }) => point >= posted);
  if (world.arrivals.length > 1 && !mayRepeat) violations.push(`the event arrived ${world.arrivals.length} times`);
  return { calls, violations };
}

describe.each(['live', 'replay'] as const)('a webhook (%s) on the DynamoDB API', (how) => {
  test('arrives and is recorded despite any single fault at any call to the SDK or the receiver', async () => {
    const { histories, findings } = await surveyFaults((faults) => history(how, faults), {
      faults: 1,
      kindsOf: faultKindsByEffect,
      oneOf: 19,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(30, { slice: 2 }));
  });
});
