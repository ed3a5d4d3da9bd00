import type { ProblemCode } from '../../lambdas/http/problems.ts';
import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { MAX_REFUNDS } from '../../lambdas/payments/domain/change.ts';
import { parsePaymentId } from '../../lambdas/payments/ids.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { Api, type Reply } from '../world/api.ts';
import type { InsideSandbox } from '../world/inside-sandbox.ts';

/** The processor of the payment is named `sandbox`. */
export class ChangedPayment {
  readonly id: string;
  readonly #behind: Api;

  static async of(body: Readonly<Record<string, unknown>>): Promise<ChangedPayment> {
    const behind = new Api();
    const made = await apiOver(behind).pay('k', body);
    return new ChangedPayment(behind, String(made.body['id']));
  }

  private constructor(behind: Api, id: string) {
    this.#behind = behind;
    this.id = id;
  }

  get inside(): InsideSandbox {
    return this.#behind.processor.inside;
  }

  get chargeId(): string {
    const [charge] = this.inside.all;
    invariant(charge !== undefined, 'the payment has no charge');
    return charge.chargeId;
  }

  get harness(): Api {
    return this.withProcessor({});
  }

  withProcessor(processor: Partial<Processor>): Api {
    return apiOver(this.#behind, processor);
  }

  change(step: string, body?: Readonly<Record<string, unknown>>, key = 'c'): Promise<Reply> {
    return this.harness.change(`${this.id}/${step}`, key, body);
  }

  /** The processor answers with 401, and the retry comes after the send window has closed. */
  async notAttempted(step: string, body: Readonly<Record<string, unknown>>): Promise<Reply> {
    await this.#behind.processor.inside.failNextChange(1, 'tok_unauthorized');
    await this.change(step, body);
    this.#behind.clock.advance(HOUR);
    return this.change(step, body);
  }

  async learn(): Promise<void> {
    const id = parsePaymentId(this.id);
    invariant(id !== undefined, 'the payment has no id');
    await this.ledger.world.learn(id);
  }

  decide(key: string, body: Readonly<Record<string, unknown>>): Promise<Reply> {
    return this.ledger.ask('POST', `/v1/admin/payments/${this.id}/resolve`, {
      headers: { 'Content-Type': 'application/json', 'Idempotency-Key': key },
      event: { body: JSON.stringify(body) },
    });
  }

  get ledger(): Api {
    return this.#behind;
  }
}

function apiOver(behind: Api, otherwise: Partial<Processor> = {}): Api {
  return behind.with({ processor: { ...behind.processor, name: 'sandbox', ...otherwise } });
}

const HOUR = 3_600_000;

export const NO_CHARGE_FOUND = {
  outcome: 'failed',
  reason: 'Nothing on the bank statement of 3 March',
};

const CAPTURED_600 = { outcome: 'succeeded', amount: 600, reason: 'Seen on the bank statement of 3 March' };

/** The processor captures only 600 of the 1000 minor units, so the payment needs a review. */
export async function paymentInReview(): Promise<ChangedPayment> {
  const payment = await ChangedPayment.of({ source: 'tok_async' });
  await payment.inside.correct(payment.chargeId, { status: 'succeeded', amount_captured: 600 });
  await payment.learn();
  return payment;
}

export const authorizedPayment = () => ChangedPayment.of({ capture: 'manual' });
export const chargedPayment = () => ChangedPayment.of({});
const returned = { amount: 300, reason: 'Returned' };

type ChangeCode = Extract<
  ProblemCode,
  | `${'capture' | 'cancellation' | 'refund'}_${'failed' | 'not_attempted'}`
  | `payment_not_${'capturable' | 'cancelable' | 'refundable' | 'in_review'}`
  | 'change_in_progress'
  | 'change_not_undecided'
  | 'charge_unknown_at_processor'
  | 'amount_differs_from_processor'
  | 'processor_books_unreadable'
  | 'override_not_allowed'
  | 'too_many_refunds'
  | 'amount_exceeds_left'
>;

/** Each function provokes the problem whose code is its key. */
export const PROVOKED_CHANGES: Readonly<Record<ChangeCode, () => Promise<Reply>>> = {
  capture_failed: async () => {
    const payment = await authorizedPayment();
    await payment.inside.void(payment.chargeId);
    return payment.change('capture');
  },
  cancellation_failed: async () => {
    const payment = await authorizedPayment();
    await payment.inside.capture(payment.chargeId);
    return payment.change('cancel');
  },
  refund_failed: async () => {
    const payment = await chargedPayment();
    const { processor } = payment.ledger;
    const refundedConcurrently = payment.withProcessor({
      change: async (order, limit) => {
        await payment.inside.refund(payment.chargeId, 900);
        return processor.change(order, limit);
      },
    });
    return refundedConcurrently.change(`${payment.id}/refunds`, 'c', returned);
  },
  capture_not_attempted: async () => (await authorizedPayment()).notAttempted('capture', {}),
  cancellation_not_attempted: async () => (await authorizedPayment()).notAttempted('cancel', {}),
  refund_not_attempted: async () => (await chargedPayment()).notAttempted('refunds', returned),
  payment_not_capturable: async () => (await chargedPayment()).change('capture'),
  payment_not_cancelable: async () => (await chargedPayment()).change('cancel'),
  payment_not_refundable: async () => (await authorizedPayment()).change('refunds'),
  payment_not_in_review: async () => (await chargedPayment()).decide('d', NO_CHARGE_FOUND),
  change_in_progress: async () => {
    const payment = await authorizedPayment();
    const rival = Promise.withResolvers<Reply>();
    const { harness } = payment;
    const synchronized = payment.withProcessor({
      change: async () => {
        rival.resolve(await harness.change(`${payment.id}/cancel`, 'rival'));
        return { kind: 'refused', failure: { code: 'any', message: 'Any.' } };
      },
    });
    await synchronized.change(`${payment.id}/capture`, 'first');
    return rival.promise;
  },
  change_not_undecided: async () => {
    const payment = await chargedPayment();
    const silent = () => Promise.reject(new AmbiguousError('processor_timeout', 'no response'));
    const refund = await payment
      .withProcessor({ change: silent, findChange: silent })
      .change(`${payment.id}/refunds`, 'c');
    return payment.decide('d', { ...NO_CHARGE_FOUND, change: refund.body['id'] });
  },
  charge_unknown_at_processor: async () =>
    (await paymentInReview()).decide('d', { ...CAPTURED_600, charge_id: 'ch_nowhere' }),
  amount_differs_from_processor: async () => (await paymentInReview()).decide('d', { ...CAPTURED_600, amount: 6 }),
  processor_books_unreadable: async () => {
    const payment = await paymentInReview();
    await payment.inside.goDown();
    return payment.decide('d', CAPTURED_600);
  },
  override_not_allowed: async () => (await paymentInReview()).decide('d', { ...CAPTURED_600, override: true }),
  too_many_refunds: async () => {
    const payment = await chargedPayment();
    for (let refund = 0; refund < MAX_REFUNDS; refund += 1) await payment.inside.refund(payment.chargeId, 1);
    await payment.learn();
    return payment.change('refunds', { amount: 1 });
  },
  amount_exceeds_left: async () => {
    const payment = await chargedPayment();
    await payment.change('refunds', returned);
    return payment.change('refunds', { amount: 701 }, 'another');
  },
};
