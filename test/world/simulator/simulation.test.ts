import { setTimeout as sleep } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { type ServiceBehavior, Simulation } from './simulation.ts';

const failed = (): Error => new Error('injected');
const SERVICE: ServiceBehavior = { throttle: failed, ambiguous: failed, lasts: [1, 1], timeoutMs: 100 };
/** Maximum number of event-loop turns. If the simulation polled during the wait, it would take far more turns. */
const MAX_TURNS = 20;

test('the simulation does not poll while it waits for a call to a real system', async () => {
  const simulation = new Simulation(1, 0);
  const turns = jest.spyOn(globalThis, 'setImmediate');
  let answered: string | undefined;
  const real = () => sleep(50).then(() => 'answer');
  void simulation.spawn('caller', 'test', async (process) => {
    answered = await process.call('real call', SERVICE, () => simulation.outside(real()));
  });
  await simulation.run(1_000);
  expect(answered).toBe('answer');
  expect(turns.mock.calls.length).toBeLessThan(MAX_TURNS);
});

test('the error of a failed call to a real system is thrown to the caller', async () => {
  const simulation = new Simulation(1, 0);
  const ended = simulation.spawn('caller', 'test', (process) =>
    process.call('real call', SERVICE, () => simulation.outside(Promise.reject(new Error('refused')))),
  );
  await simulation.run(1_000);
  expect(await ended).toEqual({ kind: 'threw', error: new Error('refused') });
});
