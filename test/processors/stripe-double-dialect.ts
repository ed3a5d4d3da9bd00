import { AmbiguousError } from '../../lambdas/kernel/faults.ts';
import { callOnce, type SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { Failure } from '../../lambdas/payments/domain/payment.ts';
import type { ChangeOrder, ChargeOrder, Processor } from '../../lambdas/payments/use/processor.ts';
import type { StripeDouble, StripeTrouble } from './stripe-double.ts';

const METHODS: Readonly<Record<string, string>> = {
  tok_declined: 'pm_card_visa_chargeDeclined',
  tok_action: 'pm_card_authenticationRequired',
  tok_async: 'pm_usBankAccount_success',
  tok_unknown: 'tok_unknown',
};

interface SourceTrouble {
  readonly trouble: StripeTrouble;
  readonly always?: true;
}

const TROUBLES: Readonly<Record<string, SourceTrouble>> = {
  tok_flaky: { trouble: 'unavailable' },
  tok_timeout_charged: { trouble: 'silent_after' },
  tok_timeout_not_charged: { trouble: 'silent_before' },
  tok_malformed: { trouble: 'malformed_after' },
  tok_rate_limited: { trouble: 'rate_limited' },
  tok_unauthorized: { trouble: 'unauthorized', always: true },
};

/** Times out immediately if the double does not respond. */
export function timeOutOnSilence(double: StripeDouble): SendRequest {
  return async (call) => {
    if (double.nextSilence() === undefined) return callOnce(call);
    const silence = double.silence();
    const sent = callOnce(call);
    // Ignores the error that occurs when the double later closes the connection.
    sent.catch(() => undefined);
    const timedOut = silence.then(() => {
      throw new AmbiguousError('processor_timeout', 'The processor did not answer in time.');
    });
    return Promise.race([sent, timedOut]);
  };
}

/**
 * Translates the sandbox's test tokens to Stripe's, and Stripe's refusals to the sandbox's. Does not change the
 * behavior of the adapter.
 */
export function translateToSandbox(stripe: Processor, double: StripeDouble): Processor {
  const met = new Set<string>();
  const arm = ({ operationId, source }: ChargeOrder) => {
    const found = TROUBLES[source];
    if (found === undefined || (met.has(operationId) && found.always === undefined)) return;
    met.add(operationId);
    double.trouble([found.trouble]);
  };
  const translated = (order: ChargeOrder): ChargeOrder => ({
    ...order,
    source: METHODS[order.source] ?? 'pm_card_visa',
  });
  return {
    ...stripe,
    charge: async (order, limit) => {
      arm(order);
      const outcome = await stripe.charge(translated(order), limit);
      return 'failure' in outcome ? { ...outcome, failure: ofCharge(outcome.failure, order) } : outcome;
    },
    findCharge: async (order, limit) => {
      const outcome = await stripe.findCharge(translated(order), limit);
      return 'failure' in outcome ? { ...outcome, failure: ofCharge(outcome.failure, order) } : outcome;
    },
    change: async (order, limit) => {
      const outcome = await stripe.change(order, limit);
      return 'failure' in outcome ? { ...outcome, failure: ofChange(outcome.failure, order) } : outcome;
    },
  };
}

export function faultsOfSource(source: string, count: number): readonly StripeTrouble[] {
  const found = TROUBLES[source];
  if (found === undefined) throw new Error(`there is no fault for ${source}`);
  return Array.from({ length: count }, () => found.trouble);
}

function ofCharge({ code, message }: Failure, { source }: ChargeOrder): Failure {
  if (code === 'card_declined') return { code, message: 'The card was declined.' };
  if (code === 'resource_missing') return { code: 'invalid_source', message: `There is no source ${source}.` };
  return { code, message };
}

const NOT_ABLE = { capture: 'charge_not_capturable', void: 'charge_not_voidable', refund: 'charge_not_refundable' };

function ofChange({ code, message }: Failure, { change }: ChangeOrder): Failure {
  if (code === 'payment_intent_unexpected_state') return { code: NOT_ABLE[change.kind], message };
  // Stripe has no code for a refund above the remaining amount.
  return code === 'refused' ? { code: 'amount_too_large', message } : { code, message };
}
