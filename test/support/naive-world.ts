import type { Answer } from '../../lambdas/kernel/answer.ts';
import { AmbiguousError, RetryableError } from '../../lambdas/kernel/faults.ts';
import { storedOperationId } from '../../lambdas/kernel/ids.ts';
import type { CreatePayment } from '../../lambdas/payments/use/create-payment.ts';
import { PaymentWorld, type Seen } from '../payments/payment-world.ts';
import type { Actor, FaultVoice } from './fault-plan.ts';
import { processorOf } from './faulty-ports.ts';

const VOICE: FaultVoice = {
  throttle: () => new RetryableError('injected_throttle', 'nothing was applied'),
  ambiguous: () => new AmbiguousError('injected_ambiguity', 'nobody knows'),
};

/**
 * The handler that everybody writes first: look whether the key was seen, charge, save. Check, then act; and the answer,
 * the charge and the posting are three writes.
 */
export class NaiveWorld extends PaymentWorld {
  readonly #answers = new Map<string, Answer>();
  readonly #postings: string[] = [];
  #attempts = 0;

  protected override async handle(actor: Actor, request: CreatePayment): Promise<Seen> {
    const { paymentId: key, amountMinor, currency, source, capture } = request;
    const seen = await actor.call('findAnswer', VOICE, async () => this.#answers.get(key));
    if (seen !== undefined) return { kind: 'answered', answer: seen };

    this.#attempts += 1;
    const operationId = storedOperationId(`attempt-${this.#attempts}`);
    const order = { operationId, paymentId: key, amountMinor, currency, source, capture };
    const outcome = await processorOf(actor, this.processor).charge(order, { timeoutMs: 8_000 });
    if (outcome.kind === 'declined' || outcome.kind === 'rejected') return { kind: 'refused', reason: outcome.kind };

    const answer = { status: 201, headers: {}, body: JSON.stringify({ id: key, charge: outcome.chargeId }) };
    await actor.call('post', VOICE, async () => this.#postings.push(key));
    await actor.call('saveAnswer', VOICE, async () => this.#answers.set(key, answer));
    return { kind: 'answered', answer };
  }

  protected override async more(): Promise<readonly string[]> {
    return [];
  }

  protected override async postingSets(request: CreatePayment): Promise<number> {
    return this.#postings.filter((key) => key === request.paymentId).length;
  }
}
