import type { components } from '../generated/api-types.ts';
import { PayonceError } from './errors.ts';

export type WebhookEvent = components['schemas']['Event'];

export interface WebhookOptions {
  /** The endpoint's secrets (`whsec_…`): after a rotation, both the new and the previous secret. */
  readonly secrets: readonly string[];
  /**
   * Maximum difference between the timestamp of a webhook and this machine's clock, in either direction.
   * @default 300, as in Standard Webhooks
   */
  readonly toleranceSeconds?: number;
  /**
   * Time of the verification, in Unix milliseconds.
   * @default the current time
   */
  readonly nowMs?: number;
}

type HeaderValues = Pick<Headers, 'get'> | Readonly<Record<string, string | readonly string[] | undefined>>;

/**
 * The type of a cryptographic key. It is derived from `importKey`, because Node and browsers have no common name for
 * this type.
 */
type Key = Awaited<ReturnType<typeof crypto.subtle.importKey>>;

const TOLERANCE_SECONDS = 300;

/**
 * Verifies a webhook (Standard Webhooks) and returns its event. Events are delivered at least once: process each `id`
 * only once.
 *
 * @param body the body exactly as received, not JSON that was parsed and serialized again
 * @param headers the headers of the request: `Headers`, or Node's object, with names in upper or lower case
 * @throws PayonceError `invalid_webhook`
 */
export async function verifyWebhook(
  body: string | Uint8Array<ArrayBuffer>,
  headers: HeaderValues,
  options: WebhookOptions,
): Promise<WebhookEvent> {
  const { secrets, toleranceSeconds = TOLERANCE_SECONDS, nowMs = Date.now() } = checked(body, headers, options);
  const header = headerReader(headers);
  const [id, timestamp, signatures] = [header('webhook-id'), header('webhook-timestamp'), header('webhook-signature')];
  // The full stop separates the signed fields. If the id contained a full stop, a signature would match several
  // combinations of id, time and body.
  if (id.includes('.')) throw invalid('webhook-id contains a full stop');
  if (!/^\d{1,12}$/.test(timestamp)) throw invalid('webhook-timestamp is not a time in Unix seconds');
  if (Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds)
    throw invalid(`it was signed more than ${toleranceSeconds} seconds before or after this machine's time`);
  const received = typeof body === 'string' ? new TextEncoder().encode(body) : body;
  const signed = joined(new TextEncoder().encode(`${id}.${timestamp}.`), received);
  const keys = await Promise.all(secrets.map(keyOf));
  const given = signatures.split(' ').flatMap((each) => (each.startsWith('v1,') ? [bytesOf(each.slice(3))] : []));
  const known = given.filter((each) => each !== undefined);
  const checks = keys.flatMap((key) => known.map((signature) => crypto.subtle.verify('HMAC', key, signature, signed)));
  if (!(await Promise.all(checks)).includes(true)) throw invalid('no signature matches any secret');
  return JSON.parse(new TextDecoder().decode(received)) as WebhookEvent;
}

/** The error names the invalid argument. */
function checked(body: unknown, headers: unknown, options: Partial<WebhookOptions> | undefined): WebhookOptions {
  if (typeof body !== 'string' && !ArrayBuffer.isView(body))
    throw invalid('the body must be the text or the bytes as received, not parsed JSON');
  if (typeof headers !== 'object' || headers === null)
    throw invalid('headers must be a Headers object, or an object of header names and values');
  const { secrets } = options ?? {};
  if (!Array.isArray(secrets)) throw invalid('secrets must be a list: { secrets: [current, previous] }');
  if (secrets.length === 0) throw invalid('secrets is empty');
  return { ...options, secrets };
}

function headerReader(headers: HeaderValues): (name: string) => string {
  const isHeaders = (given: HeaderValues): given is Pick<Headers, 'get'> => typeof given['get'] === 'function';
  const read = (name: string): unknown => {
    if (isHeaders(headers)) return headers.get(name);
    return Object.entries(headers).find(([given]) => given.toLowerCase() === name)?.[1];
  };
  return (name) => {
    const value = single(read(name));
    if (typeof value !== 'string' || value === '') throw invalid(`the header ${name} is missing`);
    return value;
  };
}

/**
 * Joins repeated headers, which form one list (RFC 9110, section 5.3). The list's members are separated by spaces
 * (Standard Webhooks).
 */
function single(value: unknown): unknown {
  return Array.isArray(value) ? value.join(' ') : value;
}

async function keyOf(secret: string): Promise<Key> {
  const bytes =
    typeof secret === 'string' && secret.startsWith('whsec_') ? bytesOf(secret.slice('whsec_'.length)) : undefined;
  // The message must not contain the secret.
  if (bytes === undefined || bytes.length === 0) throw invalid('a secret must be whsec_ followed by base64');
  return crypto.subtle.importKey('raw', bytes, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']);
}

function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(left.length + right.length);
  bytes.set(left);
  bytes.set(right, left.length);
  return bytes;
}

function invalid(why: string): PayonceError {
  return new PayonceError('invalid_webhook', `The webhook cannot be verified: ${why}.`);
}
