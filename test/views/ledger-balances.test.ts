import { beforeEach, describe, expect, test } from '@jest/globals';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { takenAt } from '../views/ledger-reader-suite.ts';
import { MemoryLedgerReader } from '../views/memory-ledger-reader.ts';
import { Api, dataOf } from '../world/api.ts';

let harness: Api;

beforeEach(() => {
  harness = new Api();
});

describe('the balances', () => {
  test('contain each account with its normal side, sorted by currency and then as in the chart of accounts', async () => {
    const euros = await harness.paid('k-1');
    await harness.paid('k-2', { amount: 300, currency: 'CHF' });
    const { inside } = harness.processor;
    const [charge] = harness.processor.charges(euros);
    await inside.correct(charge?.chargeId ?? '', { fee: 59 });
    await inside.refund(charge?.chargeId ?? '', 400);
    await inside.dispute(charge?.chargeId ?? '', 100);
    await harness.world.learn(euros);

    const { body } = await harness.get('/v1/balances');

    const balance = (
      currency: string,
      account: string,
      debit: number,
      credit: number,
      normal: string,
      net: number,
    ) => ({
      object: 'balance',
      account,
      currency,
      debit,
      credit,
      normal_balance: normal,
      balance: net,
    });
    expect(body).toEqual({
      object: 'list',
      data: [
        balance('CHF', 'processor_clearing', 300, 0, 'debit', 300),
        balance('CHF', 'merchant_payable', 0, 300, 'credit', 300),
        balance('EUR', 'processor_clearing', 1000, 559, 'debit', 441),
        balance('EUR', 'merchant_payable', 0, 1000, 'credit', 1000),
        balance('EUR', 'refunds', 400, 0, 'debit', 400),
        balance('EUR', 'fees', 59, 0, 'debit', 59),
        balance('EUR', 'disputes', 100, 0, 'debit', 100),
      ],
      has_more: false,
    });
  });

  test('are negative for an account whose balance is on the side opposite to its normal side', async () => {
    const payment = await harness.paid('k-1');
    await harness.correct('c-1', {
      payment,
      postings: [
        { account: 'merchant_payable', direction: 'debit', amount: 1500 },
        { account: 'corrections', direction: 'credit', amount: 1500 },
      ],
    });

    const balances = dataOf(await harness.get('/v1/balances')).map(({ account, balance }) => [account, balance]);

    expect(balances).toEqual([
      ['processor_clearing', 1000],
      ['merchant_payable', -500],
      ['corrections', -1500],
    ]);
  });

  test('include only the entries before a given time', async () => {
    const seconds = () => Math.floor(harness.clock.nowMs() / 1000);
    await harness.paid('k-1');
    harness.clock.advance(60_000);
    const between = seconds();
    await harness.paid('k-2', { amount: 250 });
    const netAt = async (query: string) =>
      dataOf(await harness.get(`/v1/balances${query}`)).map(({ account, balance }) => [account, balance]);
    const of = (amount: number) => [
      ['processor_clearing', amount],
      ['merchant_payable', amount],
    ];
    expect(await netAt(`?at=${between}`)).toEqual(of(1000));
    expect(await netAt(`?at=${seconds() + 1}`)).toEqual(of(1250));
    expect(await netAt(`?at=${between - 3600}`)).toEqual([]);
    expect((await harness.get('/v1/balances?at=yesterday')).body).toMatchObject({
      code: 'invalid_request',
      param: 'at',
    });
    expect((await harness.get('/v1/balances?until=1')).body).toMatchObject({
      code: 'unknown_parameter',
      param: 'until',
    });
  });

  test('are empty for a merchant without payments', async () => {
    expect((await harness.get('/v1/balances')).body).toEqual({ object: 'list', data: [], has_more: false });
  });

  test('cause an error, and are never rounded, if they exceed the integers that JSON readers represent exactly', async () => {
    const owner = { tenantId: tenantId('ten_desk'), mode: 'test' as const };
    const huge = (key: string) => takenAt(owner, key, 1, { amountMinor: 9_007_199_254_740_991, feeMinor: 0 });
    const withSum = (...keys: readonly string[]) =>
      new Api({ ledger: new MemoryLedgerReader(() => keys.flatMap(huge)) });

    const exact = await withSum('a').get('/v1/balances');
    const beyond = await withSum('a', 'b').get('/v1/balances');

    expect(exact.text).toContain('"debit":9007199254740991,');
    expect(beyond.status).toBe(500);
    expect(beyond.body).toMatchObject({ code: 'balance_too_large' });
  });
});
