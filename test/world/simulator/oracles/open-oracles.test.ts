import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeEach, describe, expect, test } from '@jest/globals';
import { storedOperationId } from '../../../../lambdas/kernel/ids.ts';
import { inquiryItem } from '../../../../lambdas/payments/store/queue-items.ts';
import { booksInquiry } from '../../../../lambdas/payments/use/queued-with.ts';
import { callback, paymentRequest } from '../../../payments/payment-fixtures.ts';
import { ALL_DUE } from '../../../support/due.ts';
import { TABLES } from '../../tables.ts';
import { World } from '../../world.ts';
import { watched } from './watched.ts';

const ORACLE = 'what the processor has shown as open is in a queue';
const MINUTE_MS = 60_000;

let harness: World;
let world: ReturnType<typeof watched>;
let charge: string;
const request = paymentRequest('open');

beforeEach(async () => {
  harness = new World();
  world = watched(harness);
  await harness.pay(request);
  charge = harness.chargeOf(request);
});

async function chargeAgain(source: string): Promise<string> {
  const { inside } = harness.processor;
  const { chargeId } = await inside.charge({ paymentId: request.paymentId, amountMinor: 1000, source });
  await read(chargeId);
  return chargeId;
}
let callbacks = 0;
async function read(chargeId: string): Promise<void> {
  callbacks += 1;
  await harness.deliver(callback(`open_${callbacks}`, chargeId));
}
async function closeInquiries(): Promise<void> {
  for (const entry of await harness.store.inquiries()) await harness.store.closeInquiry(entry);
}
async function closeReturns(): Promise<void> {
  for (const entry of await harness.store.chargesToReturn(ALL_DUE)) await harness.store.closeReturn(entry);
}
const found = (): readonly string[] =>
  world
    .all()
    .filter(({ oracle }) => oracle === ORACLE)
    .map(({ what }) => what.replace(/ \w+ of .*| of .*/, ''));

/** Payonce reads each object. `what` is the text of the violation if the object's queue entry is missing. */
const OPEN: Readonly<Record<string, { readonly open: () => Promise<unknown>; readonly what: string }>> = {
  'a pending charge': { open: () => chargeAgain('tok_async'), what: 'the charge, pending,' },
  'a charge that waits for its payer': {
    open: () => chargeAgain('tok_action'),
    what: 'the charge, requires_action,',
  },
  'an authorized charge': { open: () => authorized(), what: 'the charge, authorized,' },
  'a pending refund': {
    open: async () => {
      await harness.processor.inside.refund(charge, 100, 'pending');
      await read(charge);
    },
    what: 'the pending refund',
  },
  'a pending return': { open: () => pendingReturn(), what: 'the pending refund' },
  'an open dispute': {
    open: async () => {
      await harness.processor.inside.dispute(charge, 100);
      await read(charge);
    },
    what: 'the open dispute',
  },
};

async function authorized(): Promise<void> {
  const chargeId = await chargeAgain('tok_action');
  await harness.processor.inside.correct(chargeId, { status: 'authorized' });
  await read(chargeId);
}

async function pendingReturn(): Promise<void> {
  await harness.processor.inside.failNextChange(1, 'tok_async');
  await chargeAgain('tok_ok');
  await harness.resolve();
}

describe.each(Object.entries(OPEN))('%s', (_name, { open, what }) => {
  test('must be in a queue until it has an outcome', async () => {
    await open();
    expect(found()).toEqual([]);
    await closeInquiries();
    await closeReturns();
    expect(found()).toEqual([what]);
  });
});

describe('an open object that is in no queue', () => {
  const lost = async (): Promise<void> => {
    await chargeAgain('tok_async');
    await closeInquiries();
  };

  test('is reported by the checks after each step once it has been in no queue for ten minutes', async () => {
    await lost();
    expect(world.now()).not.toContain(ORACLE);
    harness.clock.advance(10 * MINUTE_MS);
    expect(world.now()).toContain(ORACLE);
  });

  test('is not reported while an inquiry about its payment is queued, because the inquiry reads the charge again', async () => {
    await OPEN['an open dispute']?.open();
    const [entry] = await harness.store.inquiries();
    await closeInquiries();
    const inquiry = { ...booksInquiry(request.paymentId, harness.clock.nowMs()), ...entry };
    const own = { ...inquiry, operationId: storedOperationId(request.paymentId), waitsFor: 'payer' as const };
    const { Item } = inquiryItem(TABLES, own).Put ?? {};
    await harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    expect(world.now()).not.toContain(ORACLE);
    harness.clock.advance(10 * MINUTE_MS);
    expect(world.now()).not.toContain(ORACLE);
    await closeInquiries();
    expect(world.now()).not.toContain(ORACLE);
    harness.clock.advance(10 * MINUTE_MS);
    expect(world.now()).toContain(ORACLE);
  });

  test('is not reported if it is queued again within ten minutes', async () => {
    await lost();
    expect(world.now()).not.toContain(ORACLE);
    await read(String(harness.processor.inside.all.at(-1)?.chargeId));
    expect(world.now()).not.toContain(ORACLE);
    await closeInquiries();
    harness.clock.advance(10 * MINUTE_MS);
    expect(world.now()).not.toContain(ORACLE);
  });
});

describe('an object in no queue is excused', () => {
  const lost = async (): Promise<string> => {
    const chargeId = await chargeAgain('tok_async');
    await closeInquiries();
    expect(found()).toEqual(['the charge, pending,']);
    return chargeId;
  };

  test('by an inquiry about all charges of its payment', async () => {
    await lost();
    const Item = inquiryItem(TABLES, booksInquiry(request.paymentId, harness.clock.nowMs())).Put?.Item;
    await harness.store.database.client.send(new PutCommand({ TableName: TABLES.registry, Item }));
    expect(found()).toEqual([]);
  });

  test('by an alarm about a callback that was given up', async () => {
    const about = await lost();
    world.alarms.push({ metric: 'undecidable', about, atMs: harness.clock.nowMs(), count: 1, dimensions: {} });
    expect(found()).toEqual([]);
  });

  test('by an alarm about a charge that names another payment', async () => {
    const chargeId = await lost();
    const { metadata } = await harness.processor.inside.read(chargeId);
    await harness.processor.inside.correct(chargeId, { metadata: { ...metadata, operation: 'pay_other' } });
    await read(chargeId);
    await closeInquiries();
    const atMs = harness.clock.nowMs();
    world.alarms.push({ metric: 'contradiction', about: request.paymentId, atMs, count: 1, dimensions: {} });
    expect(found()).toEqual([]);
  });

  test('by an alarm only if the alarm is about that object', async () => {
    await lost();
    const atMs = harness.clock.nowMs();
    world.alarms.push({ metric: 'undecidable', about: 'ch_other', atMs, count: 1, dimensions: {} });
    world.alarms.push({ metric: 'contradiction', about: request.paymentId, atMs, count: 1, dimensions: {} });
    expect(found()).toEqual(['the charge, pending,']);
  });
});
