import { describe, expect, test } from '@jest/globals';
import { type Lookup, nextStep, type SettlementState } from '../../lambdas/payments/domain/settlement.ts';
import { fc } from '../support/properties.ts';

const CLAIMED = Date.UTC(2026, 2, 1, 12);
const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const STRONG: Lookup = { kind: 'strong' };

/** By default, a crashed owner may have sent the request. @param minutes time since the claim */
function at(minutes: number, changes: Partial<SettlementState> = {}) {
  return nextStep({
    nowMs: CLAIMED + minutes * MINUTE,
    claimedAtMs: CLAIMED,
    abilities: { lookup: STRONG, keyRetentionMs: DAY },
    sent: 'maybe',
    sends: 0,
    lookedUp: undefined,
    timeLeft: true,
    ...changes,
  });
}

const claimsLost = { lookup: STRONG, keyRetentionMs: DAY, claimsLost: true };
const noLookup = { abilities: { lookup: { kind: 'none' } as const, keyRetentionMs: DAY } };

describe('a request that was never sent', () => {
  test('is sent up to fifteen minutes after the claim', () => {
    expect(at(0, { sent: 'nothing' })).toEqual({ do: 'send' });
    expect(at(15, { sent: 'nothing' })).toEqual({ do: 'send' });
  });

  test('is not sent after fifteen minutes, because the payer may have left the checkout', () => {
    expect(at(15.01, { sent: 'nothing' })).toEqual({ do: 'conclude', fact: 'not_attempted' });
  });
});

describe('settlement after a loss of claims', () => {
  test('looks the charge up before it sends the request of a first claim, and sends only if nothing is found', () => {
    const first = { abilities: claimsLost, sent: 'nothing' } as const;
    expect(at(0, first)).toEqual({ do: 'ask' });
    expect(at(0, { ...first, lookedUp: 'absent' })).toEqual({ do: 'send' });
    expect(at(0, { ...first, lookedUp: 'unavailable' })).toEqual({ do: 'conclude', fact: 'unknown' });
  });

  test('sends the request of a first claim to a processor without idempotency keys only if the look-up proves absence', () => {
    const first = { sent: 'nothing', lookedUp: 'absent' } as const;
    const keyless = { ...claimsLost, keyRetentionMs: 0 };
    const late: Lookup = { kind: 'eventual', maxLagMs: 60 * MINUTE };
    expect(at(0, { ...first, abilities: keyless })).toEqual({ do: 'send' });
    expect(at(0, { ...first, abilities: keyless, timeLeft: false })).toEqual({ do: 'send' });
    expect(at(0, { ...first, sent: 'maybe', abilities: keyless })).toEqual({ do: 'conclude', fact: 'unknown' });
    expect(at(0, { ...first, abilities: { ...keyless, lookup: late } })).toEqual({ do: 'conclude', fact: 'unknown' });
  });

  test('leaves the outcome unknown if the look-up fails, even for a new owner', () => {
    expect(at(1, { abilities: claimsLost, lookedUp: 'unavailable' })).toEqual({ do: 'conclude', fact: 'unknown' });
  });
});

