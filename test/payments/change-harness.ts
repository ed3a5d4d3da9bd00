import { fingerprintOf } from '../../lambdas/kernel/fingerprint.ts';
import { parseIdempotencyKey } from '../../lambdas/kernel/idempotency-key.ts';
import { type ChangeKind, deriveChangeId } from '../../lambdas/kernel/ids.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { idempotentRunner } from '../../lambdas/once/idempotent-runner.ts';
import type { ChangeCommand } from '../../lambdas/payments/domain/change.ts';
import {
  type ChangePayment,
  type ChangePaymentOutcome,
  changePayment,
} from '../../lambdas/payments/use/change-payment.ts';

import type { CreatePayment, CreatePaymentTools } from '../../lambdas/payments/use/create-payment.ts';
import {
  type Resolved,
  type ResolveTools,
  resolveClaims,
  resolveInquiries,
} from '../../lambdas/resolving/use/resolve.ts';
import { returnCharges } from '../../lambdas/resolving/use/return-charges.ts';
import { CallbackHarness } from '../callbacks/callback-harness.ts';
import { BY_REQUEST, BY_RUN } from '../support/causes.ts';
import { countingEntropy } from '../support/counting-entropy.ts';

const STEP: Readonly<Record<ChangeKind, string>> = { capture: 'capture', cancel: 'cancel', refund: 'refunds' };

/** A change of a payment, as its route would ask for it. */
export function change(payment: CreatePayment, key: string, command: ChangeCommand): ChangePayment {
  const { paymentId, tenantId, mode } = payment;
  const parsed = parseIdempotencyKey([key]);
  if (parsed.kind !== 'key') throw new Error(`${key} is no key`);
  const path = `/v1/payments/${paymentId}/${STEP[command.kind]}`;
  const scope = { tenantId, mode, method: 'POST', path, key: parsed.key };
  return {
    operationId: deriveChangeId(systemDigest, command.kind, paymentId, scope),
    paymentId,
    tenantId,
    mode,
    fingerprint: fingerprintOf(systemDigest, { body: JSON.parse(JSON.stringify(command)), query: {} }),
    requestId: 'req-change',
    cause: BY_REQUEST,
    command,
  };
}

/** The callback harness, with captures, cancellations, refunds, and who finishes them. */
export class ChangeHarness extends CallbackHarness {
  readonly #entropy = countingEntropy();

  get changeTools(): ResolveTools {
    const { store, processor, clock } = this;
    return {
      cause: BY_RUN,
      store,
      effects: store,
      work: store,
      processor,
      books: [processor],
      runner: idempotentRunner,
      replays: { get: () => undefined, put: () => undefined },
      clock,
      entropy: this.#entropy,
      digest: systemDigest,
      report: (error) => this.reported.push(error),
    };
  }

  change(request: ChangePayment, changes: Partial<CreatePaymentTools> = {}): Promise<ChangePaymentOutcome> {
    return changePayment({ ...this.changeTools, ...changes }, request);
  }

  /** The processor has done it, and the process is gone. */
  async dieAfterChange(request: ChangePayment): Promise<void> {
    const processor = {
      ...this.processor,
      change: async (...call: Parameters<typeof this.processor.change>) => {
        await this.processor.change(...call);
        throw new Error('the process is gone');
      },
    };
    const gone = await this.change(request, { processor }).catch((error: Error) => error.message);
    if (gone !== 'the process is gone') throw new Error(`it lived on: ${JSON.stringify(gone)}`);
  }

  resolveClaims(): Promise<Resolved> {
    return resolveClaims(this.changeTools);
  }

  resolveInquiries(): Promise<Resolved> {
    return resolveInquiries(this.changeTools);
  }

  returnCharges(): Promise<Resolved> {
    return returnCharges(this.changeTools);
  }

  capturedAtProcessor({ paymentId }: CreatePayment): number {
    return this.processor.charges(paymentId).reduce((sum, { capturedMinor }) => sum + capturedMinor, 0);
  }

  refundedAtProcessor({ paymentId }: CreatePayment): number {
    return this.processor
      .charges(paymentId)
      .flatMap(({ refunds }) => refunds)
      .filter(({ status }) => status === 'succeeded')
      .reduce((sum, { amountMinor }) => sum + amountMinor, 0);
  }

  /** Somebody gives money back on the processor's own page, as far as there is any. */
  async refundByHand(payment: CreatePayment, amountMinor: number): Promise<void> {
    await this.processor.inside.refund(this.chargeOf(payment), amountMinor).catch((error: Error) => {
      if (!error.message.startsWith('the sandbox refused')) throw error;
    });
  }
}
