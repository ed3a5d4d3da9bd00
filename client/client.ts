import type { components, operations } from '../generated/api-types.ts';
import type { KeyStore, StoredRequest } from './key-store.ts';
import { type Once, Operations } from './operations.ts';
import { ReadClient } from './reading.ts';
import { type Limits, Sender } from './sender.ts';
import { type Runtime, SYSTEM } from './surroundings.ts';

type Schemas = components['schemas'];
type QueryOf<Name extends keyof operations> = NonNullable<operations[Name]['parameters']['query']>;

export type Payment = Schemas['Payment'];
export type Refund = Schemas['Refund'];
export type Capture = Schemas['Capture'];
export type Cancellation = Schemas['Cancellation'];
export type Dispute = Schemas['Dispute'];
export type Order = Schemas['Order'];
export type WebhookEndpoint = Schemas['WebhookEndpoint'];
type EndpointWithSecret = Schemas['WebhookEndpointWithSecret'];

export interface ClientOptions {
  /** The address of the API including its stage, but without `/v1`, for example `https://pay.example.com`. */
  readonly url: string;
  /**
   * A tenant's API key. It is a secret: never ship it to a browser. In a browser, set `url` to an address of your own
   * server, which adds the key.
   *
   * @default no key is sent
   */
  readonly apiKey?: string;
  /** Stores keys and bodies before they are sent: `fileKeys`, `browserKeys`, or your own functions. */
  readonly keys: KeyStore;
  /** Replaces functions of the environment, for tests. @default the system's network, clock, timers and randomness */
  readonly surroundings?: Partial<Runtime>;
}

export type Client = ReturnType<typeof createClient>;

/**
 * Creates a client of Payonce's API that cannot charge twice. The caller chooses a name (`operation`) for each change.
 * The client stores the change with its key before it sends the change.
 *
 * @throws TypeError for a missing or invalid option
 */
