import { PutCommand } from '@aws-sdk/lib-dynamodb';
import { beforeAll, expect, test } from '@jest/globals';
import { RegistryRow } from '../../../../lambdas/kernel/contract/rows.ts';
import { ENDPOINT_TEST } from '../../../../lambdas/webhooks/domain/webhook-endpoint.ts';
import type { ChangeByHand, Observed } from '../contract.ts';
import { SimulatedSystem } from '../system.ts';
import { checkMishaps } from './mishaps.ts';
import { Seen } from './seen.ts';

type Inside = Observed['processors'][string]['inside'];

const system = await SimulatedSystem.begin(1);
const seen = new Seen(system);
const startMs = system.nowMs;

beforeAll(async () => {
  let steps = 0;
  const post = (atMs: number, path: string, body: object): void => {
    steps += 1;
    const step = steps;
    const name = `step-${step}`;
    system.at(startMs + atMs, name, async () => {
      await system.api({ step, tenant: 'shop', method: 'POST', path, key: name, body });
    });
  };
  post(1, '/v1/payments', { amount: 1000, currency: 'EUR', source: 'tok_ok' });
  post(2, '/v1/payments', { amount: 1000, currency: 'EUR', source: 'tok_declined' });
  post(3, '/v1/webhook_endpoints', { url: 'https://hook.example.com/in', events: ['*'] });
  system.at(startMs + 1_800_000, 'by hand', async () => {
    const [id = ''] = seen.payments.keys();
    expect(await system.changeByHand(id, 'removed', 0.5)).toBe('done');
  });
  await system.run(startMs + 2_000_000);
  const made = system.calls.find(({ path }) => path === '/v1/webhook_endpoints')?.answer?.body ?? '{}';
  post(2_000_001, `/v1/webhook_endpoints/${(JSON.parse(made) as { readonly id: string }).id}/test`, {});
  post(2_000_002, '/v1/exports', { kind: 'entries', from: '2026-03-01', to: '2026-03-02' });
  await system.run(startMs + 4_000_000);
});

const found = (changes: Partial<Observed> = {}, entered = seen.entered): readonly string[] => {
  const world = Object.create(
    system,
    Object.fromEntries(Object.entries(changes).map(([name, value]) => [name, { value }])),
  ) as Observed;
  return checkMishaps({ world, payments: seen.payments, entered }).map(({ oracle }) => oracle);
};

test('the mishap oracles report nothing if every mishap was noticed and repaired', () => {
  expect(found()).toEqual([]);
  expect(system.mishaps.changesByHand).toHaveLength(1);
  expect([...system.exports.values()][0]?.split('\r\n').length).toBeGreaterThan(2);
});

test('a manual change must be found by the verification, be repaired, and raise an alarm', () => {
  const oracle = 'F39 changed rows are found and restored';
  const withChange = (change: Partial<ChangeByHand>): Partial<Observed> => {
    const changesByHand = system.mishaps.changesByHand.map((each) => ({ ...each, ...change }));
    return { mishaps: { ...mishaps(), changesByHand } };
  };
  expect(found(withChange({ found: [] }))).toEqual([oracle]);
  expect(found(withChange({ found: [...(system.mishaps.changesByHand[0]?.found ?? []), 'row_missing T#9'] }))).toEqual([
    oracle,
  ]);
  expect(found(withChange({ putBack: 'does_not_fit' }))).toEqual([oracle]);
  expect(found(withChange({ left: ['chain_broken'] }))).toEqual([oracle]);
  expect(found({ alarms: [] })).toEqual([oracle]);
});

test('a record must not stay parked, unless it is about a manual change', () => {
  const parked = (eventName: string) => found({ mishaps: { ...mishaps(), parked: [JSON.stringify({ eventName })] } });
  expect(parked('INSERT')).toEqual(['F25 nothing stays parked after its fix']);
  expect(parked('REMOVE')).toEqual([]);
});

