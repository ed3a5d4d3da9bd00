/** Tests the guarantee "published outcomes". */
import { describe, expect, test } from '@jest/globals';
import { eventOf } from '../../lambdas/events/domain/event.ts';
import { detailsOf } from '../../lambdas/payments/domain/transition.ts';
import { type HistoryRun, surveyFaults } from '../support/fault-histories.ts';
import { Actor, FaultPlan, type PlannedFault } from '../support/fault-plan.ts';
import { whole } from '../support/slice.ts';
import { chains, type Relay, RelayHarness } from './relay-harness.ts';

const POISON = { position: '999', whole: '{"poison":true}', content: { kind: 'unreadable', detail: 'type' } } as const;

/** The middle of the Stream has a poison record. */
async function runHistory(faults: readonly PlannedFault[], how?: Relay): Promise<HistoryRun> {
  const harness = new RelayHarness(chains(2), how);
  harness.records.splice(3, 0, POISON);
  const plan = new FaultPlan(faults);
  let started = 0;
  await harness.pump(() => new Actor(`relay-${++started}`, plan));
  const calls = [...plan.calls];
  const violations = harness.expected
    .filter((id) => !harness.publishedIds.includes(id))
    .map((id) => `I4: ${id} was never published`);
  for (const id of new Set(harness.publishedIds)) {
    if (!harness.expected.includes(id)) violations.push(`${id} is not an event of the Ledger`);
  }
  if (!harness.parked.some(({ body }) => body === POISON.whole)) violations.push('the poison record was lost');
  return { calls, violations };
}

/** Ignores the results and errors of its calls. */
const naive: Relay = async ({ publisher, transitions, parking, digest }, records) => {
  for (const { content, whole: body } of records) {
    if (content.kind === 'unreadable') await parking.park({ body, reason: '', detail: '' }).catch(() => undefined);
    if (content.kind !== 'transition') continue;
    const { transition } = content;
    if (!('payment' in transition)) continue;
    const first = await transitions.readTransition({ paymentId: transition.payment.id, sequence: 1 });
    if (first === undefined) continue;
    await publisher.publish([eventOf(digest, transition, detailsOf(first))]).catch(() => undefined);
  }
  return { published: records.length, parked: 0, tampered: 0 };
};

describe('the relay', () => {
  test('publishes every outcome and parks poison records despite a single fault at any call', async () => {
    const { histories, findings } = await surveyFaults(runHistory, { faults: 1 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(20);
  });

  test('publishes every outcome and parks poison records despite two faults at any two calls', async () => {
    const { histories, findings } = await surveyFaults(runHistory, { faults: 2, oneOf: 7 });
    expect(findings.slice(0, 3)).toEqual([]);
    expect(histories).toBeGreaterThan(whole(300, { slice: 50 }));
  });

  test('loses outcomes if it ignores the results of its calls', async () => {
    const { findings } = await surveyFaults((faults) => runHistory(faults, naive), { faults: 1 });
    expect(findings.flatMap(({ violations }) => violations)).toEqual(
      expect.arrayContaining([expect.stringContaining('was never published'), 'the poison record was lost']),
    );
  });
});
