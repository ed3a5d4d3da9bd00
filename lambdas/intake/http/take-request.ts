import * as z from 'zod';
import { isTransient } from '../../http/http-answer.ts';
import { type JsonObject, type RequestBody, readJsonObject } from '../../http/json-body.ts';
import { fingerprintOfSent } from '../../http/keyed-request.ts';
import type { Parsed } from '../../http/problems.ts';
import { refuseSensitiveBody, validateSearchedBody } from '../../http/validate.ts';
import type { Problem } from '../../kernel/answer.ts';
import { MAX_BODY_BYTES } from '../../kernel/contract/limits.ts';
import type { RequestCount, Telemetry } from '../../kernel/platform/telemetry.ts';
import { findSensitive } from '../../kernel/sensitive.ts';
import type { RunNotes } from '../../once/use/execute-once.ts';
import { isRequestedBy } from '../../payments/domain/transition.ts';
import { createPaymentBody, requestedPayment } from '../../payments/http/payment-objects.ts';
import { type NewPaymentTools, preparePayment } from '../../payments/http/post-payment.ts';
import { runCounts } from '../../payments/http/run-counts.ts';
import { paymentOfEvent } from '../../payments/ids.ts';
import type { CreatePayment, CreatePaymentOutcome } from '../../payments/use/create-payment.ts';
import type { TenantLimits } from '../../tenants/limits.ts';
import type { IsTenant, Owner } from '../../tenants/owners.ts';
import type { ParkedReason, RequestMessage, RequestQueue } from '../use/request-queue.ts';

/**
 * Every transport delivers at least once: a request may arrive repeatedly after a lost acknowledgement, late, or
 * concurrently with another delivery. Each delivery runs through the steps of `POST /v1/payments`, with the event's id
 * as the key, so the payer is charged once:
 *
 *   naive   receive ── charge ── acknowledge ✗ lost ── receive ── charge again
 *   here    receive ── claim ── charge ── commit ── acknowledge ✗ lost ── receive ── claim: completed ── acknowledge
 *
 * When this function returns, the event is settled or is durable in a queue, so the transport acknowledges the event.
 * While one delivery processes the event, its claim is open, and every other delivery is delayed and redelivered. When
 * this function throws, a dependency has failed: the claim is released if nothing was sent to a processor, otherwise
 * its lease expires. The next delivery continues from that state.
 */
export async function takeRequest(tools: IntakeTools, { message, sent }: ReadMessage): Promise<Taken> {
  const park = async (reason: ParkedReason, detail: string): Promise<Taken> => {
    await tools.requests.park(message, reason, detail);
    tools.telemetry.run('payment-request', {}, { sender: message.sender, outcome: reason });
    return 'parked';
  };
  const later = async (delayMs: number, counts: Counts = {}): Promise<Taken> => {
    await tools.requests.later(message, delayMs / 1000);
    tools.telemetry.run('payment-request', counts, { sender: message.sender, outcome: 'waits' });
    return 'waits';
  };

  const owner = tools.senders.get(message.sender);
  if (owner === undefined) return park('unknown_sender', 'the settings do not map this sender to a tenant');
  if (!(await tools.isTenant(owner.tenantId))) {
    return park('unknown_tenant', `the settings map this sender to ${owner.tenantId}, which does not exist`);
  }
  const read = readRequest(tools, message, sent, owner);
  if (read.kind === 'refused') return park(read.reason, read.detail);
  const { request, sentAtMs } = read;
  if (tools.clock.nowMs() - sentAtMs > tools.oldestMs && !(await hasBegun(tools, request))) {
    return park('expired', `the event is too old: it was sent at ${new Date(sentAtMs).toISOString()}`);
  }
  const admitted = await admit(tools, owner);
  if (admitted.kind === 'limited') {
    // Many messages may wait because of the same tenant's limit. The wait is random, so that they are not all
    // redelivered at the same time.
    return later(Math.max(admitted.retryAfterMs, LIMITED_MS * (1 + tools.entropy.fraction())), { rate_limited: 1 });
  }

  const ready = await preparePayment(tools, request);
  if (ready.kind === 'refused') return park('refused', detailOf(ready.problem));
  const notes: RunNotes = { takenOver: false, fenced: false };
  const outcome = await ready.value(notes);
  const counts = Object.fromEntries(runCounts(outcome, notes).map((name) => [name, 1]));
  const settled = (taken: 'done' | 'done_before'): Taken => {
    const { sender } = message;
    tools.telemetry.run('payment-request', counts, { sender, outcome: outcome.kind, payment: request.paymentId });
    return taken;
  };
  const parkChanged = () => park('changed', `another request with this event_id was accepted as ${request.paymentId}`);
  switch (outcome.kind) {
    case 'first':
      return settled('done');
    case 'replay':
      return settled('done_before');
    case 'key_expired':
      return (await isChanged(tools, request)) ? parkChanged() : settled('done_before');
    case 'in_progress':
      return later(leftOf(outcome, tools.clock.nowMs()), counts);
    case 'payload_mismatch':
      return parkChanged();
    case 'reference_used':
      return park('refused', `reference_already_used by ${outcome.paymentId}`);
    case 'no_processor':
      return park('refused', outcome.why);
  }
}

