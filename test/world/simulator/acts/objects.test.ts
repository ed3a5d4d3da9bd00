import { expect, test } from '@jest/globals';
import { createSandboxInProcess } from '../../sandbox-in-process.ts';
import type { RunningSystem, Step } from '../contract.ts';
import type { Scene } from './act.ts';
import { isEffect, onCharge } from './objects.ts';

const PAY: Step = { id: 1, atMs: 1, actor: 'client', act: 'pay', tenant: 'shop' };
const ABOUT: Step = { id: 2, atMs: 2, actor: 'payer', act: 'dispute', of: 1 };

test('an act uses another payment’s charge if no charge of its step’s payment fits, or does nothing if no charge fits', async () => {
  const sandbox = createSandboxInProcess({ clock: { nowMs: () => 1_000, sleep: async () => {} } });
  const tenants = { shop: { tenantId: 'ten_shop', mode: 'test', apiKey: 'a' } } as const;
  const system: Pick<RunningSystem, 'processors' | 'tenants' | 'inside'> = {
    processors: { sandbox },
    tenants,
    inside: (_processor, act) => act(sandbox.inside),
  };
  const scene: Scene = {
    // This fake has only the members that acts at the processor use.
    system: system as RunningSystem,
    stepOf: (id) => (id === 1 ? PAY : undefined),
    steps: [PAY],
    others: new Map(),
    habits: new Map(),
  };
  const open = (): Promise<string> =>
    onCharge(
      scene,
      ABOUT,
      ({ capturedMinor, disputes }) => capturedMinor > 0 && disputes.length === 0,
      (inside, { chargeId }) => inside.dispute(chargeId, 500),
    );
  expect(await open()).toBe('nothing');
  const { chargeId } = await sandbox.inside.charge({ amountMinor: 500 });
  expect(await open()).toBe('done elsewhere');
  expect(sandbox.inside.all).toMatchObject([{ chargeId, disputes: [{ amountMinor: 500 }] }]);
  expect(await open()).toBe('nothing');
});

test('a bank’s decline (402) counts as an effect of an act; a request that Payonce refuses (409, 422) does not', () => {
  expect(['done', 'done elsewhere', '201', '402 payment_failed', '504'].filter(isEffect)).toHaveLength(5);
  expect(['nothing', 'refused: charge_not_voidable', '409 payment_not_in_review', '422 x'].filter(isEffect)).toEqual(
    [],
  );
});
