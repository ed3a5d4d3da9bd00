import { findRoute } from '../http/authenticated-api.ts';
import { type GatewayEvent, type GatewayResult, gatewayRequest } from '../http/gateway-request.ts';
import { gatewayResult } from '../http/http-answer.ts';
import { JSON_TYPE } from '../kernel/answer.ts';
import { CONTENT_SECURITY_POLICY, docsPage, START_SCRIPT } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';

/** Reads a file that lies beside the function's code. */
export type ReadAsset = (name: string) => Promise<string>;

interface Document {
  readonly method: 'GET';
  readonly path: string;
  readonly type: string;
  readonly text: (event: GatewayEvent) => Promise<string> | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** They change only with a deploy. Seconds. */
const ASSET_CACHE = { 'cache-control': 'public, max-age=3600' };

/** The API's description and the page that shows it; needs no key, knows no secret, reads no table. */
export function documentsApi(readAsset: ReadAsset): (event: GatewayEvent) => Promise<GatewayResult> {
  const description = JSON.stringify(openApiDocument);
  const get = (path: string, type: string, text: Document['text'], headers = {}): Document => ({
    method: 'GET',
    path,
    type,
    text,
    headers,
  });
  const asset = (name: string, type: string) => get(`/docs/${name}`, type, () => readAsset(name), ASSET_CACHE);
  const documents = [
    get('/v1/openapi.json', JSON_TYPE, () => description),
    get('/docs', 'text/html; charset=utf-8', ({ path }) => docsPage(path.endsWith('/') ? '' : 'docs/'), {
      'content-security-policy': CONTENT_SECURITY_POLICY,
      'referrer-policy': 'no-referrer',
    }),
    get('/docs/start.js', 'text/javascript; charset=utf-8', () => START_SCRIPT, ASSET_CACHE),
    asset('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    asset('swagger-ui.css', 'text/css; charset=utf-8'),
  ];

  return async (event) => {
    const request = gatewayRequest(event);
    const asked = findRoute(documents, request);
    if (asked.kind === 'refused') return gatewayResult(asked.handled.answer, request.requestId);
    const { type, headers, text } = asked.route;
    const body = request.method === 'HEAD' ? '' : await text(event);
    return gatewayResult({ status: 200, headers: { 'content-type': type, ...headers }, body }, request.requestId);
  };
}