/** Results after which the transport acknowledges the event. */
export type Taken = 'done' | 'done_before' | 'parked' | 'waits';

export interface IntakeTools extends NewPaymentTools {
  readonly senders: ReadonlyMap<string, Owner>;
  readonly isTenant: IsTenant;
  /**
   * Maximum age of an event that may start a payment, in milliseconds. An older event may still continue a payment that
   * has begun.
   */
  readonly oldestMs: number;
  readonly limits: Pick<TenantLimits, 'admit'>;
  readonly requests: RequestQueue;
  readonly telemetry: Pick<Telemetry, 'run' | 'fault'>;
}

type Counts = Readonly<Partial<Record<RequestCount, number>>>;

// ---------------------------------------------------------------------------------------------------------- the request

const { amount, currency, source, capture, reference, metadata } = createPaymentBody.shape;

const requestBody = z.strictObject({
  event_id: z.uuid('must be a UUID').toLowerCase(),
  account_from: source,
  account_to: z.string('must be the id of a tenant'),
  amount,
  currency,
  capture,
  reference,
  metadata,
  timestamp: z.iso.datetime({ offset: true, error: 'must be an RFC 3339 time, for example 2026-03-01T12:00:00Z' }),
});

/**
 * Fields excluded from the fingerprint, because they can differ between two deliveries of one request: the time, and
 * the event's id, which serves as the key and may arrive in a different letter case.
 */
const NOT_FINGERPRINTED = ['timestamp', 'event_id'];

type ReadRequest =
  | { readonly kind: 'request'; readonly request: CreatePayment; readonly sentAtMs: number }
  | { readonly kind: 'refused'; readonly reason: ParkedReason; readonly detail: string };

/** The event's sender determines tenant and mode. */
function readRequest(
  { digest, clock }: Pick<IntakeTools, 'digest' | 'clock'>,
  { sender, sentAtMs }: RequestMessage,
  sent: Parsed<JsonObject>,
  owner: Owner,
): ReadRequest {
  const malformed = (problem: Problem) =>
    ({ kind: 'refused', reason: 'malformed', detail: detailOf(problem) }) as const;
  if (sent.kind === 'refused') return malformed(sent.problem);
  const read = validateSearchedBody(requestBody, sent.value);
  if (read.kind === 'refused') return malformed(read.problem);
  const { event_id: eventId, account_from, account_to, timestamp, ...terms } = read.value;
  const body = validateSearchedBody(createPaymentBody, { ...terms, source: account_from });
  if (body.kind === 'refused') return malformed(body.problem);
  if (account_to !== owner.tenantId) {
    return { kind: 'refused', reason: 'wrong_account', detail: 'account_to is not the tenant of the sender' };
  }
  const request = {
    ...owner,
    paymentId: paymentOfEvent(digest, owner, eventId),
    fingerprint: fingerprintOfSent(digest, sent.value, NOT_FINGERPRINTED),
    requestId: eventId,
    cause: { by: 'event', eventId, sender },
    receivedAtMs: clock.nowMs(),
    ...requestedPayment(body.value),
  } as const;
  // Use the earlier of the two times: a sender with a fast clock must not get more time to start a payment.
  return { kind: 'request', request, sentAtMs: Math.min(sentAtMs, Date.parse(timestamp)) };
}