test('a time range of events must not stay parked, unless the events are too old for consumers to deduplicate', () => {
  const faultsEndedAtMs = Date.UTC(2026, 2, 20);
  const parked = (day: string) => {
    const range = { DDBStreamBatchInfo: { approximateArrivalOfFirstRecord: `2026-03-${day}T00:00:00.000Z` } };
    return found({ faultsEndedAtMs, mishaps: { ...mishaps(), parked: [JSON.stringify(range)] } });
  };
  expect(parked('09')).toEqual(['F25 nothing stays parked after its fix']);
  expect(parked('03')).toEqual([]);
});

test('the failure of a payment must be confirmed by the processor', () => {
  const oracle = 'F36 failures are confirmed by the processor';
  expect(found({ processors: {} })).toEqual([oracle]);
  expect(found({ processors: withInside(() => ({ wasRefused: { value: () => false } })) })).toEqual([oracle]);
});

test('a failed payment may have a charge whose metadata no longer names the payment', () => {
  const processors = withInside(({ all }) => {
    return { all: { value: all.map(({ paymentId: _paymentId, ...charge }) => charge) } };
  });
  expect(found({ processors })).toEqual([]);
});

test('an export must contain each entry exactly once, and no unknown entry', () => {
  const withFile = (change: (lines: readonly string[]) => readonly string[]) =>
    found({
      exports: new Map([...system.exports].map(([name, text]) => [name, change(text.split('\r\n')).join('\r\n')])),
    });
  const oracle = 'an export is a fold of the Ledger';
  expect(withFile((lines) => lines.toSpliced(1, 1))).toEqual([oracle]);
  expect(withFile((lines) => lines.toSpliced(1, 0, lines[1] ?? ''))).toEqual([oracle]);
  expect(withFile((lines) => lines.toSpliced(1, 0, (lines[1] ?? '').replace('pay_', 'pax_')))).toEqual([oracle]);
  expect(found({ exports: new Map() })).toEqual([oracle]);
});

test('an export may lack an entry that was projected less than the maximum clock difference before the request', () => {
  const text = [...system.exports.values()][0] ?? '';
  const [columns = ''] = text.split('\r\n');
  const exports = new Map([...system.exports.keys()].map((name) => [name, `${columns}\r\n`]));
  const enteredAgo = (agoMs: number) =>
    new Map([...seen.entered].map(([name, { row }]) => [name, { row, atMs: startMs + 2_000_002 - agoMs }]));
  expect(found({ exports }, enteredAgo(9 * 60_000))).toEqual([]);
  expect(found({ exports }, enteredAgo(11 * 60_000))).not.toEqual([]);
});

test('a test event must be attempted exactly once', async () => {
  const { database, tables } = system;
  const row = database.items(tables.registry, RegistryRow.webhookDelivery).find(({ type }) => type === ENDPOINT_TEST);
  const attempts = row?.['attempts'] as readonly unknown[];
  expect(attempts).toHaveLength(1);
  for (const changed of [[...attempts, ...attempts], []]) {
    const Item = { ...row, attempts: changed };
    await database.client.send(new PutCommand({ TableName: tables.registry, Item }));
    expect(found()).toEqual(['a test event disables nothing']);
  }
});

function withInside(change: (inside: Inside) => PropertyDescriptorMap): Observed['processors'] {
  return Object.fromEntries(
    Object.entries(system.processors).map(([name, { inside, ...rest }]) => [
      name,
      { ...rest, inside: Object.create(inside, change(inside)) as Inside },
    ]),
  );
}

function mishaps(): Observed['mishaps'] {
  const { trimmed, waits, refusedCredentials, changesByHand, wasPoisoned, isByHand, parked, parkedAgain, forgotten } =
    system.mishaps;
  return { trimmed, waits, refusedCredentials, changesByHand, wasPoisoned, isByHand, parked, parkedAgain, forgotten };
}
