/** Tests the guarantee "confirmed decisions". */
import { beforeEach, describe, expect, test } from '@jest/globals';
import { firstBrokenEntry } from '../../lambdas/activity/domain/activity.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { type PaymentId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import {
  type CorrectLedger,
  type CorrectLedgerOutcome,
  correctLedger,
  type RequestedCorrection,
} from '../../lambdas/operators/use/correct-ledger.ts';
import { firstBrokenLink } from '../../lambdas/payments/domain/transition.ts';
import { readChain } from '../../lambdas/payments/use/payment-chain.ts';
import { BY_OPERATOR, OPERATOR } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { Api } from '../world/api.ts';

let harness: Api;
let payment: PaymentId;

beforeEach(async () => {
  harness = new Api();
  payment = await harness.paid('k-1');
});

const entropy = countingEntropy();
const DAY_MS = 24 * 60 * 60 * 1000;

type Changed = Partial<CorrectLedger> & Partial<Pick<RequestedCorrection, 'change'>>;

const run = (
  key: string,
  { change = { kind: 'reverse', sequence: 2 }, ...changes }: Changed = {},
  effects: ApprovingStore = harness.store,
) =>
  correctLedger(
    { effects, runner: idempotentRunner, clock: harness.clock, entropy, digest: systemDigest },
    {
      cause: BY_OPERATOR,
      operationId: storedOperationId(`cor_${key}`),
      fingerprint: fingerprintOf(systemDigest, { body: { payment, ...change }, query: {} }),
      payment,
      reason: 'Booked twice',
      by: OPERATOR,
      asked: { kind: 'correction', change },
      ...changes,
    },
  );

/** Returns a store that calls `act` immediately before each of its first `times` writes. */
function storeWithRival(act: () => Promise<unknown>, times = 1): ApprovingStore {
  const { store } = harness;
  let acted = 0;
  return {
    readEffect: (operationId) => store.readEffect(operationId),
    queueOrNote: (entries) => store.queueOrNote(entries),
    listTransitions: (paymentId, page) => store.listTransitions(paymentId, page),
    readApproval: (id) => store.readApproval(id),
    listApprovals: (page) => store.listApprovals(page),
    claimChange: (claim) => store.claimChange(claim),
    recordEffect: async (effect) => {
      if (acted < times) {
        acted += 1;
        await act();
      }
      return store.recordEffect(effect);
    },
  };
}

const chain = async () => {
  const found = await readChain(harness.store, payment);
  if (found === undefined) throw new Error('the payment does not exist');
  return found;
};
const types = async () => (await chain()).transitions.map(({ type }) => type);
const bytesOf = (outcome: CorrectLedgerOutcome) => ('answer' in outcome ? outcome.answer : undefined);

describe('one idempotency key', () => {
  test('creates one correction, and replays the response byte for byte', async () => {
    const first = await run('a');
    harness.clock.advance(60_000);
    const second = await run('a');

    expect(first.kind).toBe('first');
    expect(second).toEqual({ kind: 'replay', answer: bytesOf(first) });
    expect(await types()).toEqual(['payment.created', 'payment.completed', 'ledger.corrected']);
  });

  test('creates one correction for concurrent requests, and all receive the same response', async () => {
    const outcomes = await Promise.all(Array.from({ length: 20 }, () => run('a')));

    expect(outcomes.filter(({ kind }) => kind === 'first')).toHaveLength(1);
    expect(outcomes.filter(({ kind }) => kind === 'replay')).toHaveLength(19);
    expect(new Set(outcomes.map((outcome) => JSON.stringify(bytesOf(outcome)))).size).toBe(1);
    expect(await types()).toHaveLength(3);
  });

  test('replays the correction of a rival that writes first', async () => {
    let rival: CorrectLedgerOutcome | undefined;
    const late = await run(
      'a',
      {},
      storeWithRival(async () => {
        rival = await run('a');
      }),
    );

    expect(rival?.kind).toBe('first');
    expect(late).toEqual({ kind: 'replay', answer: rival === undefined ? undefined : bytesOf(rival) });
    expect(await types()).toHaveLength(3);
  });

  test('replays the correction of a rival even if the rival writes between the reads of the record and of the transitions', async () => {
    const { store } = harness;
    let rival: Promise<CorrectLedgerOutcome> | undefined;
    const overtaken: ApprovingStore = {
      ...storeWithRival(async () => undefined),
      listTransitions: async (paymentId, page) => {
        rival ??= run('a');
        await rival;
        return store.listTransitions(paymentId, page);
      },
    };

    const late = await run('a', {}, overtaken);

    expect(late.kind).toBe('replay');
    expect(bytesOf(late)).toEqual(rival === undefined ? undefined : bytesOf(await rival));
    expect(await types()).toHaveLength(3);
  });

  test('replays the correction for a retry if the first request did not receive the result of its write', async () => {
    const { store } = harness;
    const silent: ApprovingStore = {
      ...storeWithRival(async () => undefined),
      recordEffect: async (effect) => {
        await store.recordEffect(effect);
        throw new AmbiguousError('store_ambiguous', 'no answer');
      },
    };

    await expect(run('a', {}, silent)).rejects.toMatchObject({ code: 'store_ambiguous' });
    expect((await run('a')).kind).toBe('replay');
    expect(await types()).toHaveLength(3);
  });

  test('is refused as a payload mismatch with a different body, and changes nothing', async () => {
    await run('a');

    expect(await run('a', { change: { kind: 'reverse', sequence: 3 } })).toEqual({ kind: 'payload_mismatch' });
    expect(await types()).toHaveLength(3);
  });

  test('is refused after its retention period, even for another payment, and changes nothing', async () => {
    await run('a');
    harness.clock.advance(29 * DAY_MS);
    expect((await run('a')).kind).toBe('replay');
    harness.clock.advance(5 * DAY_MS);
    harness.store.database.deleteExpired(harness.clock.nowMs());

    expect(await run('a')).toEqual({ kind: 'key_expired', paymentId: payment });
    const other = await harness.paid('k-2');
    expect(await run('a', { payment: other })).toEqual({ kind: 'key_expired', paymentId: payment });
    expect(await types()).toHaveLength(3);
  });

  test('is refused if its record is lost, and its correction is not repeated', async () => {
    await run('a');
    harness.store.deleteRecord(storedOperationId('cor_a'));
    expect(await run('a')).toEqual({ kind: 'key_expired', paymentId: payment });
    expect(await types()).toHaveLength(3);
  });

  test('can be used successfully after a refused correction', async () => {
    expect(await run('a', { change: { kind: 'reverse', sequence: 3 } })).toEqual({ kind: 'nothing_to_reverse' });
    await run('b');

    expect((await run('a', { change: { kind: 'reverse', sequence: 3 } })).kind).toBe('first');
  });
});

