import type { Answer } from '../../lambdas/kernel/answer.ts';
import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import type { PaymentId } from '../../lambdas/kernel/ids.ts';
import { ownerToken, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import type { CompletedRecord, OpenRecord } from '../../lambdas/once/domain/idempotency.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import { decide } from '../../lambdas/payments/domain/decide.ts';
import type { Fact } from '../../lambdas/payments/domain/facts.ts';
import { create, type Payment } from '../../lambdas/payments/domain/payment.ts';
import { evolve, type PaymentState, stateAfter } from '../../lambdas/payments/domain/payment-state.ts';
import type { Transition } from '../../lambdas/payments/domain/transition.ts';
import { firstTransition, nextTransition, sealedNotes } from '../../lambdas/payments/domain/transition.ts';
import { type ChangeKind, chargeOperation, deriveChangeId, derivePaymentId } from '../../lambdas/payments/ids.ts';
import type { ChangePayment } from '../../lambdas/payments/use/change-payment.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import type { CallbackEvent } from '../../lambdas/payments/use/effect-store.ts';
import { BY_REQUEST, requestedAt } from '../support/causes.ts';

const T0 = Date.UTC(2026, 2, 1, 12);
const TENANT = tenantId('ten_fixture');

export function paymentIdFor(key: string, tenant = 'ten_fixture'): PaymentId {
  const parsed = parseIdempotencyKey([key]);
  invariant(parsed.kind === 'key', `${key} is not an idempotency key`);
  return derivePaymentId(systemDigest, {
    tenantId: tenantId(tenant),
    mode: 'test',
    method: 'POST',
    path: '/v1/payments',
    key: parsed.key,
  });
}

export function paymentRequest(key: string, changes: Partial<CreatePayment> = {}): CreatePayment {
  const body = { amount: 1000, currency: 'EUR', source: 'tok_ok', ...changes };
  return {
    paymentId: paymentIdFor(key),
    tenantId: TENANT,
    mode: 'test',
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(body)), query: {} }),
    requestId: 'req-fixture',
    cause: BY_REQUEST,
    amountMinor: 1000,
    currency: 'EUR',
    source: 'tok_ok',
    capture: 'automatic',
    ...changes,
  };
}

export function openRecord(paymentId: PaymentId, changes: Partial<OpenRecord> = {}): OpenRecord {
  return {
    status: 'INPROGRESS',
    operationId: chargeOperation(paymentId),
    paymentId,
    fingerprint: { version: 1, sha256: systemDigest.sha256('a request') },
    owner: ownerToken('owner-a'),
    claimedAtMs: T0,
    leaseExpiresAtMs: T0 + 25_000,
    released: false,
    ...changes,
  };
}

export function completedRecord(paymentId: PaymentId, changes: Partial<CompletedRecord> = {}): CompletedRecord {
  const answer: Answer = { status: 201, headers: { 'content-type': 'application/json' }, body: '{"id":"x"}' };
  return {
    status: 'COMPLETED',
    operationId: chargeOperation(paymentId),
    paymentId,
    fingerprint: { version: 1, sha256: systemDigest.sha256('a request') },
    owner: ownerToken('owner-a'),
    claimedAtMs: T0,
    answer,
    expiresAtSeconds: T0 / 1000 + 604_800,
    ...changes,
  };
}

export function pendingTransition(paymentId: PaymentId, reference?: string): Transition {
  const draft = create({
    id: paymentId,
    tenantId: TENANT,
    mode: 'test',
    amountMinor: 1000,
    currency: 'EUR',
    source: 'tok_ok',
    capture: 'automatic',
    ...(reference === undefined ? {} : { reference }),
    processorName: 'sandbox',
    createdAtMs: T0,
  });
  return firstTransition(
    systemDigest,
    draft,
    {
      ...sealedNotes(systemDigest, { description: 'two shirts', metadata: { order: '6735' } }, new Uint8Array(16)),
      requestId: 'req-fixture',
      processor: { account: 'sandbox', endpoint: 'https://sandbox.example', apiVersion: '1' },
    },
    requestedAt(T0),
  );
}

export function outcomeTransition(newest: Transition, fact: Fact): Transition {
  const state = stateAfter([newest]);
  const decision = decide(fact, state);
  invariant(decision.kind === 'append', 'the fact causes no transition');
  return nextTransition(systemDigest, { newest, state }, decision.draft, requestedAt(T0 + 900));
}

const STEP: Readonly<Record<ChangeKind, string>> = { capture: 'capture', cancel: 'cancel', refund: 'refunds' };

export function change(payment: CreatePayment, key: string, command: ChangeCommand): ChangePayment {
  const { paymentId, tenantId: owner, mode } = payment;
  const parsed = parseIdempotencyKey([key]);
  invariant(parsed.kind === 'key', `${key} is not an idempotency key`);
  const path = `/v1/payments/${paymentId}/${STEP[command.kind]}`;
  const scope = { tenantId: owner, mode, method: 'POST', path, key: parsed.key };
  return {
    operationId: deriveChangeId(systemDigest, command.kind, paymentId, scope),
    paymentId,
    tenantId: owner,
    mode,
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(command)), query: {} }),
    requestId: 'req-change',
    cause: BY_REQUEST,
    command,
  };
}

export function callback(eventId: string, chargeId: string, type = 'charge.changed'): CallbackEvent {
  return { processorName: 'sandbox', mode: 'test', eventId, type, chargeId };
}

export function stateFrom(created: Payment, ...facts: readonly Fact[]): PaymentState {
  return facts.reduce(
    (state, fact) => {
      const decision = decide(fact, state);
      if (decision.kind !== 'append') throw new Error(`${fact.kind} changed nothing: ${decision.because}`);
      return evolve(state, decision.draft);
    },
    stateAfter([create(created)]),
  );
}
