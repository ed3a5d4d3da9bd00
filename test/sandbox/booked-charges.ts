import type { Charge, SandboxEvent } from '../../lambdas/processors/sandbox/sandbox-api.ts';
import type { Books } from '../../sandbox/books.ts';
import { newCharge } from '../../sandbox/charge.ts';
import { SANDBOX_START_MS } from './sandbox-world.ts';

export const newChargeId = (): string => `ch_${crypto.randomUUID().replaceAll('-', '')}`;

export function chargeWith(id: string, metadata: Charge['metadata'] = {}, atMs = SANDBOX_START_MS): Charge {
  return newCharge({
    id,
    order: { amount: 100, currency: 'EUR', source: 'tok_ok', capture: 'automatic', metadata },
    beginning: 'succeed',
    actionUrl: null,
    withFee: false,
    livemode: false,
    createdSeconds: atMs / 1_000,
  });
}

export const eventOfCharge = (charge: string): SandboxEvent => ({
  id: `evt_${crypto.randomUUID()}`,
  object: 'event',
  type: 'charge.succeeded',
  livemode: false,
  created: SANDBOX_START_MS / 1_000,
  data: { charge, payment: null },
});

/** Sends no requests, so it is fast enough for tests with many charges. @returns the ids of the charges */
export function bookCharges(
  books: Books,
  count: number,
  metadata?: Charge['metadata'],
  atMs?: number,
): Promise<readonly string[]> {
  return Promise.all(
    Array.from({ length: count }, async () => {
      const charge = chargeWith(newChargeId(), metadata, atMs);
      await books.add(charge, eventOfCharge(charge.id), undefined, SANDBOX_START_MS);
      return charge.id;
    }),
  );
}
