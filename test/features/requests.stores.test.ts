import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, beforeEach, expect } from '@jest/globals';
import { autoBindSteps, loadFeature, type StepDefinitions } from 'jest-cucumber';
import type { TransportTools } from '../../lambdas/intake/http/transports.ts';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { recordKey } from '../../lambdas/once/store/record-items.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import { SimulatedIntake } from '../intake/intake-site.ts';
import { createTables, dynamoDbClient } from '../support/local-aws.ts';
import { Stores } from '../world/stores.ts';
import { Barrier, clientWithBarrier } from './barrier.ts';
import { PaymentSite } from './payment-site.ts';

const DAY_MS = 86_400_000;

let tables: Awaited<ReturnType<typeof createTables>>;
let site: SimulatedIntake<PaymentSite>;
let scenarios = 0;
let eventId = '';
let redelivered: readonly string[] | undefined;

beforeAll(async () => {
  tables = await createTables('requests');
});
beforeEach(() => {
  scenarios += 1;
  site = new SimulatedIntake(new PaymentSite(tables));
  eventId = `0b9c2f60-7d5a-4a7e-9a53-${String(scenarios).padStart(12, '0')}`;
  redelivered = undefined;
});

const request = () => JSON.stringify(site.request({ event_id: eventId }));

async function deliver(changes: Partial<TransportTools> = {}): Promise<void> {
  redelivered = await site.deliver(site.inQueue(request()), changes);
}

/** If `charges` is true, the process crashes just after the charge; otherwise, just before it. */
const dying = (charges: boolean): Partial<TransportTools> => {
  const { processor } = site.world;
  const charge = async (...call: Parameters<typeof processor.charge>) => {
    if (charges) await processor.charge(...call);
    throw new Error('the process died');
  };
  return { processor: { ...processor, charge } };
};

const steps: StepDefinitions = ({ given, when, then }) => {
  given('an event with a new id', () => undefined);

  given('an event that was processed, and whose acknowledgement was lost', deliver);

  given('an event that failed because the processor was unavailable', async () => {
    const away = () => Promise.reject(new RetryableError('processor_unavailable', 'the processor is unavailable'));
    await deliver({ processor: { ...site.world.processor, charge: away } });
    expect(redelivered).toHaveLength(1);
  });

  given('an event whose handler crashed between claim and charge', () => deliver(dying(false)));

  given('an event whose handler crashed between charge and commit', () => deliver(dying(true)));

  given('an event that was processed, and whose record has expired', async () => {
    await deliver();
    site.world.clock.advance(40 * DAY_MS);
  });

  given('an event that was processed, and whose record was deleted', async () => {
    await deliver();
    const Key = recordKey(chargeOperation(site.paymentOf(eventId)));
    await documentClient(dynamoDbClient()).send(new DeleteCommand({ TableName: tables.idempotency, Key }));
  });

  when('the event is delivered', () => deliver());

  when('the event is delivered to two handlers at the same moment', async () => {
    const point = new Barrier(2);
    const store = () => new Stores(site.world.clock, { client: documentClient(clientWithBarrier(point)) }, tables);
    await Promise.all([1, 2].map(() => deliver({ store: store() })));
  });

  when('the skipped event is redelivered', async () => {
    site.world.clock.advance(26_000);
    expect(await site.takeDue()).toBe(1);
  });

  when('the lease of 25 seconds has ended, and the skipped event is redelivered', async () => {
    site.world.clock.advance(26_000);
    expect(await site.takeDue()).toBe(1);
  });

  when('the lease of 25 seconds has ended, and the event is delivered', async () => {
    site.world.clock.advance(26_000);
    await deliver();
  });

  when('a Kafka batch has an unreadable record before it', async () => {
    await site.process()(site.inTopic('\u0000poison', request()));
  });

  then('it is acknowledged', () => {
    expect(redelivered).toEqual([]);
  });

  then('the batch is acknowledged', () => {
    expect(site.batches).toEqual([['parked', 'done']]);
  });

  then('it was skipped', () => {
    expect(['busy', 'done_before']).toContain(site.batches.at(-1)?.[0]);
  });

  then('one of the two processed it', () => {
    expect(site.batches.flat()).toContain('done');
  });

  then('the other of the two skipped it', () => {
    expect(site.batches.flat().toSorted()).toEqual(['busy', 'done']);
  });

  then(/^the unreadable record is parked as "(.*)"$/, (reason: string) => {
    expect(site.parkedReasons).toEqual([reason]);
  });

  then(/^the record is "(.*)"$/, async (state: string) => {
    expect(await site.world.recordState(site.paymentOf(eventId))).toBe(state);
  });

  then(/^the payer was charged (\d+) times?$/, (times: string) => {
    expect(site.charged(eventId)).toBe(Number(times));
  });
};

autoBindSteps(loadFeature('test/features/requests.feature'), [steps]);
