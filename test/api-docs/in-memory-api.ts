import { JobsApiHarness } from '../jobs/jobs-api-harness.ts';
import { OrdersApiHarness } from '../orders/orders-api-harness.ts';
import { type ApiHarness, PaymentsApiHarness, type Reply } from '../payments/payments-api-harness.ts';
import { LedgerApiHarness } from '../reconciling/ledger-api-harness.ts';
import { EventsApiHarness } from '../views/events-api-harness.ts';
import { WebhookHarness } from '../webhooks/webhook-harness.ts';

/** All APIs in memory. Each request goes to the API of its path. */
export class InMemoryApi {
  readonly payments = new PaymentsApiHarness();
  readonly jobs = new JobsApiHarness();
  readonly #apis: readonly (readonly [RegExp, ApiHarness])[] = [
    [/^\/v1\/(?:payments|refunds|disputes|captures|cancellations)/, this.payments],
    [/^\/v1\/events/, new EventsApiHarness(this.payments)],
    [
      /^\/v1\/(?:activity|ledger|balances|corrections|decisions|admin\/(?:corrections|mismatches|payments))/,
      new LedgerApiHarness({}, this.payments),
    ],
    [/^\/v1\/admin\/jobs/, this.jobs],
    [/^\/v1\/orders/, new OrdersApiHarness()],
    [/^\/v1\/webhook_endpoints/, new WebhookHarness()],
  ];

  async ask(
    method: string,
    address: string,
    headers: Readonly<Record<string, string>>,
    body: string | null,
  ): Promise<Reply> {
    const [, api] = this.#apis.find(([path]) => path.test(address)) ?? [];
    if (api === undefined) throw new Error(`no API has ${address}`);
    return api.ask(method, address, { headers, event: { body } });
  }

  /** For a client that takes a `fetch`. */
  readonly fetch = async (request: Request): Promise<Response> => {
    const { pathname, search } = new URL(request.url);
    const body = await request.text();
    const headers = Object.fromEntries(request.headers);
    const reply = await this.ask(request.method, `${pathname}${search}`, headers, body === '' ? null : body);
    return new Response(reply.text, { status: reply.status, headers: reply.headers });
  };
}
