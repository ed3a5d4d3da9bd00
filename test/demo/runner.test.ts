import { describe, expect, test } from '@jest/globals';
import { countRepeatedly } from '../../demo/counts.ts';
import { causeFailure, sideBySide } from '../../demo/runner.ts';
import { type Scenario, TooLate } from '../../demo/scenarios.ts';
import { Side, type SideConfig } from '../../demo/side.ts';
import type { Counts } from '../../demo/verdict.ts';
import type { Charge } from '../../lambdas/processors/sandbox/sandbox-api.ts';

const ONCE: Counts = { atProcessor: 1, postings: 1, events: 1, effects: 1 };
const TWICE: Counts = { atProcessor: 2, postings: 2, events: 2, effects: 2 };

/** Each payment counts as often as it occurs in `paid`. */
function sideOf(paid: readonly string[]): Side {
  const times = (payment: string): readonly string[] => paid.filter((each) => each === payment);
  const kind = 'payment.completed';
  const config: Partial<SideConfig> = {
    paymentOf: (key) => key,
    paymentOfEvent: (eventId) => `event ${eventId}`,
    postings: async (payment) => times(payment).length,
    receipts: async (payment) =>
      times(payment).flatMap((_, index) => [
        { row: 'delivery', kind, eventId: String(index) },
        { row: 'effect', kind },
      ]),
  };
  const side = new Side(config as SideConfig);
  side.charges = async (payment) => times(payment).map(() => ({ amount_captured: 1 }) as Charge);
  return side;
}

const scenarioOf = (id: string, provoke: Scenario['provoke'], more: Partial<Scenario> = {}): Scenario => ({
  id,
  trouble: `the trouble ${id}`,
  moves: 'charge',
  provoke,
  ...more,
});

describe('a failure', () => {
  test('is provoked again with a new key if it happened too late, and the payment with the new key is counted', async () => {
    const keys: string[] = [];
    const scenario = scenarioOf('late', async (_, key) => {
      if (keys.push(key) < 3) throw new TooLate();
    });
    const { subject } = await causeFailure(sideOf([]), scenario, 'late');
    expect(keys).toEqual(['late', 'late-2', 'late-3']);
    expect(subject.payment).toBe('late-3');
  });

  test('is reported if every attempt to provoke it is too late', async () => {
    const scenario = scenarioOf('late', () => Promise.reject(new TooLate()));
    await expect(causeFailure(sideOf([]), scenario, 'late')).rejects.toThrow(
      'late: the response arrived before the failure 20 times',
    );
  });

  test('is reported immediately if it could not be caused', async () => {
    let attempts = 0;
    const scenario = scenarioOf('crash', async () => {
      attempts += 1;
      throw new Error('there was no process to kill');
    });
    await expect(causeFailure(sideOf([]), scenario, 'crash')).rejects.toThrow('there was no process to kill');
    expect(attempts).toBe(1);
  });

  test('affects the payment that an event requested, if the scenario requests its payment by this event', async () => {
    let eventId = '';
    const scenario = scenarioOf('event', async (_, key) => void (eventId = key), { isByEvent: true });
    expect((await causeFailure(sideOf([]), scenario, 'event')).subject.payment).toBe(`event ${eventId}`);
    expect(eventId).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  });
});

test('the comparison runs scenarios in the order of `turn`, counts after the retries, and returns the findings in the given order', async () => {
  const paid: { naive: string[]; payonce: string[] } = { naive: [], payonce: [] };
  const sides = { naive: sideOf(paid.naive), payonce: sideOf(paid.payonce) };
  const paidOn = (side: Side): string[] => (side === sides.naive ? paid.naive : paid.payonce);
  const scenarios = [
    scenarioOf('last', async (side, key) => void paidOn(side).push(key)),
    scenarioOf('first', async (side, key) => void paidOn(side).push(key), {
      turn: 1,
      retry: async (side, key) => {
        await new Promise(setImmediate);
        if (side === sides.naive) paidOn(side).push(key);
      },
    }),
  ];
  const steps: string[] = [];
  const caused: string[] = [];
  const findings = await sideBySide(
    sides,
    scenarios,
    (text) => steps.push(text),
    (name, { payment }) => caused.push(`${name} ${payment.replace(/^demo-\w+-/, '')}`),
  );
  expect(steps).toEqual([
    'naive: the trouble first',
    'Payonce: the trouble first',
    'naive: the trouble last',
    'Payonce: the trouble last',
    'waiting until all counts are stable',
  ]);
  expect(caused).toEqual(['naive first', 'payonce first', 'naive last', 'payonce last']);
  expect(findings).toMatchObject([
    { trouble: 'the trouble last', naive: ONCE, payonce: ONCE },
    { trouble: 'the trouble first', naive: TWICE, payonce: ONCE },
  ]);
});

test('repeated counting continues after a failed count, and ends when the signal aborts', async () => {
  const side = sideOf(['key']);
  const charges = side.charges.bind(side);
  side.charges = async (payment) => {
    side.charges = charges;
    throw new Error(`the processor does not answer about ${payment}`);
  };
  const shown = new AbortController();
  const counted: Counts[] = [];
  await countRepeatedly(
    side,
    { payment: 'key', moves: 'charge' },
    (counts) => {
      counted.push(counts);
      shown.abort();
    },
    shown.signal,
  );
  expect(counted).toEqual([ONCE]);
});
