import { globSync } from 'node:fs';
import { basename } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { FUNCTIONS } from './functions.ts';
import { SimulatedSystem } from './system.ts';

async function payAndRefund(seed: number, crashes: number): Promise<SimulatedSystem> {
  const system = await SimulatedSystem.begin(seed);
  system.deploy({ faults: { crash_before: crashes, crash_after: crashes, ambiguous_applied: crashes } });
  const post = (path: string, key: string, body: object) =>
    system.api({ step: 1, tenant: 'shop', method: 'POST', path, key, body });
  system.at(system.nowMs + 1_000, 'step 1', async () => {
    const paid = await post('/v1/payments', 'pay', { amount: 1000, currency: 'EUR', source: 'tok_ok' });
    if (paid.answer?.status !== 201) return;
    const { id } = JSON.parse(paid.answer.body) as { readonly id: string };
    await post(`/v1/payments/${id}/refunds`, 'refund', { amount: 300 });
  });
  await system.run(system.nowMs + 3_600_000);
  await system.becomeQuiet(40);
  return system;
}

describe('the simulated system', () => {
  test('has every function except those for documents, audits and the jobs of other services', () => {
    const names = globSync('lambdas/functions/*.ts').map((file) => basename(file, '.ts'));
    const others = names.filter((name) => !(name in FUNCTIONS));
    expect(others.sort()).toEqual(['api-documents', 'archive-auditor', 'audit', 'job-targets']);
  });

  test('processes a payment and a refund, publishes their events, and leaves no message in a queue', async () => {
    const system = await payAndRefund(1, 0);

    expect(system.calls.map(({ answer }) => answer?.status)).toEqual([201, 201]);
    expect(system.processors['sandbox']?.inside.all).toMatchObject([
      { capturedMinor: 1000, refunds: [{ amountMinor: 300, status: 'succeeded' }] },
    ]);
    expect(system.published.map(({ detailType }) => detailType)).toEqual([
      'payment.completed.v1',
      'refund.completed.v1',
    ]);
    expect(Object.values(system.queues).every((left) => left === 0)).toBe(true);
    expect(system.reported).toEqual([]);
  });

  test('keeps a processor down until the last of its overlapping outages has ended', async () => {
    const system = await SimulatedSystem.begin(1);
    const pay = () =>
      system.api({
        step: 1,
        tenant: 'shop',
        method: 'POST',
        path: '/v1/payments',
        key: `key-${system.nowMs}`,
        body: { amount: 1000, currency: 'EUR', source: 'tok_ok' },
      });
    const outage = (atMs: number, forMs: number): void => {
      system.at(system.nowMs + atMs, `down at ${atMs}`, () => system.processorUp('sandbox', false));
      system.at(system.nowMs + atMs + forMs, `up of ${atMs}`, () => system.processorUp('sandbox', true));
    };
    outage(1_000, 10_000);
    outage(2_000, 60_000);
    for (const atMs of [30_000, 90_000])
      system.at(system.nowMs + atMs, `pay at ${atMs}`, async () => void (await pay()));
    await system.run(system.nowMs + 200_000);

    expect(system.calls.map(({ answer }) => answer?.status)).toEqual([503, 201]);
  });

  test.each([
    ['scheduled jobs and clocks that differ by minutes', { cron: true, clockSkewMs: 120_000 }, true],
    ['scheduled jobs and clocks that differ by seconds', { cron: true, clockSkewMs: 5_000 }, false],
    ['jobs without credentials', { cron: false, clockSkewMs: 120_000 }, false],
    ['faults', { faults: { slow: 0.1 } }, true],
  ])('records whether calls can fail in a run with %s', async (_what, settings, isTroubled) => {
    const system = await SimulatedSystem.begin(1);
    system.deploy(settings);
    expect(system.troubles.some(({ of, untilMs }) => of === 'all' && untilMs === undefined)).toBe(isTroubled);
    system.deploy({ faults: {}, cron: false, clockSkewMs: 0 });
    expect(system.troubles.every(({ untilMs }) => untilMs !== undefined)).toBe(true);
  });

  test('runs identically for the same seed, and differently for a different seed', async () => {
    const [first, again, other] = [
      await payAndRefund(7, 0.03),
      await payAndRefund(7, 0.03),
      await payAndRefund(8, 0.03),
    ];

    expect(again.simulation.digest).toBe(first.simulation.digest);
    expect(again.faults).toEqual(first.faults);
    expect(other.simulation.digest).not.toBe(first.simulation.digest);
  });
});