const recorded = () => {
  const owner = { tenantId: tenantId('ten_desk'), mode: 'test' } as const;
  return harness.store.moneyActivity.listActivity(owner, { order: 'oldest_first', limit: 100 });
};

describe('the activity log', () => {
  test('contains each correction once, with its payment and operator, but no refused correction', async () => {
    expect(await run('r', { change: { kind: 'reverse', sequence: 9 } })).toEqual({ kind: 'nothing_to_reverse' });
    const change = { kind: 'post' as const, legs: [] };
    await Promise.all([run('a', { change }), run('a', { change }), run('b', { change })]);

    const entries = await recorded();
    expect(entries.map(({ about }) => about.join(' ')).sort()).toEqual([`cor_a ${payment}`, `cor_b ${payment}`]);
    expect(entries[0]).toMatchObject({ action: 'correction.made', actor: BY_OPERATOR, details: { sequence: '3' } });
    expect(firstBrokenEntry(systemDigest, entries)).toBeUndefined();
  });

  test('contains a correction once, even if a concurrent write makes the correction start again', async () => {
    const other = await harness.paid('k-2');
    const change = { kind: 'post' as const, legs: [] };
    const rival = () => run('rival', { payment: other, change });
    expect((await run('a', { change }, storeWithRival(rival))).kind).toBe('first');
    expect(await types()).toEqual(['payment.created', 'payment.completed', 'ledger.corrected']);
    expect((await recorded()).map(({ about }) => about)).toEqual([
      ['cor_rival', other],
      ['cor_a', payment],
    ]);
  });
});

describe('requests with different idempotency keys', () => {
  test('create one correction if both concurrently reverse the same set of postings', async () => {
    const outcomes = await Promise.all([run('a'), run('b')]);

    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(['already_reversed', 'first']);
    expect(await types()).toHaveLength(3);
  });

  test('create one correction if one reverses the set immediately before the other writes; the other gets the correction’s id', async () => {
    const late = await run(
      'b',
      {},
      storeWithRival(() => run('a')),
    );

    expect(late).toEqual({ kind: 'already_reversed', correctionId: 'cor_a' });
    expect(await types()).toHaveLength(3);
  });

  test('both succeed if they post new postings, even equal ones, and the hash chain remains unbroken', async () => {
    const legs = [
      { account: 'corrections' as const, direction: 'debit' as const, amountMinor: 5 },
      { account: 'fees' as const, direction: 'credit' as const, amountMinor: 5 },
    ];
    const change = { kind: 'post' as const, legs };

    const late = await run(
      'b',
      { change },
      storeWithRival(() => run('a', { change })),
    );

    const { transitions } = await chain();
    expect(late.kind).toBe('first');
    expect(
      transitions.map(({ subject }) => (subject?.kind === 'correction' ? subject.correctionId : undefined)),
    ).toEqual([undefined, undefined, 'cor_a', 'cor_b']);
    expect(firstBrokenLink(systemDigest, transitions)).toBeUndefined();
  });

  test('cause a retryable error for a request that loses to others eight times in a row; it can be retried with its key', async () => {
    let rivals = 0;
    const change = { kind: 'post' as const, legs: [] };
    const crowded = storeWithRival(() => {
      rivals += 1;
      return run(`rival-${rivals}`, { change });
    }, 99);

    await expect(run('b', {}, crowded)).rejects.toMatchObject({ name: 'RetryableError', code: 'contention' });
    expect(rivals).toBe(8);
    expect((await run('b')).kind).toBe('first');
  });
});

describe('a correction', () => {
  test('does not change the payment', async () => {
    const before = await harness.get(`/v1/payments/${payment}`);
    await run('a');
    await run('b', { change: { kind: 'reverse', sequence: 3 } });

    expect((await harness.get(`/v1/payments/${payment}`)).text).toBe(before.text);
  });

  test.each([
    ['that does not exist', { payment: `pay_${'a'.repeat(32)}` }],
    ['with a malformed id', { payment: 'pay_1' }],
  ])('returns not found for a payment %s, and writes nothing', async (_whose, changes) => {
    expect(await run('a', changes)).toEqual({ kind: 'not_found' });
    expect(await types()).toHaveLength(2);
    expect(await harness.store.readEffect(storedOperationId('cor_a'))).toBeUndefined();
  });
});
