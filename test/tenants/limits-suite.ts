/** Tests the guarantee "fair limits". */
import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { MAX_WAITS, type RateLimit } from '../../lambdas/kernel/contract/limits.ts';
import { tenantId } from '../../lambdas/kernel/ids.ts';
import { type Admitted, type Bucket, LIMIT_KINDS, TenantLimits } from '../../lambdas/tenants/limits.ts';
import { DynamoDbLimits } from '../../lambdas/tenants/store/dynamodb-limits.ts';
import { LimitAdministration } from '../../lambdas/tenants/store/limit-administration.ts';
import { TenantAdministration, UnknownTenantError } from '../../lambdas/tenants/store/tenant-administration.ts';
import { SimulatedClock, skewed } from '../support/simulated-clock.ts';

interface Subject {
  readonly client: DynamoDBDocumentClient;
  readonly tables: { readonly registry: string; readonly ledger: string; readonly idempotency: string };
}

let buckets = 0;
function freshBucket(kind: Bucket['kind'] = 'payments'): Bucket {
  buckets += 1;
  return { tenantId: tenantId(`ten_limits${buckets}`), mode: 'test', kind };
}

const count = (admitted: readonly Admitted[]) => admitted.filter(({ kind }) => kind === 'admitted').length;

function before(paused: () => Promise<void>, client: DynamoDBDocumentClient): DynamoDBDocumentClient {
  const send = async (...call: Parameters<typeof client.send>) => {
    await paused();
    return client.send(...call);
  };
  return { send } as unknown as DynamoDBDocumentClient;
}

const LIMITS: readonly RateLimit[] = [
  { rate: 2, burst: 3 },
  { rate: 30, burst: 10 },
  { rate: 100, burst: 200 },
];

