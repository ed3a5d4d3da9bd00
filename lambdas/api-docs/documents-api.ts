import { type GatewayEvent, type GatewayResult, gatewayRequest } from '../http/gateway-request.ts';
import { gatewayResult, problemAnswer } from '../http/http-answer.ts';
import { problem } from '../http/problems.ts';
import { JSON_TYPE } from '../kernel/answer.ts';
import { CONTENT_SECURITY_POLICY, docsPage, START_SCRIPT } from './docs-page.ts';
import { openApiDocument } from './openapi.ts';

/** Reads a file that lies beside the function's code. */
export type ReadAsset = (name: string) => Promise<string>;

interface Document {
  readonly type: string;
  readonly text: (event: GatewayEvent) => Promise<string> | string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** They change only with a deploy. Seconds. */
const ASSET_CACHE = { 'cache-control': 'public, max-age=3600' };

/** The API's description and the page that shows it; needs no key, knows no secret, reads no table. */
export function documentsApi(readAsset: ReadAsset): (event: GatewayEvent) => Promise<GatewayResult> {
  const description = JSON.stringify(openApiDocument);
  const asset = (name: string, type: string): [string, Document] => [
    `docs/${name}`,
    { type, text: () => readAsset(name), headers: ASSET_CACHE },
  ];
  const documents = new Map<string, Document>([
    ['v1/openapi.json', { type: JSON_TYPE, text: () => description }],
    [
      'docs',
      {
        type: 'text/html; charset=utf-8',
        text: ({ path }) => docsPage(path.endsWith('/') ? '' : 'docs/'),
        headers: { 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' },
      },
    ],
    ['docs/start.js', { type: 'text/javascript; charset=utf-8', text: () => START_SCRIPT, headers: ASSET_CACHE }],
    asset('swagger-ui-bundle.js', 'text/javascript; charset=utf-8'),
    asset('swagger-ui.css', 'text/css; charset=utf-8'),
  ]);

  return async (event) => {
    const { requestId, method, path } = gatewayRequest(event);
    const document = documents.get(path.join('/'));
    if (document === undefined) {
      return gatewayResult(problemAnswer(problem('not_found', 'There is nothing at this path.'), requestId), requestId);
    }
    if (method !== 'GET' && method !== 'HEAD') {
      const found = problem('method_not_allowed', 'This path takes GET, HEAD.');
      return gatewayResult(problemAnswer(found, requestId, { headers: { allow: 'GET, HEAD' } }), requestId);
    }
    const headers = { 'content-type': document.type, ...document.headers };
    const body = method === 'HEAD' ? '' : await document.text(event);
    return gatewayResult({ status: 200, headers, body }, requestId);
  };
}
