import { readFile } from 'node:fs/promises';
import { describe, expect, test } from '@jest/globals';
import { documentsApi } from '../../lambdas/api-docs/documents-api.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

const SWAGGER = new URL('../../node_modules/swagger-ui-dist/', import.meta.url);
const api = documentsApi(
  (name) => readFile(new URL(name, SWAGGER), 'utf8'),
  systemDigest,
  async () => [],
);

describe('the API documents', () => {
  test('are served as JSON without an API key', async () => {
    const result = await api(gatewayEvent('GET', '/v1/openapi.json'));

    expect(result.statusCode).toBe(200);
    expect(result.headers).toMatchObject({ 'Content-Type': 'application/json', 'Request-Id': 'req-0' });
    expect(JSON.parse(result.body)).toMatchObject({ openapi: '3.1.1' });
  });

  test.each(['/docs', '/docs/'])(
    'contain only addresses that lead to a document, on the page %s and under any path prefix',
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

  test('contain the unmodified Swagger UI renderer', async () => {
    const { body, headers } = await api(gatewayEvent('GET', '/docs/swagger-ui-bundle.js'));

    expect(body).toBe(await readFile(new URL('swagger-ui-bundle.js', SWAGGER), 'utf8'));
    expect(headers).toMatchObject({ 'Content-Type': 'text/javascript; charset=utf-8' });
  });

  test.each(['/docs/../handler.ts', '/docs/index.mjs', '/docs/%2e%2e%2fhandler.ts', '/docs/swagger-ui.css/x'])(
    'do not include any other file: %s',
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

  const DOCUMENTS = ['/v1/openapi.json', '/docs', '/docs/', '/docs/start.js', '/docs/swagger-ui-bundle.js'];

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