/** Returns the payload in the form of a request body from the gateway, so that the rules for request bodies apply. */
function asBody(payload: Uint8Array): RequestBody {
  const header = () => ['application/json'];
  return { body: Buffer.from(payload).toString('base64'), isBase64Encoded: true, header };
}

function detailOf({ code, detail, param }: Problem): string {
  return [code, ...(param === undefined ? [] : [param]), detail].join(': ');
}

/** No later step parses or searches the message again. */
export interface ReadMessage {
  /**
   * The message without content that must not be stored: a payload that is too long is truncated, and a payload that
   * contains a card number or a secret is removed.
   */
  readonly message: RequestMessage;
  readonly sent: Parsed<JsonObject>;
}

/** Reading ten megabytes at each delivery would exceed the time limit of the function. */
export function readMessage(whole: RequestMessage): ReadMessage {
  const message = { ...whole, payload: whole.payload.subarray(0, MAX_BODY_BYTES + 1) };
  const without = { ...whole, payload: new Uint8Array() };
  const sent = readJsonObject(asBody(message.payload));
  if (sent.kind === 'refused') {
    const isSensitive = textsOf(message.payload).some((text) => findSensitive(text) !== undefined);
    return { message: isSensitive ? without : message, sent };
  }
  const found = refuseSensitiveBody(sent.value);
  return found === undefined ? { message, sent } : { message: without, sent: { kind: 'refused', problem: found } };
}

/** As UTF-8, as UTF-8 with its `\u` escapes resolved, and as Latin-1. The payload may be invalid JSON. */
function textsOf(payload: Uint8Array): readonly string[] {
  const bytes = Buffer.from(payload);
  const text = bytes.toString('utf8');
  const unescaped = text.replaceAll(ESCAPE, (_escape, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
  return [...new Set([text, unescaped, bytes.toString('latin1')])];
}

const ESCAPE = /\\u([0-9a-f]{4})/gi;

// ------------------------------------------------------------------------------------------------------------- admission

async function hasBegun({ store }: IntakeTools, { paymentId }: CreatePayment): Promise<boolean> {
  return (await store.readPayment(paymentId)) !== undefined;
}

/** Compares the terms in the payment's chain, because the record with the fingerprint no longer exists. */
async function isChanged({ store, digest }: IntakeTools, request: CreatePayment): Promise<boolean> {
  const chain = await store.readPayment(request.paymentId);
  return chain !== undefined && !isRequestedBy(digest, chain.first, request);
}

/** If the limits cannot be read, admits the request without delay. */
async function admit({ limits, telemetry }: IntakeTools, owner: Owner): ReturnType<TenantLimits['admit']> {
  return limits.admit({ ...owner, kind: 'payments' }).catch((error: unknown) => {
    if (!isTransient(error)) throw error;
    telemetry.fault('payment-request', error);
    return { kind: 'admitted' } as const;
  });
}

/**
 * Minimum wait of an event whose tenant has reached its limit, in milliseconds. A random time of up to the same length
 * is added.
 */
const LIMITED_MS = 10_000;
/** Maximum wait for the end of a lease, in milliseconds: the length of the lease, plus clock differences. */
const MAX_LEASE_WAIT_MS = 60_000;

function leftOf({ leaseExpiresAtMs }: Extract<CreatePaymentOutcome, { kind: 'in_progress' }>, nowMs: number): number {
  return Math.min(MAX_LEASE_WAIT_MS, Math.max(1_000, leaseExpiresAtMs - nowMs));
}
