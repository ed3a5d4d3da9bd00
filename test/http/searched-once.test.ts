import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { SimulatedIntake } from '../intake/intake-site.ts';
import { Api } from '../world/api.ts';
import { createSandboxInProcess } from '../world/sandbox-in-process.ts';

/** Every search for card numbers and secrets begins by normalizing its text with `normalize`. */
let folding: jest.SpiedFunction<typeof String.prototype.normalize>;
beforeEach(() => {
  folding = jest.spyOn(String.prototype, 'normalize');
});
afterEach(() => {
  jest.restoreAllMocks();
});

/** A marked text counts alone or as a part of a longer text. */
function searches(): readonly number[] {
  const searched = folding.mock.contexts.map(String);
  return MARKS.map((mark) => searched.filter((text) => text.includes(mark)).length);
}

const MARKS = ['mark-description', 'mark_name', 'mark-value', 'mark-reference'];
const NOTES = { metadata: { mark_name: 'mark-value' }, reference: 'mark-reference' };

describe('the search for card numbers and secrets in requests', () => {
  const BODY = { ...NOTES, description: 'mark-description' };

  test.each([
    ['accepted', BODY],
    ['refused by the schema', { ...BODY, amount: 0 }],
    ['refused for an unknown field', { ...BODY, unknown: 1 }],
    ['refused for a field of its metadata', { ...BODY, metadata: { mark_name: 'mark-value\u0007' } }],
  ])('reads each text only once if the request is %s', async (_how, body) => {
    await new Api().pay('k-1', body);
    expect(searches()).toEqual([1, 1, 1, 1]);
  });

  test('reads a field name once even if the response repeats it', async () => {
    const { body } = await new Api().pay('k-1', { mark_name: 'mark-value' });
    expect(body).toMatchObject({ code: 'unknown_field', param: 'mark_name' });
    expect(searches()).toEqual([0, 1, 1, 0]);
  });

  test('reads the name and value of a query parameter once', async () => {
    const { body } = await new Api().get('/v1/payments?mark_name=mark-value');
    expect(body).toMatchObject({ code: 'unknown_parameter', param: 'mark_name' });
    expect(searches()).toEqual([0, 1, 1, 0]);
  });
});

describe('field names that together form a card number', () => {
  const NAMED = { metadata: { 424242424242: { 4242: 'sk_live_0123456789' } } };

  test('are not repeated in a response', async () => {
    const { body } = await new Api().pay('k-1', NAMED);
    expect(body).toMatchObject({ code: 'secret_not_allowed' });
    expect(body).not.toHaveProperty('param');
  });

  test('are not stored with a parked event', async () => {
    const site = new SimulatedIntake();
    await site.deliver(site.inQueue(JSON.stringify(site.request(NAMED))));
    expect(site.parkedReasons).toEqual(['malformed']);
    expect(JSON.stringify(site.queues.parked)).not.toContain('424242424242');
  });
});

describe('the search for card numbers and secrets in events', () => {
  const away = {
    charge: () => Promise.reject(new RetryableError('processor_unavailable', 'the processor is unavailable')),
  };
  const broken = { charge: () => Promise.reject(new TypeError('a bug')) };

  test.each([
    ['accepted', {}, {}],
    ['malformed', { amount: 0 }, {}],
    ['sent for the wrong account', { account_to: 'ten_none' }, {}],
    ['too old', { timestamp: '2020-01-01T00:00:00Z' }, {}],
    ['received while the processor is unavailable', {}, away],
    ['interrupted by a bug', {}, broken],
  ])('reads each text only once, on every transport, if the event is %s', async (_how, changes, charge) => {
    const site = new SimulatedIntake();
    const processor = { processor: { ...createSandboxInProcess({ clock: site.world.clock }), ...charge } };
    const sent = () => site.request({ ...NOTES, ...changes });
    for (const deliver of [
      () => site.deliver(site.onBus(sent()), processor),
      () => site.deliver(site.inQueue(JSON.stringify(sent())), processor),
      () => site.deliver(site.onSubject(JSON.stringify(sent())), processor),
      () => site.process(processor)(site.inTopic(JSON.stringify(sent()))),
    ]) {
      folding.mockClear();
      await deliver();
      expect(searches()).toEqual([0, 1, 1, 1]);
    }
  });

  test('reads the text of an event only once if it is not JSON', async () => {
    const site = new SimulatedIntake();
    await site.deliver(site.inQueue('{"mark-value"'));
    expect(site.parkedReasons).toEqual(['malformed']);
    expect(searches()).toEqual([0, 0, 1, 0]);
  });
});
