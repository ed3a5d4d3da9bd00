import { expect, jest, test } from '@jest/globals';
import { Direction } from '../../bridge/health.ts';

test('a failed call does not make the bridge unhealthy if a call that began later has already succeeded', () => {
  const output = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const direction = new Direction('events');
  const begunAtMs = Date.now() - 5_000;
  direction.succeeded();
  direction.failed(new Error('the server was unavailable'), begunAtMs);
  expect(direction.counts()).toMatchObject({ carried: 1, failures: 1, failing: false });
  direction.failed(new Error('the server is unavailable'));
  expect(direction.isFailing).toBe(true);
  output.mockRestore();
});
