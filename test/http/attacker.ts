import { operations } from '../api-docs/described-api.ts';
import type { ApiAnswer } from '../support/api-client.ts';
import { fc } from '../support/properties.ts';

export interface Victim {
  readonly tenantId: string;
  /** Ids of objects of several kinds, references, e-mail addresses, idempotency keys. */
  readonly known: readonly string[];
  /** The attacker's requests do not contain these secrets. */
  readonly secrets: readonly string[];
}

export interface Attack {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE', 'PUT'] as const;
const SCHEMES = ['Bearer', 'bearer', 'Basic', 'Token', ''] as const;

/**
 * The attacker has an API key of another tenant.
 *
 * @param own ids of the attacker's objects, which can be combined with ids of the victim in one path
 */
export function attacksOn(
  { tenantId, known }: Victim,
  { apiKey, own }: { readonly apiKey: string; readonly own: readonly string[] },
): fc.Arbitrary<Attack> {
  const word = fc.constantFrom(...known, tenantId);
  const inPath = fc.oneof(
    { weight: 6, arbitrary: word },
    { weight: 2, arbitrary: fc.constantFrom(...own) },
    { weight: 1, arbitrary: word.map((each) => `${each}%2F..%2F${each}`) },
    { weight: 1, arbitrary: word.map((each) => each.toUpperCase()) },
    { weight: 1, arbitrary: word.map((each) => `${each}%00`) },
    { weight: 1, arbitrary: fc.tuple(word, word).map(([one, other]) => `${one}/../${other}`) },
  );
  const names = [
    'payment',
    'reference',
    'charge_id',
    'email',
    'starting_after',
    'ending_before',
    'tenant',
    'tenant_id',
    'mode',
    'account',
    'created_from',
    'order',
  ];
  const query = fc.array(fc.tuple(fc.constantFrom(...names), word), { maxLength: 3 });
  const field = fc.tuple(
    fc.constantFrom(...names, 'id', 'url', 'reverses', 'metadata', 'livemode'),
    fc.oneof(
      word,
      word.map((each) => ({ [each]: each })),
      fc.integer(),
    ),
  );
  const base = fc.constantFrom<Readonly<Record<string, unknown>>>(
    { amount: 500, currency: 'EUR', source: 'tok_ok' },
    { amount: 100 },
    { url: 'https://attacker.example.com/hooks', events: ['*'] },
    { created_from: 0, created_to: 2_000_000_000 },
    { enabled: false },
    { outcome: 'failed', reason: 'Mine now' },
    {},
  );
  const headers = fc.record(
    {
      authorization: fc.oneof(
        { weight: 9, arbitrary: fc.constant(`Bearer ${apiKey}`) },
        {
          weight: 1,
          arbitrary: fc.tuple(fc.constantFrom(...SCHEMES), word).map(([scheme, each]) => `${scheme} ${each}`.trim()),
        },
      ),
      // Data of the victim, including its idempotency keys, or an unused key.
      'idempotency-key': fc.oneof(word, fc.uuid()),
      'content-type': fc.constant('application/json'),
      'x-tenant-id': word,
      'x-forwarded-for': fc.constant('127.0.0.1'),
      'x-http-method-override': fc.constantFrom(...METHODS),
      'x-original-url': inPath.map((each) => `/v1/payments/${each}`),
      prefer: fc.constantFrom('wait=0', 'wait=5'),
    },
    { requiredKeys: ['authorization', 'idempotency-key', 'content-type'] },
  );
  return fc
    .record({
      operation: fc.constantFrom(...operations),
      method: fc.oneof(
        { weight: 9, arbitrary: fc.constant(undefined) },
        { weight: 1, arbitrary: fc.constantFrom(...METHODS) },
      ),
      pieces: fc.array(inPath, { minLength: 3, maxLength: 3 }),
      query,
      headers,
      base,
      fields: fc.array(field, { maxLength: 2 }),
    })
    .map(({ operation, method = operation.method, pieces, query: asked, headers: sent, base: body, fields }) => {
      let place = 0;
      const path = operation.path.replaceAll(/\{\w+\}/g, () => pieces[place++ % pieces.length] ?? '');
      const text = asked.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');
      const { authorization, ...others } = sent;
      return {
        method,
        path: text === '' ? path : `${path}?${text}`,
        headers: { authorization, ...others },
        ...(method === 'GET' ? {} : { body: JSON.stringify({ ...body, ...Object.fromEntries(fields) }) }),
      };
    });
}

/**
 * Describes the fault of a response that contains a secret of the victim or is a server error; undefined if there is
 * none.
 */
export function shownBy(
  { status, text, headers }: Pick<ApiAnswer, 'status' | 'text' | 'headers'>,
  victim: Victim,
): string | undefined {
  if (status >= 500 && status !== 503 && status !== 504) return `answered ${status}`;
  const all = `${text}${JSON.stringify([...headers])}`;
  const secret = victim.secrets.find((each) => all.includes(each));
  return secret === undefined ? undefined : `shows ${secret}`;
}
