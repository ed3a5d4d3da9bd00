import { beforeEach, describe, expect, test } from '@jest/globals';
import { type OperationId, ownerToken } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { OpenConsumption } from '../../lambdas/once/domain/consumption.ts';
import type { EffectRecord } from '../../lambdas/once/domain/idempotency.ts';
import { consumerOperation } from '../../lambdas/once/ids.ts';
import type {
  ConsumerClaims,
  ConsumerEffects,
  ConsumerWrite,
  RowKey,
} from '../../lambdas/once/use/consumer-records.ts';

export interface ConsumerRecordsUnderTest {
  readonly records: ConsumerEffects & ConsumerClaims;
  readonly row: (key: RowKey) => Promise<Readonly<Record<string, unknown>> | undefined>;
}

const T0 = Date.UTC(2026, 2, 1, 12);
const ANNA = ownerToken('owner-a');
const BERT = ownerToken('owner-b');

/** The tests run against DynamoDB in memory and over its API. */
export function describeConsumerRecords(name: string, make: () => Promise<ConsumerRecordsUnderTest>): void {
  let made = 0;
  let records: ConsumerRecordsUnderTest['records'];
  let row: ConsumerRecordsUnderTest['row'];
  let id: OperationId;
  let home: RowKey;

  beforeEach(async () => {
    ({ records, row } = await make());
    made += 1;
    id = consumerOperation(systemDigest, 'suite', `${process.pid}-${made}`);
    home = { table: 'views', partition: `TEST#${id}`, sort: 'head' };
  });

  const record = (changes: Partial<EffectRecord> = {}): EffectRecord => ({
    operationId: id,
    owner: ANNA,
    recordedAtMs: T0,
    expiresAtSeconds: T0 / 1000 + 2_592_000,
    ...changes,
  });
  const put = (n: number, rest: Pick<ConsumerWrite, 'when'> = {}): ConsumerWrite => ({
    kind: 'put',
    row: home,
    attributes: { n },
    ...rest,
  });
  const other = (): OperationId => consumerOperation(systemDigest, 'suite', `${id}-other`);
  const pending = (changes: Partial<OpenConsumption> = {}): OpenConsumption => ({
    status: 'pending',
    operationId: id,
    owner: ANNA,
    attempt: 1,
    claimedAtMs: T0,
    leaseExpiresAtMs: T0 + 35_000,
    ...changes,
  });

  describe(`the ${name} consumer-record store: effects in Payonce’s own tables`, () => {
    test('are recorded once, together with their rows', async () => {
      expect(await records.recordOnce(record(), [put(1)])).toEqual({ kind: 'recorded' });
      expect(await records.recordOnce(record({ owner: BERT }), [put(2)])).toEqual({ kind: 'recorded_before' });
      expect(await records.readEffect(id)).toEqual(record());
      expect(await row(home)).toMatchObject({ n: 1 });
    });

    test('may have no rows', async () => {
      expect(await records.recordOnce(record(), [])).toEqual({ kind: 'recorded' });
      expect(await records.readEffect(other())).toBeUndefined();
    });

    test('are recorded by exactly one of many concurrent consumers', async () => {
      const owners = Array.from({ length: 12 }, (_, index) => ownerToken(`owner-${index}`));
      const outcomes = await Promise.all(owners.map((owner, n) => records.recordOnce(record({ owner }), [put(n)])));
      expect(outcomes.filter(({ kind }) => kind === 'recorded')).toHaveLength(1);
      const winner = outcomes.findIndex(({ kind }) => kind === 'recorded');
      expect(await row(home)).toMatchObject({ n: winner });
    });

    test('write nothing if a condition fails, and return the index of the write that failed', async () => {
      await records.recordOnce(record(), [put(5)]);
      const away: RowKey = { ...home, sort: 'away' };
      const writes: readonly ConsumerWrite[] = [
        { kind: 'put', row: away, attributes: { n: 1 } },
        put(6, { when: { kind: 'absent' } }),
      ];
      expect(await records.recordOnce(record({ operationId: other() }), writes)).toEqual({
        kind: 'refused',
        writes: [1],
      });
      expect(await row(away)).toBeUndefined();
      expect(await records.readEffect(other())).toBeUndefined();
    });

    test.each([
      ['older than the new row', { kind: 'older', attribute: 'n', than: 6 }, true],
      ['as old as the new row', { kind: 'older', attribute: 'n', than: 5 }, false],
      ['newer than the new row', { kind: 'older', attribute: 'n', than: 4 }, false],
      ['equal to the read value', { kind: 'equals', attribute: 'n', value: 5 }, true],
      ['no longer equal to the read value', { kind: 'equals', attribute: 'n', value: 4 }, false],
      ['there, but must be absent', { kind: 'absent' }, false],
    ] as const)(
      'are written only if their condition on the existing row holds; the row is %s',
      async (_what, when, holds) => {
        await records.recordOnce(record(), [put(5)]);
        const outcome = await records.recordOnce(record({ operationId: other() }), [put(9, { when })]);
        expect(outcome).toEqual(holds ? { kind: 'recorded' } : { kind: 'refused', writes: [0] });
        expect(await row(home)).toMatchObject({ n: holds ? 9 : 5 });
      },
    );

    test('are written to a missing row if the existing row must be older, but not if it must have a certain value', async () => {
      const first = put(1, { when: { kind: 'older', attribute: 'n', than: 1 } });
      expect(await records.recordOnce(record(), [first])).toEqual({ kind: 'recorded' });
      const away: ConsumerWrite = {
        ...put(1, { when: { kind: 'equals', attribute: 'n', value: 1 } }),
        row: { ...home, sort: 'x' },
      };
      expect(await records.recordOnce(record({ operationId: other() }), [away])).toEqual({
        kind: 'refused',
        writes: [0],
      });
    });

    test.each([
      ['older', 6, 'a', true],
      ['of the same age', 5, 'a', false],
      ['of another owner', 6, 'b', false],
    ])(
      'are written only if the existing row has a smaller number and the same owner; the row is %s',
      async (_what, than, value, holds) => {
        const when = { kind: 'older', attribute: 'n', than, of: { attribute: 'thing', value } } as const;
        const first: ConsumerWrite = { kind: 'put', row: home, attributes: { n: 5, thing: 'a' }, when };
        expect(await records.recordOnce(record(), [first])).toEqual({ kind: 'recorded' });
        const outcome = await records.recordOnce(record({ operationId: other() }), [put(9, { when })]);
        expect(outcome).toEqual(holds ? { kind: 'recorded' } : { kind: 'refused', writes: [0] });
      },
    );

    test('can delete a row', async () => {
      await records.recordOnce(record(), [put(5)]);
      const gone: ConsumerWrite = { kind: 'delete', row: home, when: { kind: 'equals', attribute: 'n', value: 5 } };
      expect(await records.recordOnce(record({ operationId: other() }), [gone])).toEqual({ kind: 'recorded' });
      expect(await row(home)).toBeUndefined();
    });
  });

  describe(`the ${name} consumer-record store: effects outside Payonce`, () => {
    test('are claimed by exactly one of many concurrent consumers', async () => {
      const claims = await Promise.all(
        Array.from({ length: 12 }, (_, index) => records.claim(pending({ owner: ownerToken(`owner-${index}`) }))),
      );
      expect(claims.filter(({ kind }) => kind === 'claimed')).toHaveLength(1);
    });

    test('are not claimed by a rival, which gets the existing claim', async () => {
      await records.claim(pending());
      expect(await records.claim(pending({ owner: BERT }))).toEqual({ kind: 'refused', found: pending() });
    });

    test('are taken over only from the owner that was read', async () => {
      await records.claim(pending());
      const takeover = pending({ owner: BERT, attempt: 2 });
      expect(await records.claim(takeover, pending())).toEqual({ kind: 'claimed' });
      const late = pending({ owner: ownerToken('owner-c'), attempt: 2 });
      expect(await records.claim(late, pending())).toEqual({ kind: 'refused', found: takeover });
    });

    test('are completed only by their owner, and then equal the record of an effect in Payonce’s own tables', async () => {
      await records.claim(pending());
      expect(await records.complete(record({ owner: BERT }))).toBe(false);
      expect(await records.complete(record())).toBe(true);
      expect(await records.readEffect(id)).toEqual(record());
      expect(await records.claim(pending({ owner: BERT }))).toEqual({
        kind: 'refused',
        found: { status: 'completed', record: record() },
      });
    });

    test('can be claimed by another consumer after the first one has failed', async () => {
      await records.claim(pending());
      await records.fail(pending());
      const found = pending({ status: 'failed' });
      expect(await records.claim(pending({ owner: BERT }))).toEqual({ kind: 'refused', found });
      expect(await records.claim(pending({ owner: BERT, attempt: 2 }), found)).toEqual({ kind: 'claimed' });
    });

    test('cannot be completed or recorded as failed by an owner whose claim was taken over', async () => {
      await records.claim(pending());
      const takeover = pending({ owner: BERT, attempt: 2 });
      await records.claim(takeover, pending());
      await records.fail(pending());
      expect(await records.complete(record())).toBe(false);
      expect(await records.claim(pending({ owner: ownerToken('owner-c') }))).toEqual({
        kind: 'refused',
        found: takeover,
      });
    });
  });
}
