import { AmbiguousError, RetryableError } from '../../../lambdas/kernel/faults.ts';
import { invariant } from '../../../lambdas/kernel/invariant.ts';
import type { HttpAnswer, HttpCall, SendRequest } from '../../../lambdas/outbound/http-call.ts';
import type { AttemptResult } from '../../../lambdas/webhooks/domain/webhook-delivery.ts';
import type { WebhookRequest } from '../../../lambdas/webhooks/use/webhooks.ts';
import type { Mail, RunningSystem, ShopAction, WebhookReceived } from './contract.ts';
import type { Simulation } from './simulation.ts';

type Party = Exclude<Parameters<RunningSystem['partyUp']>[0], 'bus'>;

interface Entry {
  readonly id: string;
  readonly status?: string;
}

/** In milliseconds. Most callers wait longer. */
const SLOW_MS = 4_000;

/** Simulates the shop and the mail server, and records their effects. Also delays calls to processors. */
export class Parties {
  readonly actions: ShopAction[] = [];
  readonly mails: Mail[] = [];
  readonly down = new Set<string>();
  /** Names of the external services whose responses are lost. */
  readonly silentParties = new Set<string>();
  readonly #simulation: Simulation;
  readonly #send: SendRequest;
  readonly #known = new Set<string>();

  /** @param send sends requests to a sandbox that acts as shop and mail server */
  constructor(simulation: Simulation, send: SendRequest) {
    this.#simulation = simulation;
    this.#send = send;
  }

  readonly send: SendRequest = async (call) => {
    const path = new URL(call.url).pathname;
    const party: Party = path.startsWith('/stock') ? 'stock' : path.startsWith('/referrals') ? 'referrals' : 'mail';
    if (this.down.has(party)) throw unreachable(call);
    try {
      const answer = await this.#send({ ...call, timeoutMs: call.timeoutMs });
      this.#note(call, path, answer);
      if (this.silentParties.has(party)) throw timedOut(call);
      return answer;
    } finally {
      // The request may have taken effect even if its response was lost.
      if (party === 'mail' && call.method === 'POST') await this.#lookAtMail(call);
    }
  };

  /**
   * @param send used if the call takes effect although its response is lost
   *
   * @throws AmbiguousError when the caller times out
   */
  async delay(processor: string, call: HttpCall, send: () => Promise<HttpAnswer>): Promise<void> {
    const { calledClock } = this.#simulation;
    const lost = this.#lostOf(processor, call);
    if (lost === undefined && !this.down.has(`slow calls of ${processor}`)) return;
    await calledClock.sleep(lost === undefined ? Math.min(SLOW_MS, call.timeoutMs) : call.timeoutMs);
    if (lost === 'response') await send();
    if (lost !== undefined || call.timeoutMs < SLOW_MS) throw timedOut(call);
  }

  /** @returns undefined if the processor responds */
  #lostOf(processor: string, { method, url }: HttpCall): 'call' | 'response' | undefined {
    const isRead = method === 'GET';
    const isSilent = (what: string): boolean => this.down.has(`${what} of ${processor}`);
    const kinds = new URL(url).pathname === '/health' ? [] : isRead ? ['reads'] : ['lost writes', 'writes'];
    if (!['requests', 'answers', ...kinds].some(isSilent)) return undefined;
    return isRead || isSilent('requests') || isSilent('lost writes') ? 'call' : 'response';
  }

  #note({ method, headers, body }: HttpCall, path: string, { status, text }: HttpAnswer): void {
    if (method !== 'POST' || path === '/email') return;
    const { id, status: state } = JSON.parse(text) as Entry;
    const kind =
      status >= 300
        ? 'refused'
        : path.endsWith('/release')
          ? 'released'
          : path.startsWith('/stock')
            ? 'reserved'
            : 'credited';
    const known = `${kind} ${id}`;
    if (kind !== 'refused' && this.#known.has(known)) return;
    // The response to a request with a used idempotency key shows the current state: here, the earlier reservation was
    // released.
    if (kind === 'reserved' && state === 'released') return;
    this.#known.add(known);
    const order: unknown = { ...(JSON.parse(body ?? '{}') as object), ...(kind === 'refused' ? {} : { id }) };
    const key = headers['idempotency-key'] ?? path;
    this.actions.push({ kind, key, order, atMs: this.#simulation.nowMs });
  }

  async #lookAtMail({ headers, body = '{}' }: HttpCall): Promise<void> {
    const { To, Metadata = {} } = JSON.parse(body) as {
      readonly To: string;
      readonly Metadata?: Record<string, string>;
    };
    const [[name, value] = []] = Object.entries(Metadata).slice(-1);
    const query = new URLSearchParams({ count: '50', offset: '0', [`metadata_${name}`]: String(value) });
    const url = `https://parties.example/messages/outbound?${query.toString()}`;
    const { text } = await this.#send({ method: 'GET', url, headers, timeoutMs: 60_000 });
    const { Messages } = JSON.parse(text) as { readonly Messages: readonly { MessageID: string; Subject: string }[] };
    for (const { MessageID, Subject } of Messages) {
      if (this.#known.has(MessageID)) continue;
      this.#known.add(MessageID);
      this.mails.push({ to: To, subject: Subject, metadata: Metadata, atMs: this.#simulation.nowMs });
    }
  }
}

function timedOut({ party = 'processor' }: HttpCall): AmbiguousError {
  return new AmbiguousError(`${party}_timeout`, `The ${party} did not answer in time.`);
}

export function unreachable({ party = 'processor' }: HttpCall): RetryableError {
  return new RetryableError(`${party}_unreachable`, `The ${party} cannot be reached.`);
}

export class Receivers {
  readonly received: WebhookReceived[] = [];
  readonly answers = new Map<string, number | 'timeout'>();
  /** In milliseconds, by URL. Unlisted URLs use the default. */
  readonly takesMs = new Map<string, number>();
  readonly #simulation: Simulation;
  readonly #endpointOf: (url: string) => string | undefined;

  constructor(simulation: Simulation, endpointOf: (url: string) => string | undefined) {
    this.#simulation = simulation;
    this.#endpointOf = endpointOf;
  }

  readonly post = ({ url, headers, body }: WebhookRequest): AttemptResult => {
    const status = this.answers.get(url) ?? 200;
    const accepted = status !== 'timeout' && status >= 200 && status < 300;
    const eventId = headers['webhook-id'];
    invariant(eventId !== undefined, 'the webhook has no id');
    this.received.push({
      endpointId: this.#endpointOf(url) ?? url,
      eventId,
      atMs: this.#simulation.nowMs,
      body,
      accepted,
    });
    return status === 'timeout' ? { kind: 'unanswered', error: 'timeout' } : { kind: 'answered', status, excerpt: '' };
  };
}
