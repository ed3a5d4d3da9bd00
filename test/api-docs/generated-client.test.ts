import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import createClient from 'openapi-fetch';
import { bundleFolder } from '../support/bundle-folder.ts';
import { inTurn } from '../support/slice.ts';
import { API_KEY, Api } from '../world/api.ts';
import { document } from './described-api.ts';

/** The types of this program are generated only from the document. */
const PROGRAM = `
import type createClient from 'openapi-fetch';
import type { paths } from './payonce.ts';

export async function payRefundAndList(client: ReturnType<typeof createClient<paths>>) {
  const paid = await client.POST('/v1/payments', {
    params: { header: { 'Idempotency-Key': 'order-6735', Prefer: 'wait=8' } },
    body: { amount: 1000, currency: 'EUR', source: 'tok_ok', metadata: { order: '6735' } },
  });
  if (paid.error !== undefined) throw new Error(paid.error.code);
  const id: string = paid.data.id;
  const refunded = await client.POST('/v1/payments/{id}/refunds', {
    params: { path: { id }, header: { 'Idempotency-Key': 'refund-6735' } },
    body: { amount: 300, reason: 'Returned' },
  });
  const listed = await client.GET('/v1/payments', { params: { query: { limit: 10, created_from: 0, status: 'succeeded' } } });
  const failed = await client.POST('/v1/payments', {
    params: { header: { 'Idempotency-Key': 'order-6736' } },
    body: { amount: 1000, currency: 'EUR', source: 'tok_declined' },
  });
  // The type of the code allows only the document's codes.
  const declined: boolean = failed.error?.code === 'payment_failed';
  const left: number = (refunded.data?.amount ?? 0) + (listed.data?.data[0]?.amount_refunded ?? 0);
  return { id, left, declined, hasMore: listed.data?.has_more };
}

export function refused(client: ReturnType<typeof createClient<paths>>) {
  // @ts-expect-error a limit is a number
  void client.GET('/v1/payments', { params: { query: { limit: '10' } } });
  // @ts-expect-error a payment needs a key
  void client.POST('/v1/payments', { body: { amount: 1, currency: 'EUR', source: 'tok_ok' } });
  // @ts-expect-error there is no such event type
  void client.GET('/v1/events', { params: { query: { type: 'payment.paid' } } });
  // @ts-expect-error times are numbers
  void client.POST('/v1/admin/jobs/{id}/runs', { body: { scheduled_for: '2026-03-01T12:00:00Z' } });
}
`;

let directory: string;

beforeAll(async () => {
  directory = bundleFolder('client');
  await writeFile(join(directory, 'program.ts'), PROGRAM);
});

afterAll(() => rm(directory, { recursive: true, force: true }));

describe('a client generated from the document', () => {
  const title = 'compiles in a typical program, and its types reject invalid requests';
  inTurn(test, { place: 0, of: 4, otherwise: test.skip })(title, async () => {
    const { default: openapiTS, astToString } = await import('openapi-typescript');
    const { default: ts } = await import('typescript');
    await writeFile(join(directory, 'payonce.ts'), astToString(await openapiTS(JSON.stringify(document))));
    const program = ts.createProgram([join(directory, 'program.ts')], {
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      target: ts.ScriptTarget.ES2024,
      lib: ['lib.es2024.d.ts', 'lib.dom.d.ts'],
      module: ts.ModuleKind.NodeNext,
      moduleResolution: ts.ModuleResolutionKind.NodeNext,
      allowImportingTsExtensions: true,
      types: [],
    });
    const messages = ts
      .getPreEmitDiagnostics(program)
      .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'));

    expect(messages).toEqual([]);
  });

  test('pays, refunds and lists payments', async () => {
    const { fetch } = new Api();
    const client = createClient({
      baseUrl: 'https://api.example',
      headers: { Authorization: `Bearer ${API_KEY}` },
      fetch,
    });
    const { payRefundAndList } = (await import(join(directory, 'program.ts'))) as {
      payRefundAndList: (client: unknown) => Promise<unknown>;
    };

    expect(await payRefundAndList(client)).toEqual({
      id: expect.stringMatching(/^pay_/),
      left: 600,
      declined: true,
      hasMore: false,
    });
  });
});
