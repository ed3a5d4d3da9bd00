import * as http from 'node:http';
import * as https from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { WEBHOOK_CALL_SECONDS } from '../../kernel/contract/timing.ts';
import { TerminalError } from '../../kernel/faults.ts';
import { printable } from '../../kernel/one-line.ts';
import type { AttemptResult } from '../domain/webhook-delivery.ts';
import type { WebhookRequest, WebhookTransport } from '../use/webhooks.ts';
import { type AddressRulesOptions, areAllowed, checkUrl, type Resolve, type Resolved } from './addresses.ts';

/** Timeout from the DNS look-up to the end of the response, in milliseconds. */
const CALL_MS = WEBHOOK_CALL_SECONDS * 1000;
/** Maximum number of response bytes that are read and stored, for diagnosis. */
const EXCERPT_BYTES = 256;

export interface WebhookTransportOptions extends AddressRulesOptions {
  readonly resolve: Resolve;
  /** @default 10 s */
  readonly callMs?: number;
}

/**
 * Calls receivers over HTTPS. Each call resolves the host name once, checks all its addresses, and connects only to
 * these addresses, so a second look-up with a different result (DNS rebinding) is impossible. Redirects are not
 * followed. Connections are not reused, so that each call checks the addresses.
 */
export function webhookTransport(options: WebhookTransportOptions): WebhookTransport {
  return {
    post: async (request, late) => {
      const ruling = checkUrl(request.url, options);
      if (ruling.kind === 'refused') return unanswered('address_not_allowed');
      const signal = AbortSignal.timeout(options.callMs ?? CALL_MS);
      const waiting = late.map(({ notify, afterMs }) => setTimeout(notify, afterMs));
      try {
        const found = isIP(ruling.host) === 0 ? await inTime(signal, options.resolve(ruling.host)) : [];
        if (isIP(ruling.host) === 0 && !areAllowed(found, options)) return unanswered('address_not_allowed');
        return await call(ruling.url, request, { found, signal });
      } catch (error) {
        if (!isSendable(error)) throw new TerminalError('webhook_request_invalid', 'the request cannot be made');
        return unanswered(signal.aborted ? 'timeout' : reasonOf(error));
      } finally {
        for (const each of waiting) clearTimeout(each);
      }
    },
  };
}

interface CallOptions {
  /** The checked addresses of the name; empty when the host is an IP address. */
  readonly found: readonly Resolved[];
  readonly signal: AbortSignal;
}

function call(url: URL, { headers, body }: WebhookRequest, options: CallOptions): Promise<AttemptResult> {
  const { found, signal } = options;
  const { promise, resolve, reject } = Promise.withResolvers<AttemptResult>();
  const common: https.RequestOptions = {
    method: 'POST',
    headers: { ...headers, 'content-length': Buffer.byteLength(body), connection: 'close' },
    agent: false,
    signal,
    lookup: judged(found),
  };
  const request = url.protocol === 'https:' ? https.request(url, common) : http.request(url, common);
  request.on('error', reject);
  // The request does not ask for an upgrade, so a 101 is a protocol error.
  request.on('upgrade', (_response, socket) => {
    socket.destroy();
    reject(new Error('the receiver switched to a protocol that was not requested'));
  });
  request.on('response', (response) => {
    readExcerpt(response, signal, (excerpt) => {
      const { 'retry-after': retryAfter } = response.headers;
      const answered = { kind: 'answered' as const, status: response.statusCode ?? 0, excerpt };
      resolve(retryAfter === undefined ? answered : { ...answered, retryAfter });
      request.destroy();
    });
  });
  request.end(body);
  return promise;
}

/** Returns a look-up function that returns the checked addresses, without a DNS request. */
function judged(found: readonly Resolved[]): LookupFunction {
  return (_hostname, { all }, callback) => {
    const [first] = found;
    if (first === undefined) callback(new Error('the host name has no checked IP address'), '');
    else if (all === true) callback(null, [...found]);
    else callback(null, first.address, first.family);
  };
}

/** @throws when the signal aborts first */
async function inTime<Value>(signal: AbortSignal, coming: Promise<Value>): Promise<Value> {
  const { promise: over, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new Error('the time limit was exceeded')), { once: true });
  return Promise.race([coming, over]);
}

/** If a response is truncated or endless, passes the part that has arrived to `done`. */
function readExcerpt(response: http.IncomingMessage, signal: AbortSignal, done: (excerpt: string) => void): void {
  const chunks: Buffer[] = [];
  let length = 0;
  const finish = (): void => {
    response.removeAllListeners('data');
    done(printable(Buffer.concat(chunks).subarray(0, EXCERPT_BYTES).toString('utf8')));
  };
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    length += chunk.length;
    if (length >= EXCERPT_BYTES) finish();
  });
  response.on('end', finish);
  response.on('error', finish);
  signal.addEventListener('abort', finish, { once: true });
}

/**
 * Error codes with which Node refuses invalid characters in a header or path before it connects (Node.js, "Errors").
 */
const REFUSED_BEFORE_SENDING = new Set(['ERR_INVALID_CHAR', 'ERR_INVALID_HTTP_TOKEN', 'ERR_UNESCAPED_CHARACTERS']);

function isSendable(error: unknown): boolean {
  return !REFUSED_BEFORE_SENDING.has(codeOf(error));
}

function codeOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
}

function unanswered(error: string): AttemptResult {
  return { kind: 'unanswered', error };
}

/** Does not use the error's text, which can quote data from the server. */
function reasonOf(error: unknown): string {
  const code = codeOf(error);
  if (code === 'ETIMEDOUT') return 'timeout';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN' || code === 'ENODATA') return 'name_not_resolved';
  if (code === 'ECONNREFUSED') return 'connection_refused';
  if (code.startsWith('HPE_')) return 'malformed_answer';
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO/.test(code)) return 'tls_failed';
  return 'connection_failed';
}
