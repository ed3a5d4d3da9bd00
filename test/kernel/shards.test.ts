import { afterEach, describe, expect, test } from '@jest/globals';
import { DEFAULT_SHARDS, MAX_TENANT_PAYMENTS, shardsFor } from '../../lambdas/kernel/contract/shards.ts';
import { BASE32_ALPHABET } from '../../lambdas/kernel/digest.ts';
import { shardOf } from '../../lambdas/kernel/platform/items.ts';
import { mostShards, shardsAt } from '../../lambdas/kernel/platform/shards.ts';
import { PEAK, setPeakRates } from '../support/peak-rates.ts';

const DAY = Date.UTC(2026, 5, 1);

afterEach(() => setPeakRates());

describe('the numbers of shards', () => {
  test('are the default numbers for up to 1,000 payments per second', () => {
    expect(shardsFor({ payments: 1_000, tenantPayments: 1_000 })).toEqual(DEFAULT_SHARDS);
    expect([shardsAt(DAY), mostShards()]).toEqual([DEFAULT_SHARDS, DEFAULT_SHARDS]);
  });

  test('grow with the peak rates', () => {
    expect(shardsFor(PEAK)).toEqual({
      claims: 100,
      outcomes: 50,
      queues: 100,
      dueWebhooks: 100,
      deliveries: 38,
      listParts: 4,
    });
    expect(shardsFor({ payments: MAX_TENANT_PAYMENTS, tenantPayments: MAX_TENANT_PAYMENTS }).listParts).toBe(4);
  });

  test('apply to new rows from the start date of their setting; a read includes the shards of all settings before the end of its time range', () => {
    const [first, second] = [
      { payments: 4_000, tenantPayments: 2_000 },
      { payments: 2_000, tenantPayments: 2_000 },
    ];
    setPeakRates({ from: '2026-06-01', ...first }, { from: '2026-09-01', ...second });
    expect([DAY - 1, DAY, Date.UTC(2026, 8, 1)].map(shardsAt)).toEqual([
      DEFAULT_SHARDS,
      shardsFor(first),
      shardsFor(second),
    ]);
    expect(mostShards()).toEqual(shardsFor(first));
    expect(mostShards(DAY)).toEqual(DEFAULT_SHARDS);
    expect(mostShards(DAY + 1)).toEqual(shardsFor(first));
  });

  test('are not computed from an invalid setting; the error names the variable', () => {
    process.env['PEAK_RATES'] = '[{"from":"June"}]';
    expect(() => shardsAt(DAY)).toThrow('the environment variable PEAK_RATES.0.from');
  });
});

describe('the shard of an id', () => {
  test('is selected by the last character for the default numbers of shards', () => {
    for (const count of new Set([4, 8, 32])) {
      for (const [place, character] of BASE32_ALPHABET.split('').entries())
        expect(shardOf(`pay_abcdefg7${character}`, count)).toBe(place % count);
    }
  });

  test('is evenly distributed over 38 shards, although 38 is not a power of two', () => {
    const counts = new Map<number, number>();
    for (const third of BASE32_ALPHABET)
      for (const second of BASE32_ALPHABET)
        for (const first of BASE32_ALPHABET) {
          const shard = shardOf(`pay_a${third}${second}${first}`, 38);
          counts.set(shard, (counts.get(shard) ?? 0) + 1);
        }
    expect([...counts.keys()].toSorted((left, right) => left - right)).toEqual(Array.from({ length: 38 }, (_, n) => n));
    expect(Math.max(...counts.values()) - Math.min(...counts.values())).toBeLessThanOrEqual(1);
  });
});
