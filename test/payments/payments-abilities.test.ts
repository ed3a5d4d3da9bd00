/** Tests that a request which the payment's processor does not support is refused before anything is written. */
import { describe, expect, test } from '@jest/globals';
import { abilitiesWithout } from '../../lambdas/processors/sandbox/sandbox-abilities.ts';
import { Api, type Reply } from '../world/api.ts';
import { TABLES } from '../world/tables.ts';
import { World } from '../world/world.ts';

const apiWithout = (abilities: string) => new Api({}, new World({ abilities: abilitiesWithout(abilities) }));
/** Omits the rows of the rate limiter, which counts every request. */
const rowsOf = ({ store: { database } }: Api) =>
  Object.values(TABLES).flatMap((table) => database.items(table).filter(({ sk }) => sk !== 'LIMIT'));
const refused = ({ status, body: { code, param, detail } }: Reply) => ({ status, code, param, detail });

/** No row may change, and nothing may be sent to the processor. */
async function refuse(api: Api, send: () => Promise<Reply>) {
  const before = [rowsOf(api), api.processor.inside.sent.length];
  const reply = await send();
  expect([rowsOf(api), api.processor.inside.sent.length]).toEqual(before);
  return refused(reply);
}

const problem = (param: string, detail: string) => ({ status: 400, code: 'invalid_request', param, detail });

describe.each([
  ['the tenant', '/v1/payments', {}],
  ['an operator', '/v1/admin/payments', { reason: 'Asked by phone' }],
])('%s', (_who, path, more) => {
  const change = (api: Api, id: string, step: string, body: object = {}) =>
    api.write(`${path}/${id}/${step}`, 'k', { ...body, ...more });

  test('can capture only the whole amount at a processor without partial captures', async () => {
    const api = apiWithout('partial-captures');
    const id = await api.paid('held', { capture: 'manual' });
    expect(await refuse(api, () => change(api, id, 'capture', { amount: 300 }))).toEqual(
      problem('amount', 'amount must be 1000 or absent: the payment’s processor has no partial captures.'),
    );
    expect((await change(api, id, 'capture', { amount: 1000 })).status).toBe(200);
    expect((await change(api, id, 'refunds', { amount: 300 })).status).toBe(201);
  });

  test('can refund only the whole amount at a processor without partial refunds', async () => {
    const api = apiWithout('partial-refunds');
    const id = await api.paid('paid');
    expect(await refuse(api, () => change(api, id, 'refunds', { amount: 300 }))).toEqual(
      problem('amount', 'amount must be 1000 or absent: the payment’s processor has no partial refunds.'),
    );
    expect((await change(api, id, 'refunds')).status).toBe(201);
  });

  test('cannot refund the rest of a disputed payment at a processor without partial refunds', async () => {
    const api = apiWithout('partial-refunds');
    const id = await api.paid('paid');
    const [charge] = api.processor.charges(id);
    await api.processor.inside.dispute(charge?.chargeId ?? '', 300);
    await api.world.learn(id);
    const rest = problem(
      'id',
      'The money cannot be refunded here: the payment’s processor has no partial refunds. Return it by other means.',
    );
    for (const body of [{}, { amount: 700 }])
      expect(await refuse(api, () => change(api, id, 'refunds', body))).toEqual(rest);
  });

  test('can refund nothing at a processor without refunds, but can capture and cancel', async () => {
    const api = apiWithout('refunds');
    const id = await api.paid('paid');
    const none = problem(
      'id',
      'The money cannot be refunded here: the payment’s processor has no refunds. Return it by other means.',
    );
    for (const body of [{}, { amount: 300 }, { amount: 1000 }])
      expect(await refuse(api, () => change(api, id, 'refunds', body))).toEqual(none);
    const held = await api.paid('held', { capture: 'manual' });
    expect((await change(api, held, 'capture', { amount: 300 })).status).toBe(200);
    expect((await change(api, await api.paid('other', { capture: 'manual' }), 'cancel')).status).toBe(200);
  });
});

test('a payment with manual capture is refused at a processor without holds', async () => {
  const api = apiWithout('holds');
  const pay = (capture: string) => api.pay('k', { capture });
  const automatic = problem('capture', 'capture must be automatic: sandbox has no holds.');
  expect(await refuse(api, () => pay('manual'))).toEqual(automatic);
  expect((await pay('automatic')).status).toBe(201);
});
