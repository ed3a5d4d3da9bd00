import { CREATED, type Example } from './examples.ts';

/** What the webhook routes really answer, for the API's documents: the tests ask for each and compare. */

const ENDPOINT_ID = 'we_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp';
const DELIVERY_ID = 'dlv_1772366400000m2nrb7vwy6t5ocdeflguspk3jx5aqhz4';
const url = 'https://shop.co.uk/hooks';

const endpoint = {
  id: ENDPOINT_ID,
  object: 'webhook_endpoint',
  url,
  events: ['*'],
  description: null,
  enabled: true,
  disabled: null,
  previous_secret_expires: null,
  created: CREATED,
  livemode: false,
};
// Of no form that anybody would take for a secret in use.
const secret = 'whsec_…';

export const endpointRequestExamples = {
  all: { summary: 'All events', value: { url, events: ['*'] } },
  some: {
    summary: 'Some events',
    value: { url, events: ['payment.completed', 'payment.failed'], description: 'Order system' },
  },
} satisfies Record<string, Example>;

export const createdExamples = {
  all: { summary: 'Made; the secret is shown here and nowhere else', value: { ...endpoint, secret } },
} satisfies Record<string, Example>;

export const endpointExamples = {
  enabled: { summary: 'An endpoint', value: endpoint },
  disabled: {
    summary: 'One that was switched off by its owner',
    value: { ...endpoint, enabled: false, disabled: { reason: 'requested', at: CREATED } },
  },
} satisfies Record<string, Example>;

export const endpointListExamples = {
  one: { summary: 'All endpoints', value: { object: 'list', data: [endpoint], has_more: false } },
} satisfies Record<string, Example>;

export const updateRequestExamples = {
  off: { summary: 'Switch it off', value: { enabled: false } },
} satisfies Record<string, Example>;

export const rotationRequestExamples = {
  hour: { summary: 'Both secrets sign for an hour', value: { overlap_seconds: 3_600 } },
} satisfies Record<string, Example>;

export const rotationExamples = {
  hour: {
    summary: 'A new secret; the one before goes on for an hour',
    value: { ...endpoint, previous_secret_expires: CREATED + 3_600, secret },
  },
} satisfies Record<string, Example>;

export const deletedExamples = {
  deleted: { summary: 'Deleted', value: { id: ENDPOINT_ID, object: 'webhook_endpoint', deleted: true } },
} satisfies Record<string, Example>;

const delivery = {
  id: DELIVERY_ID,
  object: 'webhook_delivery',
  endpoint: ENDPOINT_ID,
  event: 'evt_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp000002m2nrb7vwy6',
  type: 'payment.completed',
};

export const deliveryListExamples = {
  delivered: {
    summary: 'Taken at the second attempt',
    value: {
      object: 'list',
      data: [
        {
          ...delivery,
          status: 'delivered',
          attempts: [
            { at: CREATED, duration_ms: 10_000, status: null, error: 'timeout' },
            { at: CREATED + 15, duration_ms: 84, status: 204, error: null },
          ],
          last_answer: '',
          next_attempt: null,
          delivered: CREATED + 15,
          created: CREATED,
        },
      ],
      has_more: false,
    },
  },
} satisfies Record<string, Example>;

export const resendExamples = {
  waiting: {
    summary: 'It goes out now',
    value: {
      ...delivery,
      status: 'pending',
      attempts: [],
      last_answer: null,
      next_attempt: CREATED,
      delivered: null,
      created: CREATED,
    },
  },
} satisfies Record<string, Example>;

const range = { from: CREATED, until: CREATED + 86_400 };

export const replayRequestExamples = {
  day: { summary: 'A day', value: range },
} satisfies Record<string, Example>;

export const replayExamples = {
  day: {
    summary: 'Accepted',
    value: {
      id: 'rpl_k3jx5aqhz4m2nrb7vwy6t5ocdeflgusp',
      object: 'webhook_replay',
      endpoint: ENDPOINT_ID,
      ...range,
      events: ['*'],
      status: 'running',
      created: CREATED,
    },
  },
} satisfies Record<string, Example>;
