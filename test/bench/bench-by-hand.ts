import { LEASE_SECONDS, REQUEST_BUDGET_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import { create } from '../../lambdas/payments/domain/payment.ts';
import { creationAnswer } from '../../lambdas/payments/domain/payment-answer.ts';
import { stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import { detailsOf, firstTransition, nextTransition, notesOfNew } from '../../lambdas/payments/domain/transition.ts';
import { chargeOperation } from '../../lambdas/payments/ids.ts';
import type { CreatePayment, CreatePaymentTools } from '../../lambdas/payments/use/create-payment.ts';
import { settleCharge } from '../../lambdas/payments/use/find-out.ts';
import { processorFor } from '../../lambdas/payments/use/pinned-processor.ts';
import { requestedAt } from '../support/causes.ts';

const WEEK_SECONDS = 7 * 24 * 60 * 60;

/**
 * Makes the same claim, processor request and commit as `createPayment`. Leaves out the takeover, the replay and the
 * handling of rivals, so the difference between the two is the cost of these parts.
 */
export async function payByHand(tools: CreatePaymentTools, request: CreatePayment): Promise<void> {
  const { store, digest, clock, entropy } = tools;
  const processor = processorFor(tools, request);
  invariant(typeof processor !== 'string', 'the bench has no processor');
  const { paymentId, tenantId, mode, fingerprint, requestId, amountMinor, currency, source, capture } = request;
  const claimedAtMs = clock.nowMs();
  const operationId = chargeOperation(paymentId);
  const draft = create({
    id: paymentId,
    tenantId,
    mode,
    amountMinor,
    currency,
    source,
    capture,
    processorName: processor.name,
    createdAtMs: claimedAtMs,
  });
  const { account, endpoint, apiVersion } = processor;
  const notes = notesOfNew(digest, request, entropy.salt());
  const details = { ...notes, requestId, processor: { account, endpoint, apiVersion } };
  const pending = firstTransition(digest, draft, details, requestedAt(claimedAtMs));
  const key = { operationId, paymentId, fingerprint };
  const owner = entropy.ownerToken();
  const leaseExpiresAtMs = claimedAtMs + LEASE_SECONDS * 1000;
  const record = { status: 'INPROGRESS' as const, ...key, owner, claimedAtMs, leaseExpiresAtMs, released: false };
  const claim = await store.claim({ record, pending });
  invariant(claim.kind === 'claimed', `the manual claim was refused: ${claim.kind}`);

  const order = { operationId, paymentId, amountMinor, currency, source, capture };
  const answerByMs = claimedAtMs + REQUEST_BUDGET_SECONDS * 1000;
  const fact = await settleCharge({ processor, clock, entropy }, { order, claimedAtMs, sent: 'nothing', answerByMs });
  const state = stateAfter([pending]);
  const decision = decide(fact, state);
  invariant(decision.kind === 'append', 'the charge decides no transition');
  const nowMs = clock.nowMs();
  const transition = nextTransition(digest, { newest: pending, state }, decision.draft, requestedAt(nowMs));
  const answer = creationAnswer(transition.payment, detailsOf(pending));
  const expiresAtSeconds = Math.ceil(nowMs / 1000) + WEEK_SECONDS;
  const commit = await store.commit({
    record: { status: 'COMPLETED', ...key, owner, claimedAtMs, answer, expiresAtSeconds },
    expects: 'open',
    transition,
  });
  invariant(commit.kind === 'committed', `the manual commit was refused: ${commit.kind}`);
}
