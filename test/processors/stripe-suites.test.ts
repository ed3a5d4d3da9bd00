import { stripeContract } from '../../lambdas/processors/stripe/contract.ts';
import { describeChanges } from './processor-changes-suite.ts';
import { describeProcessor } from './processor-suite.ts';
import { type StripeDouble, serveStripe } from './stripe-double.ts';
import { clientAt } from './stripe-double-client.ts';
import { faultsOfSource, timeOutOnSilence, translateToSandbox } from './stripe-double-dialect.ts';

const STATUSES: Readonly<Record<string, string>> = {
  requires_capture: 'authorized',
  requires_payment_method: 'declined',
  canceled: 'voided',
};

const clientOf = (double: StripeDouble) =>
  clientAt(double.url, { clock: double.clock, returnUrl: 'https://shop.example/back', send: timeOutOnSilence(double) });

describeProcessor('Stripe adapter over HTTP', stripeContract.abilities, async () => {
  const double = await serveStripe();
  return {
    processor: translateToSandbox(clientOf(double), double),
    chargesOf: async (paymentId) =>
      double.intentsOf(paymentId).map(({ id, status }) => ({ id, status: STATUSES[status] ?? status })),
    failNext: async (count, source) => double.trouble(faultsOfSource(source, count)),
    advance: (milliseconds) => double.advance(milliseconds),
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
  };
});

describeChanges('Stripe adapter’s changes over HTTP', stripeContract.abilities, async () => {
  const double = await serveStripe();
  return {
    processor: translateToSandbox(clientOf(double), double),
    stateOf: async (chargeId) => {
      const intent = double.books.intents.get(chargeId);
      if (intent === undefined) throw new Error(`there is no intent ${chargeId}`);
      const { status, amount_received: captured, refunds } = intent;
      return { status: STATUSES[status] ?? status, captured, refunds: refunds.map(({ amount }) => amount) };
    },
    failNextChange: async (count, source) => double.trouble(faultsOfSource(source, count)),
    [Symbol.asyncDispose]: () => double[Symbol.asyncDispose](),
  };
});
