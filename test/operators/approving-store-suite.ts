import { beforeEach, describe, expect, test } from '@jest/globals';
import type { ActivityLog } from '../../lambdas/activity/use/activity-log.ts';
import { type OperationId, ownerToken, type PaymentId, storedOperationId, tenantId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { sealOf } from '../../lambdas/kernel/sealed-details.ts';
import { type Approval, type ApprovalEnd, approvalId } from '../../lambdas/operators/domain/approval.ts';
import type { ApprovingStore } from '../../lambdas/operators/use/approving-store.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { PaymentStore } from '../../lambdas/payments/use/payment-store.ts';
import { openRecord, outcomeTransition, paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';

export interface ApprovingStoreUnderTest {
  readonly payments: PaymentStore;
  readonly activity: ActivityLog;
  readonly effects: ApprovingStore;
  erase(paymentId: PaymentId): Promise<void>;
}

const T0 = Date.UTC(2026, 2, 1, 12);
const ADA = { name: 'Ada', person: 'op_ada', identity: 'ok_ada' };
const BEN = { name: 'Ben', person: 'op_ben', identity: 'ok_ben' };
const CHAIN = { tenantId: tenantId('ten_fixture'), mode: 'test' } as const;
const PAGE = { afterSequence: 0, limit: 9 };
const POSTING = { account: 'refunds', direction: 'debit', amountMinor: 5, currency: 'EUR' } as const;
const LEGS = [
  { account: 'refunds', direction: 'debit', amountMinor: 5 },
  { account: 'fees', direction: 'credit', amountMinor: 5 },
] as const;

const REASON = 'Asked by “Grace” \u0000 決済';

export function correctionApproval(paymentId: PaymentId, operationId: OperationId, createdAtMs = T0): Approval {
  return {
    id: approvalId(systemDigest, operationId, createdAtMs),
    operationId,
    paymentId,
    tenantId: tenantId('ten_fixture'),
    mode: 'test',
    asked: { kind: 'correction', change: { kind: 'post', legs: LEGS } },
    amountMinor: 5,
    currency: 'EUR',
    effect: { type: 'ledger.corrected', paymentStatus: 'succeeded', postings: [POSTING] },
    askedBy: ADA,
    reason: REASON,
    ...sealOf(systemDigest, { reason: REASON }, new Uint8Array(16).fill(7)),
    createdAtMs,
    expiresAtMs: createdAtMs + 1_000,
  };
}

export function describeApprovingStore(name: string, make: () => Promise<ApprovingStoreUnderTest>): void {
  let made = 0;
  let subject: ApprovingStoreUnderTest;
  let effects: ApprovingStore;
  let paymentId: PaymentId;

  beforeEach(async () => {
    subject = await make();
    ({ effects } = subject);
    made += 1;
    paymentId = paymentIdFor(`approvals-${process.pid}-${made}`);
  });

  const operation = (key: string): OperationId => storedOperationId(`cor_${paymentId.slice(4, 20)}${key}`);
  const recordOf = (key: string, owner = 'owner-a') => ({
    operationId: operation(key),
    paymentId,
    owner: ownerToken(owner),
    recordedAtMs: T0,
  });
  const approvalOf = (key: string, createdAtMs = T0, changes: Partial<Approval> = {}): Approval => ({
    ...correctionApproval(paymentId, operation(key), createdAtMs),
    ...changes,
  });
  const stored = ({ salt: _salt, ...approval }: Approval) => approval;
  const ask = (approval: Approval, key: string, owner = 'owner-a') =>
    effects.recordEffect({ record: recordOf(key, owner), transitions: [], approval });
  const begunActivity = () =>
    ({
      chain: CHAIN,
      action: 'refund.requested',
      actor: { by: 'operator', operator: 'Ben', identity: 'ok_ben', requestId: 'req' },
      about: [paymentId],
      occurredAtMs: T0,
    }) as const;
  const end = (verdict: ApprovalEnd['verdict'], by = BEN): ApprovalEnd => ({ verdict, by, atMs: T0 + 7 });

  describe(`the ${name} approval store`, () => {
    test('writes an approval with its record once, and returns every field unchanged', async () => {
      const decision = approvalOf('b', T0 + 1, {
        asked: {
          kind: 'decision',
          outcome: 'failed',
          change: operation('c'),
          chargeId: 'ch_1',
          takenMinor: 4,
          override: true,
        },
      });
      expect(await effects.readApproval(decision.id)).toBeUndefined();
      expect(await ask(approvalOf('a'), 'a')).toEqual({ kind: 'recorded' });
      expect(await ask(decision, 'b')).toEqual({ kind: 'recorded' });
      expect(await effects.readApproval(decision.id)).toEqual(stored(decision));
      expect(await effects.readApproval(approvalOf('a').id)).toEqual(stored(approvalOf('a')));
      expect(await effects.readApproval('apr_1_a')).toBeUndefined();
    });

    test('writes no approval if a rival has already recorded the request', async () => {
      await ask(approvalOf('a'), 'a');
      const late = approvalOf('a', T0 + 5);
      expect(await ask(late, 'a', 'rival')).toMatchObject({ kind: 'recorded_before' });
      expect(await effects.readApproval(late.id)).toBeUndefined();
    });

    test('lists approvals in pages, newest first', async () => {
      const approvals = ['a', 'b', 'c', 'd'].map((key, index) => approvalOf(key, T0 + made * 100 + index));
      for (const approval of approvals) await ask(approval, String(approval.createdAtMs));
      const newest = approvals.toReversed().map(({ id }) => id);
      const first = await effects.listApprovals({ limit: 3 });
      expect(first.map(({ id }) => id)).toEqual(newest.slice(0, 3));
      const [oldest] = approvals;
      const rest = await effects.listApprovals({ after: newest[2] ?? '', limit: 1 });
      expect(rest).toEqual(oldest === undefined ? [] : [stored(oldest)]);
    });

    test('ends an approval request together with the effect of the verdict', async () => {
      const pending = pendingTransition(paymentId);
      await subject.payments.claim({ record: openRecord(paymentId), pending });
      const approval = approvalOf('a');
      await ask(approval, 'a');
      const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
      const approve = { record: recordOf('approve'), transitions: [paid], ended: { approval, end: end('approved') } };
      expect(await effects.recordEffect(approve)).toEqual({ kind: 'recorded' });
      expect(await effects.listTransitions(paymentId, PAGE)).toEqual([pending, paid]);
      expect(await effects.readApproval(approval.id)).toEqual({ ...stored(approval), end: end('approved') });
      expect(await effects.listApprovals({ limit: 1 })).toEqual([{ ...stored(approval), end: end('approved') }]);
    });

    test('does not end an approval request if a rival has already recorded the verdict’s operation', async () => {
      const approval = approvalOf('a');
      await ask(approval, 'a');
      await subject.payments.claim({ record: openRecord(paymentId), pending: pendingTransition(paymentId) });
      await effects.recordEffect({ record: recordOf('reject', 'rival'), transitions: [] });
      const reject = { record: recordOf('reject'), transitions: [], ended: { approval, end: end('rejected') } };
      expect(await effects.recordEffect(reject)).toMatchObject({ kind: 'recorded_before' });
      expect(await effects.readApproval(approval.id)).toEqual(stored(approval));
    });

    test('refuses a second verdict, and does not write its effect', async () => {
      const pending = pendingTransition(paymentId);
      await subject.payments.claim({ record: openRecord(paymentId), pending });
      const approval = approvalOf('a');
      await ask(approval, 'a');
      const reject = { record: recordOf('reject'), transitions: [], ended: { approval, end: end('rejected') } };
      expect(await effects.recordEffect(reject)).toEqual({ kind: 'recorded' });
      const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
      const approve = {
        record: recordOf('approve'),
        transitions: [paid],
        ended: { approval, end: end('approved', ADA) },
      };
      expect(await effects.recordEffect(approve)).toEqual({ kind: 'transition_exists' });
      expect(await effects.readEffect(operation('approve'))).toBeUndefined();
      expect(await effects.listTransitions(paymentId, PAGE)).toEqual([pending]);
      expect((await effects.readApproval(approval.id))?.end).toEqual(end('rejected'));
    });

    test('refuses an approval after its reason was erased, because the effect would store the reason again', async () => {
      const pending = pendingTransition(paymentId);
      await subject.payments.claim({ record: openRecord(paymentId), pending });
      const approval = approvalOf('a');
      await ask(approval, 'a');
      await subject.erase(paymentId);
      const paid = outcomeTransition(pending, { kind: 'succeeded', chargeId: 'ch_1' });
      const approve = { record: recordOf('approve'), transitions: [paid], ended: { approval, end: end('approved') } };
      expect(await effects.recordEffect(approve)).toEqual({ kind: 'transition_exists' });
      expect(await effects.readEffect(operation('approve'))).toBeUndefined();
      expect(await effects.listTransitions(paymentId, PAGE)).toHaveLength(1);
      const reject = { record: recordOf('reject'), transitions: [], ended: { approval, end: end('rejected') } };
      expect(await effects.recordEffect(reject)).toEqual({ kind: 'recorded' });
    });

    test('writes neither an approval nor a claim if the operation in `absent` already has a record', async () => {
      const pending = pendingTransition(paymentId);
      const claimed = {
        record: openRecord(paymentId),
        pending,
        activity: begunActivity(),
      };
      const { operationId } = claimed.record;
      const approval = approvalOf('a');
      const waits = { record: recordOf('a'), transitions: [], approval, absent: operationId };
      expect(await effects.claimChange({ ...claimed, absent: operation('a') })).toEqual({ kind: 'claimed' });
      expect(await effects.recordEffect(waits)).toEqual({ kind: 'transition_exists' });
      expect(await effects.readApproval(approval.id)).toBeUndefined();
      expect(await effects.readEffect(operation('a'))).toBeUndefined();
      expect(await effects.recordEffect({ ...waits, absent: operation('b') })).toEqual({ kind: 'recorded' });

      const later = paymentIdFor(`approvals-later-${process.pid}-${made}`);
      const rival = {
        record: openRecord(later),
        pending: pendingTransition(later),
        activity: begunActivity(),
        absent: operation('a'),
      };
      expect(await effects.claimChange(rival)).toEqual({ kind: 'transition_exists' });
      expect(await subject.payments.readRecord(chargeOperation(later))).toBeUndefined();
    });

    describe('a claim of a change', () => {
      const claimOf = (approval: Approval, owner = 'owner-a') => ({
        record: openRecord(paymentId, { owner: ownerToken(owner) }),
        pending: pendingTransition(paymentId),
        activity: begunActivity(),
        ended: { approval, end: end('approved') },
      });
      const begun = async () => {
        const log = await subject.activity.listActivity(CHAIN, { order: 'newest_first', limit: 9 });
        return [
          await subject.payments.readRecord(chargeOperation(paymentId)),
          await effects.listTransitions(paymentId, PAGE),
          log.filter(({ about }) => about.includes(paymentId)).map(({ action }) => action),
        ];
      };

      test('is written once, together with the end of its approval request', async () => {
        const approval = approvalOf('a');
        await ask(approval, 'a');
        const claim = claimOf(approval);
        expect(await effects.claimChange(claim)).toEqual({ kind: 'claimed' });
        expect(await begun()).toEqual([claim.record, [claim.pending], ['refund.requested']]);
        expect((await effects.readApproval(approval.id))?.end).toEqual(end('approved'));
        expect(await effects.claimChange(claimOf(approval, 'rival'))).toEqual({
          kind: 'record_exists',
          record: claim.record,
        });
        // The call is repeated as if the response to the first claim was lost.
        expect(await effects.claimChange(claim)).toEqual({ kind: 'claimed' });
      });

      test('is written without an approval request', async () => {
        const { ended: _ended, ...claim } = claimOf(approvalOf('a'));
        expect(await effects.claimChange(claim)).toEqual({ kind: 'claimed' });
        expect(await begun()).toEqual([claim.record, [claim.pending], ['refund.requested']]);
      });

      test.each(['a rival has ended the approval', 'the reason was erased', 'the place in the chain is taken'])(
        'is not written if %s',
        async (what) => {
          const approval = approvalOf('a');
          await ask(approval, 'a');
          if (what.includes('rival')) {
            const ended = { approval, end: end('rejected') };
            await effects.recordEffect({ record: recordOf('reject'), transitions: [], ended });
          } else if (what.includes('erased')) {
            await subject.erase(paymentId);
          } else {
            await effects.recordEffect({ record: recordOf('other'), transitions: [pendingTransition(paymentId)] });
          }
          expect(await effects.claimChange(claimOf(approval))).toEqual({ kind: 'transition_exists' });
          expect(await begun()).toEqual([undefined, expect.anything(), []]);
          expect((await effects.readApproval(approval.id))?.end?.verdict).not.toBe('approved');
        },
      );
    });

    test('returns the approval without its reason after the payment was erased', async () => {
      const { reason: _reason, ...approval } = approvalOf('a');
      await ask(approvalOf('a'), 'a');
      await subject.erase(paymentId);
      expect(await effects.readApproval(approval.id)).toEqual(stored(approval));
    });
  });
}
