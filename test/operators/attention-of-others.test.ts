import { expect, test } from '@jest/globals';
import { callbackOperation } from '../../lambdas/callbacks/ids.ts';
import { ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { Api, dataOf } from '../world/api.ts';

const PATH = '/v1/admin/attention';

test('lists an unmatched callback that follows thousands of another program', async () => {
  const api = new Api();
  const giveUp = async (name: string, isForeign: boolean): Promise<void> => {
    const orphan = {
      operationId: callbackOperation(systemDigest, 'memory', name),
      event: { processorName: 'memory', mode: 'test', eventId: name, type: 'charge.succeeded', chargeId: `ch_${name}` },
      reason: isForeign ? 'payment_unknown' : 'charge_unknown',
      receivedAtMs: api.clock.nowMs(),
      ...(isForeign ? { isForeign } : {}),
    } as const;
    await api.store.recordEffect({
      record: { operationId: orphan.operationId, owner: ownerToken('owner-a'), recordedAtMs: orphan.receivedAtMs },
      transitions: [],
      orphan,
    });
    await api.store.giveUp(orphan);
  };
  for (let of = 0; of < 4_400; of += 1) await giveUp(`foreign-${of}`, true);
  api.clock.advance(1_000);
  await giveUp('own', false);
  const list = await api.get(`${PATH}?kind=unmatched_callback`);
  expect(dataOf(list).map(({ part }) => part)).toEqual(['ch_own']);
});
