/** Tests the guarantee "one change". */
import { describe, expect, test } from '@jest/globals';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { CHANGE_RACES, type ChangeSubject, changeStory } from './change-story.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const subject =
  (command: ChangeCommand, rival?: ChangeCommand, earlier = 0) =>
  (): ChangeSubject => {
    const payment = paymentRequest('changed', { capture: command.kind === 'refund' ? 'automatic' : 'manual' });
    return {
      payment,
      change: change(payment, 'mine', command),
      earlier: Array.from({ length: earlier }, (_, at) =>
        change(payment, `earlier-${at}`, { kind: 'refund', amountMinor: 1 }),
      ),
      ...(rival === undefined ? {} : { rival: change(payment, 'rival', rival) }),
    };
  };

const REFUND: ChangeCommand = { kind: 'refund', amountMinor: 700 };
const CAPTURE: ChangeCommand = { kind: 'capture', amountMinor: 900 };

const CHANGES: readonly [string, ChangeCommand, ChangeCommand | undefined, number][] = [
  ['a capture and its duplicate', CAPTURE, undefined, 0],
  ['a capture and a cancellation', CAPTURE, { kind: 'cancel' }, 0],
  ['a cancellation and its duplicate', { kind: 'cancel' }, undefined, 0],
  ['a refund and its duplicate', REFUND, undefined, 0],
  ['two refunds of 70 out of 100', REFUND, { kind: 'refund', amountMinor: 700 }, 0],
  ['a refund after other refunds, and its duplicate', REFUND, undefined, 3],
  ['two refunds of 70 out of 100 after other refunds', REFUND, { kind: 'refund', amountMinor: 700 }, 3],
];

describe('the guarantees of a change with a concurrent retry or a competing change', () => {
  // Each slice contains every race, but combines it with different changes than the other slices.
  const raced = CHANGES.flatMap(([what]) => CHANGE_RACES.map((race) => ({ what, race })));
  const played = Map.groupBy(sliceOf(raced, 5), ({ what }) => what);

  test.each(CHANGES)('hold for %s under every single fault at every call', async (what, command, rival, earlier) => {
    const { histories, findings } = await surveyFaults(changeStory(subject(command, rival, earlier)), {
      faults: 1,
      races: played.get(what)?.map(({ race }) => race) ?? [],
      oneOf: 23,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(200, { slice: 4 }));
  });

  test('hold for a refund under every pair of faults at any two calls', async () => {
    const { histories, findings } = await surveyFaults(changeStory(subject(REFUND)), {
      faults: 2,
      races: CHANGE_RACES,
      oneOf: [3, 11, 29],
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(3_000, { slice: 25 }));
  });
});
