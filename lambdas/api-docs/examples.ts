/** What the API really answers, for its documents: the tests ask for each and compare. */

export const PAYMENT_ID = 'pay_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp';
export const CREATED = 1_772_366_400;

export interface Example {
  readonly summary: string;
  readonly value: unknown;
}

export const creationExamples = {
  smallest: { summary: 'The least that is needed', value: { amount: 1000, currency: 'EUR', source: 'tok_ok' } },
  whole: {
    summary: 'Everything',
    value: {
      amount: 4250,
      currency: 'EUR',
      source: 'tok_ok',
      capture: 'manual',
      reference: 'order-6735',
      description: 'Two shirts',
      metadata: { order: '6735' },
    },
  },
} satisfies Record<string, Example>;

export const succeededPayment = {
  id: PAYMENT_ID,
  object: 'payment',
  amount: 1000,
  amount_captured: 1000,
  amount_refunded: 0,
  currency: 'EUR',
  status: 'succeeded',
  source: 'tok_ok',
  capture: 'automatic',
  processor: { name: 'sandbox', charge_id: 'ch_1' },
  failure: null,
  reference: null,
  description: null,
  metadata: {},
  created: CREATED,
  livemode: false,
};

export const paymentExamples = {
  succeeded: { summary: 'The money was taken', value: succeededPayment },
  requires_capture: {
    summary: 'The money is reserved',
    value: { ...succeededPayment, ...creationExamples.whole.value, status: 'requires_capture', amount_captured: 0 },
  },
} satisfies Record<string, Example>;

export const unknownOutcomeExamples = {
  processing: {
    summary: 'Not known yet',
    value: {
      ...succeededPayment,
      amount_captured: 0,
      status: 'processing',
      processor: { name: 'sandbox', charge_id: null },
    },
  },
  requires_action: {
    summary: 'The payer must do something first',
    value: {
      ...succeededPayment,
      amount_captured: 0,
      status: 'requires_action',
      source: 'tok_action',
      next_action: { type: 'redirect', url: 'https://processor.example/actions/ch_1' },
    },
  },
} satisfies Record<string, Example>;

export const transitionExamples = {
  succeeded: {
    summary: 'A payment that was taken at once',
    value: {
      object: 'list',
      data: [
        { sequence: 1, type: 'payment.created', created: CREATED, postings: [] },
        {
          sequence: 2,
          type: 'payment.completed',
          created: CREATED,
          postings: [
            { account: 'processor_clearing', direction: 'debit', amount: 1000, currency: 'EUR' },
            { account: 'merchant_payable', direction: 'credit', amount: 1000, currency: 'EUR' },
          ],
        },
      ],
      has_more: false,
    },
  },
} satisfies Record<string, Example>;
