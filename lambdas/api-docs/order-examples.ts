import { CREATED, type Example, PAYMENT_ID } from './examples.ts';

/** What the API really answers to orders, for its documents: the tests ask for each and compare. */

const ORDER_ID = 'ord_q6hz4m2nrb7vwy3k3jx5aqt5ocdeflgu';

export const orderRequestExamples = {
  whole: {
    summary: 'On a friend’s word',
    value: {
      amount: 2000,
      currency: 'EUR',
      source: 'tok_ok',
      items: [{ sku: 'sku_tea', quantity: 2 }],
      email: 'ada@example.com',
      referrer: 'ref_friend',
    },
  },
} satisfies Record<string, Example>;

const completedOrder = {
  id: ORDER_ID,
  object: 'order',
  status: 'completed',
  amount: 2000,
  currency: 'EUR',
  items: [{ sku: 'sku_tea', quantity: 2 }],
  email: 'ada@example.com',
  referrer: 'ref_friend',
  payment: PAYMENT_ID,
  reservation: 'rsv_1',
  notifications: { email: 'sent' },
  referral: 'credited',
  failure: null,
  created: CREATED,
  livemode: false,
};

export const orderExamples = {
  completed: { summary: 'Paid, reserved, confirmed and credited', value: completedOrder },
  late: {
    summary: 'Paid and reserved; the e-mail is late, and goes out later',
    value: { ...completedOrder, notifications: { email: 'delayed' } },
  },
} satisfies Record<string, Example>;

const beforeReserved = {
  ...completedOrder,
  reservation: null,
  notifications: { email: 'pending' },
  referral: 'pending',
};

export const unknownOrderExamples = {
  processing: { summary: 'Not known yet', value: { ...beforeReserved, status: 'processing' } },
} satisfies Record<string, Example>;

export function canceledOrder(failure: { readonly code: string; readonly message: string }) {
  return { ...beforeReserved, status: 'canceled', failure };
}
