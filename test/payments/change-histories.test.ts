/** Tests the guarantee "one change". */
import { describe, expect, test } from '@jest/globals';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { surveyFaults } from '../support/fault-histories.ts';
import { sliceOf, whole } from '../support/slice.ts';
import { CHANGE_RACES, type ChangeSubject, changeStory } from './change-story.ts';
import { change, paymentRequest } from './payment-fixtures.ts';

const subject = (command: ChangeCommand, rival?: ChangeCommand) => (): ChangeSubject => {
  const payment = paymentRequest('changed', { capture: command.kind === 'refund' ? 'automatic' : 'manual' });
  return {
    payment,
    change: change(payment, 'mine', command),
    ...(rival === undefined ? {} : { rival: change(payment, 'rival', rival) }),
  };
};

const REFUND: ChangeCommand = { kind: 'refund', amountMinor: 700 };
const CAPTURE: ChangeCommand = { kind: 'capture', amountMinor: 900 };

describe('the guarantees of a change, its retry and a rival', () => {
  test.each<[string, ChangeCommand, ChangeCommand | undefined]>([
    ['a capture and its duplicate', CAPTURE, undefined],
    ['a capture and a cancellation', CAPTURE, { kind: 'cancel' }],
    ['a cancellation and its duplicate', { kind: 'cancel' }, undefined],
    ['a refund and its duplicate', REFUND, undefined],
    ['two refunds of 70 out of 100', REFUND, { kind: 'refund', amountMinor: 700 }],
  ])('hold for %s under every single fault at every call', async (_what, command, rival) => {
    const { histories, findings } = await surveyFaults(changeStory(subject(command, rival)), {
      faults: 1,
      races: CHANGE_RACES,
      oneOf: 37,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(200, { slice: 4 }));
  });

  test('hold for a refund under every pair of faults at any two calls', async () => {
    const { histories, findings } = await surveyFaults(changeStory(subject(REFUND)), {
      faults: 2,
      races: sliceOf(CHANGE_RACES, 3),
      oneOf: 307,
    });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(3_000, { slice: 50 }));
  });
});
