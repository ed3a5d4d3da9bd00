import { expect, jest, test } from '@jest/globals';
import { Direction } from '../../bridge/health.ts';

test('a call that fails after the success of a later one does not make the bridge fail', () => {
  const output = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const direction = new Direction('events');
  const begunAtMs = Date.now() - 5_000;
  direction.succeeded();
  direction.failed(new Error('the server was away'), begunAtMs);
  expect(direction.counts()).toMatchObject({ carried: 1, failures: 1, failing: false });
  direction.failed(new Error('the server is away'));
  expect(direction.isFailing).toBe(true);
  output.mockRestore();
});