describe('settlement of a request that may have been sent', () => {
  test('queries the processor first', () => {
    expect(at(1)).toEqual({ do: 'ask' });
    expect(at(16)).toEqual({ do: 'ask' });
  });

  test('sends again with the same key within the retention period of the key', () => {
    expect(at(1, { lookedUp: 'absent' })).toEqual({ do: 'send' });
    expect(at(1, { lookedUp: 'unavailable' })).toEqual({ do: 'send' });
    expect(at(1, noLookup)).toEqual({ do: 'send' });
  });

  test('sends again only if the remaining retention period of the key exceeds the possible clock skew', () => {
    const short = { abilities: { lookup: STRONG, keyRetentionMs: 15 * MINUTE }, lookedUp: 'absent' } as const;
    expect(at(4.99, short)).toEqual({ do: 'send' });
    expect(at(5, short)).toEqual({ do: 'conclude', fact: 'unknown' });
  });

  test('sends nothing a second time to a processor without idempotency keys', () => {
    expect(at(1, { abilities: { lookup: STRONG, keyRetentionMs: 0 }, lookedUp: 'absent' })).toEqual({
      do: 'conclude',
      fact: 'unknown',
    });
  });

  test('sends at most twice per client request', () => {
    expect(at(1, { lookedUp: 'absent', sends: 2 })).toEqual({ do: 'conclude', fact: 'unknown' });
  });

  test('leaves the outcome unknown if no time remains for a send before the response is due', () => {
    expect(at(1, { lookedUp: 'absent', timeLeft: false })).toEqual({ do: 'conclude', fact: 'unknown' });
  });

  test('accepts a look-up without a result as proof of absence only half an hour after the last possible send', () => {
    expect(at(16, { lookedUp: 'absent' })).toEqual({ do: 'conclude', fact: 'unknown' });
    expect(at(44.9, { lookedUp: 'absent' })).toEqual({ do: 'conclude', fact: 'unknown' });
    expect(at(45, { lookedUp: 'absent' })).toEqual({ do: 'conclude', fact: 'not_attempted' });
  });

  test('accepts an eventually consistent look-up as proof of absence only after its maximum lag in addition to the half hour', () => {
    const abilities = { lookup: { kind: 'eventual', maxLagMs: 10 * MINUTE } as const, keyRetentionMs: DAY };
    expect(at(45, { abilities, lookedUp: 'absent' })).toEqual({ do: 'conclude', fact: 'unknown' });
    expect(at(55, { abilities, lookedUp: 'absent' })).toEqual({ do: 'conclude', fact: 'not_attempted' });
  });

  test('never accepts a failed look-up as proof that nothing was sent, no matter how much time has passed', () => {
    expect(at(600, { lookedUp: 'unavailable' })).toEqual({ do: 'conclude', fact: 'unknown' });
  });

  test('leaves the decision to an operator after the send window if the processor supports no look-up', () => {
    expect(at(16, noLookup)).toEqual({ do: 'conclude', fact: 'undecidable' });
  });
});

describe('settlement in any state', () => {
  const states = fc.record({
    nowMs: fc.integer({ min: CLAIMED - 10 * MINUTE, max: CLAIMED + 3 * DAY }),
    claimedAtMs: fc.constant(CLAIMED),
    abilities: fc.record({
      lookup: fc.constantFrom<Lookup>(STRONG, { kind: 'none' }, { kind: 'eventual', maxLagMs: MINUTE }),
      keyRetentionMs: fc.constantFrom(0, 5 * MINUTE, DAY),
    }),
    sent: fc.constantFrom('nothing' as const, 'maybe' as const),
    sends: fc.integer({ min: 0, max: 3 }),
    lookedUp: fc.constantFrom('absent' as const, 'unavailable' as const, undefined),
    timeLeft: fc.boolean(),
  });

  test('sends no request later than 15 minutes after the claim', () => {
    fc.assert(
      fc.property(states, (state) => {
        if (nextStep(state).do === 'send') expect(state.nowMs - CLAIMED).toBeLessThanOrEqual(15 * MINUTE);
      }),
    );
  });

  test('never sends after another process has proven the absence of the charge, with a clock skew of up to five minutes', () => {
    fc.assert(
      fc.property(states, fc.integer({ min: -5 * MINUTE, max: 5 * MINUTE }), (state, skewMs) => {
        const proves = { ...state, sent: 'maybe' as const, lookedUp: 'absent' as const };
        const step = nextStep(proves);
        if (step.do !== 'conclude' || step.fact !== 'not_attempted') return;
        // Two workers act at the same time, with clocks that differ by up to ten minutes.
        for (const agoMs of [0, 10 * MINUTE]) {
          const other = { ...proves, sent: 'nothing' as const, nowMs: state.nowMs - agoMs + 2 * skewMs };
          expect(nextStep(other).do).not.toBe('send');
        }
      }),
    );
  });

  test('never sends a second time after the processor’s retention of the key has ended', () => {
    fc.assert(
      fc.property(states, (state) => {
        const step = nextStep({ ...state, sent: 'maybe' });
        if (step.do === 'send') expect(state.nowMs).toBeLessThan(CLAIMED + state.abilities.keyRetentionMs);
      }),
    );
  });
});
