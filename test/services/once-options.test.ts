import { expect, test } from '@jest/globals';
import { createOnce } from '../../lambdas/services/once.ts';

const client = { send: () => Promise.reject(new Error('a call was sent')) };

test('an event retention that is shorter than the redelivery period is refused', () => {
  const made = (events: number) => () =>
    createOnce({ table: 'points', client: client as never, retentionHours: { events } });
  expect(made(671)).toThrow('retentionHours.events 671 must be at least 672');
  expect(made(672)).not.toThrow();
});
