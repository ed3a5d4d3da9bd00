import { beforeEach, describe, expect, test } from '@jest/globals';
import { type PaymentId, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import { stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { firstTransition, nextTransition, type Transition } from '../../lambdas/payments/domain/transition.ts';
import type { BooksOwner, EntryQuery, LedgerEntry, LedgerReader } from '../../lambdas/views/use/ledger-reader.ts';
import { paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { requestedAt } from '../support/causes.ts';

export interface ReaderUnderTest {
  readonly reader: LedgerReader;
  readonly write: (transitions: readonly Transition[]) => Promise<void>;
}

const NOON = Date.UTC(2026, 2, 1, 12);

/** The payment is captured at `atMs`. */
export function takenAt(
  owner: BooksOwner,
  key: string,
  atMs: number,
  { amountMinor = 1000, currency = 'EUR', feeMinor = 59 } = {},
): readonly Transition[] {
  const { payment, first, type } = pendingTransition(paymentIdFor(key, owner.tenantId));
  invariant(first !== undefined, 'the first transition has no details');
  const created = firstTransition(
    systemDigest,
    { type, payment: { ...payment, ...owner, amountMinor, currency }, postings: [] },
    first,
    requestedAt(atMs),
  );
  const state = stateAfter([created]);
  const decision = decide({ kind: 'succeeded', chargeId: `ch_${key}`, feeMinor }, state);
  invariant(decision.kind === 'append', 'the success causes no transition');
  return [created, nextTransition(systemDigest, { newest: created, state }, decision.draft, requestedAt(atMs))];
}

export function describeLedgerReader(name: string, make: () => Promise<ReaderUnderTest>): void {
  let made = 0;
  let reader: LedgerReader;
  let write: ReaderUnderTest['write'];
  let owner: BooksOwner;
  let other: BooksOwner;

  beforeEach(async () => {
    ({ reader, write } = await make());
    made += 1;
    owner = { tenantId: tenantId(`ten_${process.pid}_${made}`), mode: 'test' };
    other = { tenantId: tenantId(`ten_${process.pid}_${made}_other`), mode: 'test' };
  });

  const entries = (query: Partial<EntryQuery> = {}) => reader.entries({ ...owner, limit: 100, ...query });
  const entriesIn = (found: readonly LedgerEntry[]) =>
    found.map(({ account, direction, amountMinor, leg }) => [leg, account, direction, amountMinor]);
  const paymentsOf = (found: readonly LedgerEntry[]) => [...new Set(found.map(({ paymentId }) => paymentId))];
  const idOf = (key: string): PaymentId => paymentIdFor(key, owner.tenantId);

  describe(`${name}: entries`, () => {
    test('contain each posting of a transition once', async () => {
      await write(takenAt(owner, 'a', NOON));

      const found = await entries();

      expect(found[0]).toEqual({
        paymentId: idOf('a'),
        sequence: 2,
        leg: 0,
        type: 'payment.completed',
        occurredAtMs: NOON,
        account: 'processor_clearing',
        direction: 'debit',
        amountMinor: 1000,
        currency: 'EUR',
      });
      expect(entriesIn(found)).toEqual([
        [0, 'processor_clearing', 'debit', 1000],
        [1, 'merchant_payable', 'credit', 1000],
        [2, 'fees', 'debit', 59],
        [3, 'processor_clearing', 'credit', 59],
      ]);
    });

    test('are sorted by time, payment, sequence and leg, regardless of the order of the writes', async () => {
      const written = { late: NOON + 2, x: NOON, y: NOON, z: NOON, early: 1 };
      for (const [key, atMs] of Object.entries(written)) await write(takenAt(owner, key, atMs));

      const found = await entries();

      const same = [idOf('x'), idOf('y'), idOf('z')].sort();
      expect(paymentsOf(found)).toEqual([idOf('early'), ...same, idOf('late')]);
      expect(found.map(({ leg }) => leg)).toEqual([0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2, 3]);
    });

    test('are filtered by account and time', async () => {
      await write(takenAt(owner, 'a', NOON));
      await write(takenAt(owner, 'b', NOON + 10));

      expect(entriesIn(await entries({ account: 'fees' }))).toEqual([
        [2, 'fees', 'debit', 59],
        [2, 'fees', 'debit', 59],
      ]);
      expect(await entries({ account: 'disputes' })).toEqual([]);
      expect(paymentsOf(await entries({ fromMs: NOON, untilMs: NOON + 10 }))).toEqual([idOf('a')]);
      expect(paymentsOf(await entries({ fromMs: NOON + 1 }))).toEqual([idOf('b')]);
    });

    test('are paged without gaps or duplicates, even within one transition', async () => {
      for (const key of ['a', 'b', 'c']) await write(takenAt(owner, key, NOON));
      const all = await entries();
      const paged: LedgerEntry[] = [];
      for (let page = 0; page < 20; page += 1) {
        const after = paged.at(-1);
        const found = await entries({ limit: 5, ...(after === undefined ? {} : { after }) });
        if (found.length === 0) break;
        paged.push(...found);
      }

      expect(all).toHaveLength(12);
      expect(paged).toEqual(all);
    });

    test('paginate correctly when filtered by currency, with other currencies interleaved', async () => {
      await write(takenAt(owner, 'a', NOON));
      await write(takenAt(owner, 'b', NOON + 1, { currency: 'JPY' }));
      await write(takenAt(owner, 'c', NOON + 2));
      const yen = await entries({ currency: 'JPY' });
      expect(yen.map(({ paymentId, currency }) => [paymentId, currency])).toEqual(
        Array.from({ length: yen.length }, () => [idOf('b'), 'JPY']),
      );
      expect(yen.length).toBeGreaterThan(1);
      const [first] = await entries({ currency: 'JPY', limit: 1 });
      expect(first).toEqual(yen[0]);
      expect(await entries({ currency: 'JPY', limit: 1, ...(first === undefined ? {} : { after: first }) })).toEqual([
        yen[1],
      ]);
      expect(await entries({ currency: 'CHF' })).toEqual([]);
    });

    test('never include entries of another tenant or mode', async () => {
      const live: BooksOwner = { ...owner, mode: 'live' };
      await write(takenAt(other, 'theirs', NOON));
      await write(takenAt(live, 'live', NOON));
      const [theirs] = await reader.entries({ ...other, limit: 1 });
      invariant(theirs !== undefined, 'the other tenant does not see its own entries');

      expect(await entries()).toEqual([]);
      expect(await entries({ after: { ...theirs, leg: 0 } })).toEqual([]);
      expect(await reader.entries({ ...live, limit: 100 })).toHaveLength(4);
    });
  });

  describe(`${name}: balances`, () => {
    test('are the sums of the entries, by account and currency', async () => {
      await write(takenAt(owner, 'a', NOON));
      await write(takenAt(owner, 'b', NOON, { amountMinor: 500, feeMinor: 41 }));
      await write(takenAt(owner, 'c', NOON, { amountMinor: 7, currency: 'JPY', feeMinor: 0 }));
      await write(takenAt(other, 'theirs', NOON));

      const balances = await reader.balances(owner);

      expect(new Set(balances)).toEqual(
        new Set([
          { account: 'processor_clearing', currency: 'EUR', debitMinor: 1500, creditMinor: 100 },
          { account: 'merchant_payable', currency: 'EUR', debitMinor: 0, creditMinor: 1500 },
          { account: 'fees', currency: 'EUR', debitMinor: 100, creditMinor: 0 },
          { account: 'processor_clearing', currency: 'JPY', debitMinor: 7, creditMinor: 0 },
          { account: 'merchant_payable', currency: 'JPY', debitMinor: 0, creditMinor: 7 },
        ]),
      );
    });

    test('include only the entries before the requested time, even near the end of a day', async () => {
      const HOUR = 60 * 60 * 1000;
      const times = [NOON - 30 * HOUR, NOON - 12 * HOUR, NOON, NOON + 11 * HOUR, NOON + 12 * HOUR, NOON + 40 * HOUR];
      for (const [index, atMs] of times.entries()) await write(takenAt(owner, `p${index}`, atMs, { feeMinor: 0 }));
      for (const untilMs of times.flatMap((atMs) => [atMs, atMs + 1, atMs + HOUR])) {
        const before = times.filter((atMs) => atMs < untilMs).length;
        const balances = await reader.balances({ ...owner, untilMs });
        expect(balances.map(({ debitMinor, creditMinor }) => debitMinor + creditMinor)).toEqual(
          before === 0 ? [] : [1000 * before, 1000 * before],
        );
      }
    });

    test('are empty for a tenant without entries', async () => {
      await write(takenAt(other, 'theirs', NOON));

      expect(await reader.balances(owner)).toEqual([]);
    });

    test('are exact up to 2^53 - 1, and are refused beyond it', async () => {
      const half = (Number.MAX_SAFE_INTEGER - 1) / 2;
      await write(takenAt(owner, 'a', NOON, { amountMinor: half, feeMinor: 0 }));
      await write(takenAt(owner, 'b', NOON, { amountMinor: half + 1, feeMinor: 0 }));
      const sums = await reader.balances(owner);
      await write(takenAt(owner, 'c', NOON, { amountMinor: 1, feeMinor: 0 }));

      expect(sums.map(({ debitMinor, creditMinor }) => debitMinor + creditMinor)).toEqual([
        9_007_199_254_740_991, 9_007_199_254_740_991,
      ]);
      await expect(reader.balances(owner)).rejects.toMatchObject({ name: 'TerminalError', code: 'balance_too_large' });
    });
  });
}
