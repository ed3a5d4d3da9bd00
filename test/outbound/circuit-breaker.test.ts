import { beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError } from '../../lambdas/kernel/faults.ts';
import { type CircuitBreaker, createCircuitBreaker } from '../../lambdas/outbound/circuit-breaker.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const OPEN = { name: 'RetryableError', code: 'acme_circuit_open', retryAfterSeconds: 10 };
const failure = () => new RetryableError('acme_unreachable', 'no');
const refusal = () => new RetryableError('acme_rate_limited', 'no');

describe('the circuit breaker of a vendor', () => {
  let clock: SimulatedClock;
  let breaker: CircuitBreaker;
  let opened: number;
  let probes: number;
  let probe: () => Promise<void>;

  beforeEach(() => {
    clock = new SimulatedClock();
    opened = 0;
    probes = 0;
    probe = async () => undefined;
    breaker = createCircuitBreaker({
      settings: { consecutiveFailures: 5, openForMs: 10_000 },
      clock,
      party: 'acme',
      probe: () => {
        probes += 1;
        return probe();
      },
      isFailure: (error) => error instanceof RetryableError && error.code === 'acme_unreachable',
      onOpened: () => {
        opened += 1;
      },
    });
  });

  const answer = async () => 'done';
  const fail = async (times: number, error: () => Error = failure) => {
    for (let made = 0; made < times; made += 1) {
      await breaker.write(() => Promise.reject(error())).catch(() => undefined);
    }
  };
  const inFlight = (effect: 'read' | 'write') => {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    return { ended: breaker[effect](() => promise).catch((error: unknown) => error), resolve, reject };
  };

  test('opens at the fifth consecutive failure', async () => {
    await fail(4);
    expect([breaker.isClosed(), opened]).toEqual([true, 0]);
    await fail(1);
    expect([breaker.isClosed(), opened]).toEqual([false, 1]);
  });

  test('counts the failures since the last success, and ignores errors unrelated to availability', async () => {
    await fail(4);
    await breaker.write(answer);
    await fail(4);
    await fail(3, refusal);
    expect(breaker.isClosed()).toBe(true);
    await fail(1);
    expect(breaker.isClosed()).toBe(false);
  });

  test('refuses every call for ten seconds, then sends one probe every ten seconds', async () => {
    await fail(5);
    probe = () => Promise.reject(new Error('still down'));
    for (let second = 0; second < 60; second += 1) {
      await expect(breaker.write(answer)).rejects.toMatchObject(OPEN);
      clock.advance(1_000);
    }
    expect([probes, opened]).toEqual([5, 6]);
    await expect(breaker.ready()).rejects.toMatchObject({ ...OPEN, cause: new Error('still down') });
    expect([probes, opened]).toEqual([6, 7]);
  });

  test('refuses a read during the pause', async () => {
    await fail(5);
    clock.advance(9_999);
    await expect(breaker.read(answer)).rejects.toMatchObject(OPEN);
    clock.advance(1);
    expect(await breaker.read(answer)).toBe('done');
    expect([breaker.isClosed(), probes]).toEqual([true, 0]);
  });

  test('neither closes nor extends its pause when a call ends that started before the breaker opened', async () => {
    const [good, bad] = [inFlight('write'), inFlight('write')];
    await fail(5);
    clock.advance(9_000);
    bad.reject(failure());
    expect(await bad.ended).toEqual(failure());
    good.resolve('done');
    expect(await good.ended).toBe('done');
    expect([breaker.isClosed(), opened]).toEqual([false, 1]);
    clock.advance(1_000);
    await breaker.ready();
    expect([breaker.isClosed(), probes]).toEqual([true, 1]);
  });

  test('sends no concurrent write before the single probe has succeeded', async () => {
    await fail(5);
    clock.advance(10_000);
    const { promise, resolve } = Promise.withResolvers<void>();
    probe = () => promise;
    let sent = 0;
    const writes = Array.from({ length: 20 }, () =>
      breaker.write(async () => {
        sent += 1;
      }),
    );
    await new Promise(setImmediate);
    expect([sent, probes]).toEqual([0, 1]);
    resolve();
    await Promise.all(writes);
    expect([sent, probes]).toEqual([20, 1]);
  });

  test('uses the first concurrent read as the probe, and sends the other reads after the probe succeeds', async () => {
    await fail(5);
    clock.advance(10_000);
    const first = inFlight('read');
    let sent = 0;
    const later = Array.from({ length: 3 }, () =>
      breaker.read(async () => {
        sent += 1;
      }),
    );
    const write = breaker.write(answer);
    await new Promise(setImmediate);
    expect(sent).toBe(0);
    first.resolve('found');
    expect(await first.ended).toBe('found');
    await Promise.all([...later, write]);
    expect([sent, probes]).toEqual([3, 0]);
  });

  test('refuses the other concurrent reads if the probe fails, and probes again after the pause', async () => {
    await fail(5);
    clock.advance(10_000);
    const first = inFlight('read');
    const later = Array.from({ length: 3 }, () => breaker.read(answer));
    const write = breaker.write(answer);
    const refused = Promise.all([...later, write].map((each) => expect(each).rejects.toMatchObject(OPEN)));
    first.reject(failure());
    expect(await first.ended).toEqual(failure());
    await refused;
    expect([breaker.isClosed(), probes, opened]).toEqual([false, 0, 2]);
  });

  test('closes after a probe that the vendor refuses, because a refusal is a response', async () => {
    await fail(5);
    clock.advance(10_000);
    await expect(breaker.read(() => Promise.reject(refusal()))).rejects.toMatchObject({ code: 'acme_rate_limited' });
    expect(breaker.isClosed()).toBe(true);
  });

  test('needs five new failures after it has closed', async () => {
    await fail(5);
    clock.advance(10_000);
    await breaker.ready();
    await fail(4);
    expect(breaker.isClosed()).toBe(true);
    await fail(1);
    expect([breaker.isClosed(), opened]).toEqual([false, 2]);
  });

  test.each(Array.from({ length: 12 }, (_, later) => later))(
    'sends no write if other calls open the breaker %i microtasks after the probe',
    async (later) => {
      const others = Array.from({ length: 5 }, () => inFlight('write'));
      await fail(5);
      clock.advance(10_000);
      const { promise, resolve } = Promise.withResolvers<void>();
      probe = () => promise;
      let whenSent = true;
      const write = breaker.write(async () => {
        whenSent = breaker.isClosed();
      });
      const ended = write.catch((error: unknown) => error);
      resolve();
      for (let tick = 0; tick < later; tick += 1) await Promise.resolve();
      for (const other of others) other.reject(failure());
      await Promise.all([ended, ...others.map((other) => other.ended)]);
      expect(whenSent).toBe(true);
    },
  );
});
