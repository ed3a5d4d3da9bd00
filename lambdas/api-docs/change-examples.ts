import { CREATED, type Example, PAYMENT_ID, succeededPayment } from './examples.ts';

/** What the API really answers to captures, cancellations and refunds, for its documents: the tests ask for each and compare. */

const REFUND_ID = 'ref_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp2wq7hzd4ynrk5xcb3tmvja6ofe';

export const captureRequestExamples = {
  whole: { summary: 'All that was set aside', value: {} },
  part: { summary: 'A part; the rest is let go', value: { amount: 300 } },
} satisfies Record<string, Example>;

export const cancelRequestExamples = {
  all: { summary: 'There is nothing to say', value: {} },
} satisfies Record<string, Example>;

export const refundRequestExamples = {
  part: { summary: 'A part, and why', value: { amount: 300, reason: 'Returned' } },
  rest: { summary: 'All that is left', value: {} },
} satisfies Record<string, Example>;

export const heldPayment = {
  ...succeededPayment,
  amount_captured: 0,
  status: 'requires_capture',
  capture: 'manual',
};

export const captureExamples = {
  whole: {
    summary: 'All was taken',
    value: { ...heldPayment, amount_captured: 1000, status: 'succeeded' },
  },
  part: { summary: 'A part was taken', value: { ...heldPayment, amount_captured: 300, status: 'succeeded' } },
} satisfies Record<string, Example>;

export const cancelExamples = {
  canceled: {
    summary: 'The money was let go',
    value: { ...heldPayment, status: 'canceled', cancellation_reason: 'requested' },
  },
} satisfies Record<string, Example>;

export const unknownHoldExamples = {
  unchanged: { summary: 'Not known yet: the payment as it was', value: heldPayment },
} satisfies Record<string, Example>;

export const succeededRefund = {
  id: REFUND_ID,
  object: 'refund',
  payment: PAYMENT_ID,
  amount: 300,
  currency: 'EUR',
  status: 'succeeded',
  reason: 'Returned',
  failure: null,
  created: CREATED,
};

export const refundExamples = {
  part: { summary: 'A part was given back', value: succeededRefund },
  rest: { summary: 'All was given back', value: { ...succeededRefund, amount: 1000, reason: null } },
} satisfies Record<string, Example>;

export const unknownRefundExamples = {
  pending: { summary: 'Not known yet', value: { ...succeededRefund, status: 'pending' } },
} satisfies Record<string, Example>;

export const refundListExamples = {
  both: {
    summary: 'One that was asked for here, and one that was made at the processor',
    value: {
      object: 'list',
      data: [succeededRefund, { ...succeededRefund, id: 're_2', amount: 200, reason: null, created: null }],
      has_more: false,
    },
  },
} satisfies Record<string, Example>;
