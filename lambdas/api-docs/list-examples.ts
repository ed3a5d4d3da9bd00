import { CREATED, type Example, PAYMENT_ID, succeededPayment } from './examples.ts';

/** What the lists really answer, for the API's documents: the tests ask for each and compare. */

const completed = {
  id: `evt_${PAYMENT_ID.slice('pay_'.length)}000002mfzwizlttq`,
  object: 'event',
  type: 'payment.completed',
  created: CREATED,
  sequence: 2,
  livemode: false,
  data: { object: succeededPayment },
};

export const paymentListExamples = {
  page: {
    summary: 'The newest payment, with more behind it',
    value: { object: 'list', data: [succeededPayment], has_more: true },
  },
} satisfies Record<string, Example>;

export const eventExamples = {
  completed: { summary: 'A payment was taken', value: completed },
} satisfies Record<string, Example>;

export const eventListExamples = {
  page: { summary: 'All that happened', value: { object: 'list', data: [completed], has_more: false } },
} satisfies Record<string, Example>;
