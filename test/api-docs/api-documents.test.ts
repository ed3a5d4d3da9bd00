import { readFile } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from '@jest/globals';
import { documentsApi } from '../../lambdas/api-docs/documents-api.ts';
import { PROBLEMS } from '../../lambdas/http/problems.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

const SWAGGER = new URL('../../node_modules/swagger-ui-dist/', import.meta.url);
const api = documentsApi(
  (name) => readFile(new URL(name, SWAGGER), 'utf8'),
  systemDigest,
  async () => [],
);

describe('the API documents', () => {
  test('include the OpenAPI document as JSON, and need no API key', async () => {
    const result = await api(gatewayEvent('GET', '/v1/openapi.json'));

    expect(result.statusCode).toBe(200);
    expect(result.headers).toMatchObject({ 'Content-Type': 'application/json', 'Request-Id': 'req-0' });
    expect(JSON.parse(result.body)).toMatchObject({ openapi: '3.1.1' });
  });

  test.each(['/docs', '/docs/'])(
    'contain on the page %s only links to existing documents, which also work under a path prefix',
    async (path) => {
      const result = await api({ ...gatewayEvent('GET', path), pathParameters: null });
      const addresses = [...result.body.matchAll(/(?:href|src|data-description)="(?!data:)([^"]+)"/g)].map(
        ([, address = '']) => address,
      );

      expect(addresses.length).toBeGreaterThanOrEqual(4);
      for (const prefix of ['', '/live', '/restapis/abc/live/_user_request_']) {
        for (const address of addresses) {
          const url = new URL(address, `https://api.example${prefix}${path}`);
          expect(url.pathname.startsWith(`${prefix}/`)).toBe(true);
          const found = await api(gatewayEvent('GET', url.pathname.slice(prefix.length)));
          expect([address, found.statusCode]).toEqual([address, 200]);
        }
      }
    },
  );

  test('allow the page to load resources only from its own host', async () => {
    const { body, headers } = await api(gatewayEvent('GET', '/docs'));

    expect(body).not.toMatch(/https?:|\/\/|<script>|\son[a-z]+=/);
    expect(String(headers?.['Content-Security-Policy'])).toMatch(/^default-src 'none'; script-src 'self';/);
  });

  test.each<[string, () => Promise<object>, string]>([
    ['the server refuses it', async () => ({ ok: false, status: 403 }), 'The server responded with 403.'],
    [
      'no server answers',
      () => Promise.reject(new TypeError('Failed to fetch')),
      'The request failed (Failed to fetch).',
    ],
    ['the browser cannot run it', async () => ({ ok: true, status: 200 }), 'this browser did not run it'],
  ])('show on the page why its renderer is missing if %s', async (_why, fetch, reason) => {
    const src = 'https://api.example/live/docs/swagger-ui-bundle.js';
    const page = new Map(['api', 'renderer', 'failure'].map((id) => [id, { src, textContent: '', dataset: {} }]));
    const { body } = await api(gatewayEvent('GET', '/docs'));
    for (const id of page.keys()) expect(body).toContain(`id="${id}"`);

    const { body: script } = await api(gatewayEvent('GET', '/docs/start.js'));
    runInNewContext(script, { fetch, document: { getElementById: (id: string) => page.get(id) } });
    await setImmediate();
    expect(page.get('failure')?.textContent).toContain(`The file ${src} could not be used. `);
    expect(page.get('failure')?.textContent).toContain(reason);
  });

  test('explain each problem code in its own section of /docs/problems', async () => {
    const { body, headers } = await api(gatewayEvent('GET', '/docs/problems'));
    expect(headers).toMatchObject({ 'Content-Type': 'text/html; charset=utf-8' });
    expect(body).not.toMatch(/<script|undefined/);
    for (const [code, { status }] of Object.entries(PROBLEMS))
      expect(body).toMatch(new RegExp(`<h2 id="${code}">${code}</h2>\n<p>${status} .{30}`));
  });

  test('include an overview for language models, with links only to existing documents', async () => {
    const { body, headers } = await api(gatewayEvent('GET', '/llms.txt'));
    expect(headers).toMatchObject({ 'Content-Type': 'text/plain; charset=utf-8' });
    expect(body).toMatch(/^# Payonce\n\n> .+\n/);
    const addresses = [...body.matchAll(/\]\(([^)]+)\)/g)].map(([, address = '']) => address);
    expect(addresses.length).toBeGreaterThan(80);
    for (const address of new Set(addresses.map((each) => each.replace(/#.*/, ''))))
      expect((await api(gatewayEvent('GET', `/${address}`))).statusCode).toBe(200);
    expect(body).toContain('- [POST /v1/payments](docs#/Payments/createPayment): Create a payment');
  });

  test('are linked in the Link header of each response, also of a 404', async () => {
    for (const path of ['/docs', '/v1/openapi.json', '/docs/nothing']) {
      const { headers } = await api(gatewayEvent('GET', path));
      const links = [...String(headers?.['Link']).matchAll(/<([^>]+)>; rel="([a-z-]+)"/g)];
      const found = links.map(([, address = '', rel]) => [
        rel,
        new URL(address, `https://api.example${path}`).pathname,
      ]);
      expect(found).toEqual([
        ['service-desc', '/v1/openapi.json'],
        ['service-doc', '/docs'],
      ]);
    }
  });

  test('contain the unmodified Swagger UI renderer', async () => {
    const { body, headers } = await api(gatewayEvent('GET', '/docs/swagger-ui-bundle.js'));

    expect(body).toBe(await readFile(new URL('swagger-ui-bundle.js', SWAGGER), 'utf8'));
    expect(headers).toMatchObject({ 'Content-Type': 'text/javascript; charset=utf-8' });
  });

  test.each(['/docs/../handler.ts', '/docs/index.mjs', '/docs/%2e%2e%2fhandler.ts', '/docs/swagger-ui.css/x'])(
    'do not give access to other files: GET %s returns 404',
    async (path) => {
      const result = await api(gatewayEvent('GET', path));

      expect(result.statusCode).toBe(404);
      expect(result.headers).toMatchObject({ 'Content-Type': 'application/problem+json' });
    },
  );

  test('respond to an unsupported method with 405 and the allowed methods', async () => {
    const result = await api(gatewayEvent('POST', '/docs'));

    expect(result.statusCode).toBe(405);
    expect(result.headers).toMatchObject({ Allow: 'GET, HEAD' });
  });

  test('return the headers of GET and no body for HEAD', async () => {
    const head = await api(gatewayEvent('HEAD', '/v1/openapi.json'));
    const get = await api(gatewayEvent('GET', '/v1/openapi.json'));

    expect(head).toEqual({ ...get, body: '' });
  });

  const DOCUMENTS = [
    '/v1/openapi.json',
    '/llms.txt',
    '/docs/problems',
    '/docs',
    '/docs/',
    '/docs/start.js',
    '/docs/swagger-ui-bundle.js',
  ];

  test.each(DOCUMENTS)(
    'include %s, which is cacheable and returns 304 without a body while it is unchanged',
    async (path) => {
      const first = await api(gatewayEvent('GET', path));
      expect(first.headers).toMatchObject({ 'Cache-Control': 'public, max-age=3600', Vary: 'Accept-Encoding' });
      const tag = String(first.headers?.['Etag']);
      expect(tag).toMatch(/^W\/"[a-z2-7]{52}"$/);

      for (const known of [tag, tag.slice(2), `"other", ${tag}`, '*']) {
        const again = await api(gatewayEvent('GET', path, { 'if-none-match': known }));
        expect([known, again]).toEqual([known, { ...first, statusCode: 304, body: '' }]);
      }
      const other = await api(gatewayEvent('GET', path, { 'if-none-match': '"other"' }));
      expect(other).toEqual(first);
    },
  );

  test('have distinct entity tags', async () => {
    const results = await Promise.all(DOCUMENTS.map((path) => api(gatewayEvent('GET', path))));

    expect(new Set(results.map(({ headers }) => headers?.['Etag'])).size).toBe(DOCUMENTS.length);
  });
});
