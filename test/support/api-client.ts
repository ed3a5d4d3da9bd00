import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalAws } from '../../local/local-aws.ts';
import { askSandbox } from './local-aws.ts';
import { until } from './until.ts';

export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Target of the `Location` header: a path of the API, or a complete URL elsewhere; undefined without the header. */
  readonly location: string | undefined;
  readonly text: string;
  readonly json: Record<string, unknown>;
}

export interface PaymentPost {
  readonly key?: string;
  readonly body?: Record<string, unknown>;
  readonly headers?: Record<string, string>;
}

/**
 * After each attempt, the client waits as long as the API requests, or a second. All attempts together take longer than
 * a lease.
 */
const MAX_RETRIES = 60;

type Called = Pick<LocalAws, 'apiUrl'> & Partial<Pick<LocalAws, 'sandboxUrl' | 'sandboxSecret'>>;

export class ApiClient {
  readonly #aws: Called;
  readonly #apiKey: string;

  /** @param aws the URL of the API, and the URL and secret of its sandbox if that is not the sandbox of the run */
  constructor(aws: Called, apiKey: string) {
    this.#aws = aws;
    this.#apiKey = apiKey;
  }

  pay({ key, body = {}, headers = {} }: PaymentPost): Promise<ApiAnswer> {
    return this.send('POST', '/v1/payments', {
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { 'idempotency-key': key }),
        ...headers,
      },
      body: JSON.stringify({ amount: 1000, currency: 'EUR', source: 'tok_ok', ...body }),
    });
  }

  payUntilAnswered(post: PaymentPost): Promise<ApiAnswer> {
    return this.untilAnswered(() => this.pay(post));
  }

  /** Retries while the API requests a retry or does not respond. */
  async untilAnswered(send: () => Promise<ApiAnswer>): Promise<ApiAnswer> {
    for (let retry = 0; retry < MAX_RETRIES; retry += 1) {
      const answer = await send();
      const retryAfter = answer.headers.get('retry-after');
      if (retryAfter === null && answer.status < 500) return answer;
      await sleep(1_000 * Number(retryAfter ?? 1));
    }
    throw new Error('the API did not respond');
  }

  /**
   * If the machine is too busy to finish within the 20 seconds of a request, the API returns 202, and this function
   * waits for the outcome.
   */
  async payUntilSucceeded(post: PaymentPost): Promise<ApiAnswer> {
    const answer = await this.payUntilAnswered(post);
    const path = `/v1/payments/${String(answer.json['id'])}`;
    await until(async () => ((await this.send('GET', path)).json['status'] === 'succeeded' ? true : undefined));
    return answer;
  }

  async send(
    method: string,
    path: string,
    init: { readonly headers?: Record<string, string>; readonly body?: string } = {},
  ): Promise<ApiAnswer> {
    const answer = await fetch(`${this.#aws.apiUrl}${path}`, {
      method,
      ...init,
      headers: { authorization: `Bearer ${this.#apiKey}`, ...init.headers },
    });
    const text = await answer.text();
    return {
      status: answer.status,
      headers: answer.headers,
      location: this.#pathOf(answer),
      text,
      json: parse(text),
    };
  }

  #pathOf({ headers, url }: Response): string | undefined {
    const location = headers.get('location');
    if (location === null) return undefined;
    const { href } = new URL(location, url);
    return href.startsWith(this.#aws.apiUrl) ? href.slice(this.#aws.apiUrl.length) : href;
  }

  /** The charges are from the sandbox processor's own list. */
  async charges(paymentId: unknown): Promise<readonly Record<string, unknown>[]> {
    const { sandboxUrl, sandboxSecret } = this.#aws;
    const sandbox = sandboxUrl === undefined || sandboxSecret === undefined ? undefined : { sandboxUrl, sandboxSecret };
    const answer = await askSandbox(`/charges?payment=${String(paymentId)}`, {}, sandbox);
    const { data } = (await answer.json()) as { data: Record<string, unknown>[] };
    return data;
  }
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return {};
  }
}