export function createClient(options: ClientOptions) {
  const { url, apiKey, keys, surroundings } = checkedOptions(options);
  const around: Runtime = { ...SYSTEM, ...surroundings };
  const headers = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` };
  const sender = new Sender({ url: addressOf(url), headers }, around);
  const operationsOf = new Operations(keys, sender, modeOf(apiKey), around);
  const reading = new ReadClient(sender, around);
  return {
    payments: payments(operationsOf, reading),
    refunds: parts<Refund>(reading, 'refunds'),
    captures: parts<Capture>(reading, 'captures'),
    cancellations: parts<Cancellation>(reading, 'cancellations'),
    disputes: {
      retrieve: (id: string, limits?: Limits) => reading.get<Dispute>(`/v1/disputes/${segment(id)}`, limits),
      list: (query?: QueryOf<'listDisputes'>, limits?: Limits) => reading.pages<Dispute>('/v1/disputes', query, limits),
    },
    orders: orders(operationsOf, reading),
    events: {
      retrieve: (id: string, limits?: Limits) => reading.get<Schemas['Event']>(`/v1/events/${segment(id)}`, limits),
      list: (query?: QueryOf<'listEvents'>, limits?: Limits) =>
        reading.pages<Schemas['Event']>('/v1/events', query, limits),
    },
    webhookEndpoints: webhookEndpoints(operationsOf, reading),
  };
}

/** Checks the options, for callers without types. The error names the option. */
function checkedOptions(given: Partial<ClientOptions> | undefined): ClientOptions {
  const { url, apiKey, keys } = given ?? {};
  if (typeof url !== 'string' || url === '')
    throw new TypeError('createClient needs url, the address of the API with its stage: https://pay.example.com');
  if (typeof keys?.putIfAbsent !== 'function' || typeof keys.keepAnswer !== 'function')
    throw new TypeError('createClient needs keys, which store each request before it is sent: fileKeys(folder)');
  if (apiKey !== undefined && !/^[!-~]+$/.test(apiKey))
    throw new TypeError('apiKey must consist of printable ASCII characters without spaces; leave it out to send none');
  return { ...given, url, keys };
}

const post = (path: string, params?: object) => ({ method: 'POST', path, ...(params === undefined ? {} : { params }) });

function payments(changes: Operations, reading: ReadClient) {
  const at = (id: string) => `/v1/payments/${segment(id)}`;
  return {
    /**
     * Creates a payment. Its status can be `processing` or `requires_action`: see `wait`.
     * @throws ProblemError `payment_failed` with the payment
     */
    create: (params: Schemas['CreatePayment'], once: Once) => changes.run<Payment>(post('/v1/payments', params), once),
    /**
     * Captures an authorized payment.
     * @param params if it has no amount, the full authorized amount is captured
     */
    capture: (id: string, params: Schemas['CapturePayment'], once: Once) =>
      changes.run<Payment>(post(`${at(id)}/capture`, params), once),
    cancel: (id: string, once: Once) => changes.run<Payment>(post(`${at(id)}/cancel`), once),
    /**
     * Refunds a payment.
     * @param params if it has no amount, the remaining amount is refunded
     */
    refund: (id: string, params: Schemas['RefundPayment'], once: Once) =>
      changes.run<Refund>(post(`${at(id)}/refunds`, params), once),
    retrieve: (id: string, limits?: Limits) => reading.get<Payment>(at(id), limits),
    /**
     * Waits while the payment is `processing`. Does not wait for a payment in `requires_action` or `needs_review`,
     * because a person must act first.
     *
     * @throws UnfinishedError after `timeoutMs`, by default two minutes
     */
    wait: (id: string, limits?: Limits) =>
      reading.wait<Payment>(at(id), ({ status }) => status === 'processing', limits),
    list: (query?: QueryOf<'listPayments'>, limits?: Limits) => reading.pages<Payment>('/v1/payments', query, limits),
    transitions: (id: string, limits?: Limits) =>
      reading.pages<Schemas['Transition']>(`${at(id)}/transitions`, {}, limits),
    captures: (id: string, limits?: Limits) => reading.pages<Capture>(`${at(id)}/captures`, {}, limits),
    cancellations: (id: string, limits?: Limits) => reading.pages<Cancellation>(`${at(id)}/cancellations`, {}, limits),
    refunds: (id: string, limits?: Limits) => reading.pages<Refund>(`${at(id)}/refunds`, {}, limits),
    disputes: (id: string, limits?: Limits) => reading.pages<Dispute>(`${at(id)}/disputes`, {}, limits),
  };
}

function parts<Part extends { readonly status: string }>(
  reading: ReadClient,
  name: 'refunds' | 'captures' | 'cancellations',
) {
  const at = (id: string) => `/v1/${name}/${segment(id)}`;
  return {
    retrieve: (id: string, limits?: Limits) => reading.get<Part>(at(id), limits),
    /**
     * Waits while the change is `pending`.
     * @throws UnfinishedError when the time is up
     */
    wait: (id: string, limits?: Limits) => reading.wait<Part>(at(id), ({ status }) => status === 'pending', limits),
  };
}

function orders(changes: Operations, reading: ReadClient) {
  const at = (id: string) => `/v1/orders/${segment(id)}`;
  return {
    /**
     * Creates an order.
     * @throws ProblemError `payment_failed`, `out_of_stock` or `order_canceled` with the order
     */
    create: (params: Schemas['CreateOrder'], once: Once) => changes.run<Order>(post('/v1/orders', params), once),
    retrieve: (id: string, limits?: Limits) => reading.get<Order>(at(id), limits),
    /**
     * Waits while the order is `processing`.
     * @throws UnfinishedError when the time is up
     */
    wait: (id: string, limits?: Limits) => reading.wait<Order>(at(id), ({ status }) => status === 'processing', limits),
    list: (query?: QueryOf<'listOrders'>, limits?: Limits) => reading.pages<Order>('/v1/orders', query, limits),
  };
}

function webhookEndpoints(changes: Operations, reading: ReadClient) {
  const root = '/v1/webhook_endpoints';
  const at = (id: string) => `${root}/${segment(id)}`;
  return {
    /** Creates an endpoint. The response contains the secret, and stays in the key store. */
    create: (params: Schemas['CreateWebhookEndpoint'], once: Once) =>
      changes.run<EndpointWithSecret>(post(root, params), once),
    /** Updates an endpoint. A repeated update changes nothing, so it needs no operation. */
    update: (id: string, params: Schemas['UpdateWebhookEndpoint'], limits?: Limits) =>
      reading.set<WebhookEndpoint>(at(id), params, limits),
    delete: (id: string, once: Once) =>
      changes.run<Schemas['DeletedWebhookEndpoint']>({ method: 'DELETE', path: at(id) }, once),
    /** Rotates the secret. The key store keeps the response, which contains the new secret. */
    rotateSecret: (id: string, params: Schemas['RotateWebhookSecret'], once: Once) =>
      changes.run<EndpointWithSecret>(post(`${at(id)}/rotate_secret`, params), once),
    replay: (id: string, params: Schemas['ReplayWebhooks'], once: Once) =>
      changes.run<Schemas['WebhookReplay']>(post(`${at(id)}/replay`, params), once),
    resend: (id: string, delivery: string, once: Once) =>
      changes.run<Schemas['WebhookDelivery']>(post(`${at(id)}/deliveries/${segment(delivery)}/resend`), once),
    retrieve: (id: string, limits?: Limits) => reading.get<WebhookEndpoint>(at(id), limits),
    list: (limits?: Limits) => reading.pages<WebhookEndpoint>(root, {}, limits),
    deliveries: (id: string, query?: QueryOf<'listWebhookDeliveries'>, limits?: Limits) =>
      reading.pages<Schemas['WebhookDelivery']>(`${at(id)}/deliveries`, query, limits),
  };
}

/** Escapes an id as a path segment, so that it cannot lead to another path. */
function segment(id: string): string {
  if (typeof id !== 'string' || id === '' || id === '.' || id === '..')
    throw new TypeError(`an id must be a string such as pay_…, but is ${JSON.stringify(id)}`);
  return encodeURIComponent(id);
}

function addressOf(url: string): string {
  if (!URL.canParse(url) || !/^https?:\/\/[^\s\\/?#@]+(?:\/[^\s\\]*)?$/i.test(url) || /[?#]/.test(url))
    throw new TypeError(`url must be an http or https address without a query, but is ${url}`);
  if (/[^/]\/v1\/*$/.test(url)) throw new TypeError(`url must not end in /v1, which the client adds, but is ${url}`);
  return url.replace(/(?<!\/)\/+$/, '');
}

function modeOf(apiKey: string | undefined): StoredRequest['mode'] {
  const mode = /^sk_(test|live)_/.exec(apiKey ?? '')?.[1];
  return mode === 'test' || mode === 'live' ? mode : null;
}