/** @param limits limits for the test with many processes, which lasts `seconds` of simulated time */
export function describeLimits(
  name: string,
  open: () => Promise<Subject>,
  { limits = LIMITS, seconds = 5 }: { readonly limits?: readonly RateLimit[]; readonly seconds?: number } = {},
): void {
  describe(`tenant limits, ${name}`, () => {
    let subject: Subject;
    let clock: SimulatedClock;
    let writes = 0;
    beforeAll(async () => {
      subject = await open();
    });

    /** `writes` counts the token writes of all processes. */
    const process = (
      limit: RateLimit,
      { offsetMs = 0, paused = async () => undefined }: { offsetMs?: number; paused?: () => Promise<void> } = {},
    ): TenantLimits => {
      const client = before(paused, subject.client);
      const store = new DynamoDbLimits(client, subject.tables.registry, limit);
      const take: DynamoDbLimits['take'] = async (...asked) => {
        writes += 1;
        return store.take(...asked);
      };
      return new TenantLimits({ take, takeWaitingPlace: store.takeWaitingPlace.bind(store) }, skewed(clock, offsetMs));
    };

    test('admit the burst immediately and later requests at the rate, and return the time to wait', async () => {
      clock = new SimulatedClock();
      const bucket = freshBucket();
      const one = process({ rate: 5, burst: 10 });
      const first: Admitted[] = [];
      for (let request = 0; request < 12; request += 1) first.push(await one.admit(bucket));
      expect(count(first)).toBe(10);
      expect(first.at(-1)).toEqual({ kind: 'limited', limit: { rate: 5, burst: 10 }, retryAfterMs: 200 });

      clock.advance(200);
      expect((await one.admit(bucket)).kind).toBe('admitted');
      expect((await one.admit(bucket)).kind).toBe('limited');
    });

    test('apply separately to each kind of request, each mode and each tenant', async () => {
      clock = new SimulatedClock();
      const bucket = freshBucket();
      const one = process({ rate: 1, burst: 1 });
      await one.admit(bucket);
      expect((await one.admit(bucket)).kind).toBe('limited');
      expect((await one.admit({ ...bucket, kind: 'reads' })).kind).toBe('admitted');
      expect((await one.admit({ ...bucket, mode: 'live' })).kind).toBe('admitted');
      expect((await one.admit(freshBucket())).kind).toBe('admitted');
    });

    test.each(limits)(
      'admit at most rate × time + burst requests from twenty processes with different clocks: %j',
      async (limit) => {
        clock = new SimulatedClock();
        const bucket = freshBucket();
        const skewMs = 40;
        const processes = Array.from({ length: 20 }, (_, index) =>
          process(limit, { offsetMs: ((index % 5) - 2) * (skewMs / 2) }),
        );
        let admitted = 0;
        for (let step = 0; step < seconds * 10; step += 1) {
          // All processes send requests concurrently, so that their writes interleave. Together they exceed the limit.
          const asked = processes.flatMap((each) => [each.admit(bucket), each.admit(bucket)]);
          admitted += count(await Promise.all(asked));
          clock.advance(100);
        }
        expect(admitted).toBeLessThanOrEqual(limit.rate * (seconds + (2 * skewMs) / 1000) + limit.burst);
        // Processes leave at most half of their reserved tokens unused.
        expect(admitted).toBeGreaterThanOrEqual((limit.rate * (seconds - 1) + limit.burst) / 2);
      },
    );

    test.each([
      { limit: { rate: 100, burst: 200 }, pausesMs: [0, 1, 700, 2_500] },
      { limit: { rate: 10_000, burst: 10_000 }, pausesMs: [0, 1, 2] },
    ])(
      'admit the first request of each of fifty concurrent processes if the limit allows it, despite pauses before writes: %j',
      async ({ limit, pausesMs }) => {
        clock = new SimulatedClock();
        const bucket = freshBucket();
        let sends = 0;
        const paused = async (): Promise<void> => {
          sends += 1;
          for (let turn = 0; turn < (sends * 7) % 5; turn += 1) await Promise.resolve();
          clock.advance(pausesMs[(sends * 5) % pausesMs.length] ?? 0);
        };
        const cold = Array.from({ length: 50 }, () => process(limit, { paused }).admit(bucket));
        expect(count(await Promise.all(cold))).toBe(50);
      },
    );

    test('cost one write per eight requests while a tenant is far from its limit', async () => {
      clock = new SimulatedClock();
      const bucket = freshBucket();
      const one = process({ rate: 100, burst: 200 });
      writes = 0;
      for (let request = 0; request < 80; request += 1) {
        expect((await one.admit(bucket)).kind).toBe('admitted');
        clock.advance(5_000);
      }
      expect(writes).toBe(10);
    });

    test('cost one write per request if the limits are low', async () => {
      clock = new SimulatedClock();
      const bucket = freshBucket();
      const one = process({ rate: 5, burst: 100 });
      writes = 0;
      for (let request = 0; request < 5; request += 1) await one.admit(bucket);
      expect(writes).toBe(5);
    });

    test('cost at most one write per second while requests are refused', async () => {
      clock = new SimulatedClock();
      const bucket = freshBucket();
      const one = process({ rate: 1, burst: 1 });
      await one.admit(bucket);
      writes = 0;
      for (let request = 0; request < 100; request += 1) {
        expect((await one.admit(bucket)).kind).toBe('limited');
        clock.advance(9);
      }
      expect(writes).toBe(1);
    });

    test('cannot be set for a tenant that does not exist', async () => {
      const bucket = freshBucket();
      const administration = new LimitAdministration(subject.client, subject.tables, 'test');
      await expect(administration.set(bucket, { rate: 1, burst: 1 })).rejects.toThrow(UnknownTenantError);
      expect(await administration.list(bucket)).toEqual(LIMIT_KINDS.map((kind) => ({ kind })));
    });

    test('can be set per tenant, replace the limits of the deployment within a second, and can be removed', async () => {
      clock = new SimulatedClock();
      const tenants = new TenantAdministration(subject.client, subject.tables, 'test');
      const bucket = { ...freshBucket(), tenantId: await tenants.createTenant('Shop') };
      const administration = new LimitAdministration(subject.client, subject.tables, 'test');
      const one = process({ rate: 1, burst: 1 });
      await one.admit(bucket);
      expect((await one.admit(bucket)).kind).toBe('limited');

      await administration.set(bucket, { rate: 10, burst: 50 });
      const own = { rate: 10, burst: 50 };
      expect(await administration.list(bucket)).toEqual([
        { kind: 'payments', own },
        ...LIMIT_KINDS.slice(1).map((kind) => ({ kind })),
      ]);
      clock.advance(1_000);
      const many: Admitted[] = [];
      for (let request = 0; request < 60; request += 1) many.push(await one.admit(bucket));
      expect(count(many)).toBe(50);

      await administration.set(bucket, undefined);
      clock.advance(60_000);
      expect((await one.admit(bucket)).kind).toBe('admitted');
      expect((await one.admit(bucket)).kind).toBe('limited');
    });

    test('recover from a clock that was an hour ahead', async () => {
      clock = new SimulatedClock();
      const bucket = freshBucket();
      const limit = { rate: 10, burst: 10 };
      await process(limit, { offsetMs: 3_600_000 }).admit(bucket);
      const one = process(limit);
      expect((await one.admit(bucket)).kind).toBe('limited');
      clock.advance(1_000);
      expect((await one.admit(bucket)).kind).toBe('admitted');
    });

    test(`let at most ${MAX_WAITS} requests of a tenant wait at the same time`, async () => {
      clock = new SimulatedClock();
      const owner = freshBucket();
      const waits = await Promise.all(
        Array.from({ length: MAX_WAITS + 3 }, () => process({ rate: 1, burst: 1 }).enterWait(owner, 8_000)),
      );
      const places = waits.filter((leave) => leave !== undefined);
      expect(places).toHaveLength(MAX_WAITS);
      const one = process({ rate: 1, burst: 1 });
      expect(await one.enterWait(owner, 8_000)).toBeUndefined();
      expect(await one.enterWait(freshBucket(), 8_000)).toBeDefined();

      await places[0]?.();
      const again = await one.enterWait(owner, 8_000);
      expect(again).toBeDefined();
      expect(await one.enterWait(owner, 8_000)).toBeUndefined();

      // A crashed request does not free its slot, but the slot expires.
      clock.advance(8_000);
      expect(await one.enterWait(owner, 8_000)).toBeDefined();
      await again?.();
    });
  });
}
