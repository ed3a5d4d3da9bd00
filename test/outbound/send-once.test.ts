import { beforeEach, describe, expect, test } from '@jest/globals';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import type { Clock } from '../../lambdas/kernel/world.ts';
import { createOutboundPolicy } from '../../lambdas/outbound/outbound-policy.ts';
import { type SendOutcome, sendOnce } from '../../lambdas/outbound/send-once.ts';
import type { SendingClaims } from '../../lambdas/outbound/use/sending-claims.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

const MINUTE_MS = 60_000;
const PATIENCE_MS = 4_000;
/** Time for which a sent e-mail is missing from the vendor's search, in milliseconds. */
const LAG_MS = MINUTE_MS;
/** Assumed maximum of the lag of the vendor's search, in milliseconds. */
const MAX_LAG_MS = 5 * MINUTE_MS;

interface Attempt {
  readonly worker: Clock;
  readonly vendor: 'answers' | 'is_silent' | 'kills_its_caller';
  readonly search: 'lags' | 'is_strong' | 'is_away';
}

describe('two workers whose clocks differ by ten minutes', () => {
  let real: SimulatedClock;
  let current: Clock;
  let claims: SendingClaims;
  /** The times at which the vendor accepted an e-mail. */
  let taken: number[];
  let slow: Clock;
  let fast: Clock;

  const workerClock = (offMs: number): Clock => ({
    nowMs: () => real.nowMs() + offMs,
    sleep: (milliseconds) => real.sleep(milliseconds),
  });

  beforeEach(() => {
    real = new SimulatedClock();
    slow = workerClock(-5 * MINUTE_MS);
    fast = workerClock(5 * MINUTE_MS);
    current = slow;
    // Both workers use the same row, each with its own clock.
    claims = new Stores({ nowMs: () => current.nowMs(), sleep: (ms) => current.sleep(ms) }).sendingClaims('postmark');
    taken = [];
  });

  function attempt({ worker, vendor, search }: Attempt): Promise<SendOutcome> {
    current = worker;
    const policy = createOutboundPolicy({
      vendor: 'postmark',
      clock: worker,
      entropy: { fraction: () => 1 },
      observer: { count: () => {} },
      deadLetters: { put: async () => {} },
      timeoutMs: PATIENCE_MS,
      probe: async () => {},
    });
    const isStrong = search === 'is_strong';
    const lagMs = isStrong ? 0 : LAG_MS;
    return sendOnce(
      { policy, claims, clock: worker },
      {
        key: 'receipt',
        operation: 'email.send',
        deadlineMs: worker.nowMs() + PATIENCE_MS,
        send: async () => {
          if (vendor === 'kills_its_caller') throw new Error('the process crashed while sending');
          taken.push(real.nowMs());
          if (vendor === 'is_silent') throw new AmbiguousError('postmark_timeout', 'no answer');
          return { kind: 'sent', vendorId: `m${taken.length}` };
        },
        lookUp: {
          find: async () => {
            if (search === 'is_away') throw new RetryableError('postmark_unreachable', 'no connection');
            return taken.some((atMs) => real.nowMs() >= atMs + lagMs)
              ? { kind: 'found', answer: { kind: 'sent', vendorId: 'm1' } }
              : { kind: 'absent' };
          },
          maxLagMs: isStrong ? 0 : MAX_LAG_MS,
          isStrong,
        },
        withinCall: 'never',
        payload: {},
      },
    );
  }

  test("send one e-mail even while the vendor's search lags", async () => {
    await expect(attempt({ worker: slow, vendor: 'is_silent', search: 'lags' })).rejects.toThrow('no answer');
    real.advance(15_000);
    const early = attempt({ worker: fast, vendor: 'answers', search: 'lags' });
    await expect(early).rejects.toMatchObject({ code: 'postmark_too_early_to_tell' });
    real.advance(MINUTE_MS);
    const found = await attempt({ worker: fast, vendor: 'answers', search: 'lags' });
    expect([found, taken.length]).toEqual([{ kind: 'sent', vendorId: 'm1' }, 1]);
  });

  test('do not send while the other worker may still send, even with a strongly consistent search', async () => {
    await expect(attempt({ worker: slow, vendor: 'kills_its_caller', search: 'is_strong' })).rejects.toThrow('crashed');
    real.advance(1_000);
    const early = attempt({ worker: fast, vendor: 'answers', search: 'is_strong' });
    await expect(early).rejects.toMatchObject({ code: 'postmark_too_early_to_tell' });
    real.advance(PATIENCE_MS + 5_000);
    expect(await attempt({ worker: fast, vendor: 'answers', search: 'is_strong' })).toEqual({
      kind: 'sent',
      vendorId: 'm1',
    });
  });

  test('can send immediately after the recorded end of the other worker’s send, with a strongly consistent search', async () => {
    const silent = attempt({ worker: slow, vendor: 'is_silent', search: 'is_strong' });
    await expect(silent).rejects.toThrow('no answer');
    taken = []; // The vendor never received the e-mail.
    expect(await attempt({ worker: fast, vendor: 'answers', search: 'is_strong' })).toEqual({
      kind: 'sent',
      vendorId: 'm1',
    });
  });

  test('report an unknown outcome while the vendor cannot be searched', async () => {
    await expect(attempt({ worker: slow, vendor: 'is_silent', search: 'lags' })).rejects.toThrow('no answer');
    const away = attempt({ worker: slow, vendor: 'answers', search: 'is_away' });
    await expect(away).rejects.toMatchObject({ name: 'AmbiguousError', code: 'postmark_unreachable' });
    expect(taken).toHaveLength(1);
  });
});
