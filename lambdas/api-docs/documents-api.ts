import { findRoute, type Handler } from '../http/authenticated-api.ts';
import { type GatewayEvent, gatewayRequest } from '../http/gateway-request.ts';
import { apiResult } from '../http/http-answer.ts';
import { JSON_TYPE } from '../kernel/answer.ts';
import type { ConsoleSignIn } from '../kernel/contract/environment.ts';
import { base32, type Digest } from '../kernel/digest.ts';
import { headersOfConsole, IMMUTABLE, typeOfAsset } from './console-page.ts';
import { CONTENT_SECURITY_POLICY, docsPage, problemsPage, START_SCRIPT } from './docs-page.ts';
import { llmsText } from './llms-text.ts';
import { openApiDocument } from './openapi.ts';

export type ReadAsset = (name: string) => Promise<string>;

interface Content {
  readonly text: string;
  readonly entityTag: string;
}

const HTML = 'text/html; charset=utf-8';
const SCRIPT = 'text/javascript; charset=utf-8';

/**
 * Cache headers of the documents, which change only with a deployment. After an hour, a cache revalidates a document by
 * its entity tag. Responses vary by `Accept-Encoding`, because the gateway compresses them for callers that accept
 * compression.
 */
const CACHED = { 'cache-control': 'public, max-age=3600', vary: 'Accept-Encoding' };
const PAGE_HEADERS = { 'content-security-policy': CONTENT_SECURITY_POLICY, 'referrer-policy': 'no-referrer' };

/**
 * The handler requires no key, knows no secrets and reads no tables.
 *
 * @param listAssets lists the names of the files in `console/assets`
 * @param signIn the identity provider with which operators sign in to the console; absent when operators use keys
 */
export function documentsApi(
  readAsset: ReadAsset,
  digest: Pick<Digest, 'sha256'>,
  listAssets: () => Promise<readonly string[]>,
  signIn?: ConsoleSignIn,
): Handler {
  const content = (read: () => Promise<string> | string) => readOnce(read, digest);
  const description = content(() => JSON.stringify(openApiDocument));
  const pageWithoutSlash = content(() => docsPage('docs/'));
  const pageWithSlash = content(() => docsPage(''));
  const page = ({ path }: GatewayEvent) => (path.endsWith('/') ? pageWithSlash() : pageWithoutSlash());
  const start = content(() => START_SCRIPT);
  const renderer = content(() => readAsset('swagger-ui-bundle.js'));
  const style = content(() => readAsset('swagger-ui.css'));
  const headers = headersOfConsole(signIn);
  const documents = [
    { method: 'GET', path: '/v1/openapi.json', type: JSON_TYPE, read: description },
    { method: 'GET', path: '/docs', type: HTML, read: page, headers: PAGE_HEADERS },
    { method: 'GET', path: '/docs/problems', type: HTML, read: content(problemsPage), headers: PAGE_HEADERS },
    { method: 'GET', path: '/llms.txt', type: 'text/plain; charset=utf-8', read: content(llmsText) },
    { method: 'GET', path: '/docs/start.js', type: SCRIPT, read: start },
    { method: 'GET', path: '/docs/swagger-ui-bundle.js', type: SCRIPT, read: renderer },
    { method: 'GET', path: '/docs/swagger-ui.css', type: 'text/css; charset=utf-8', read: style },
    {
      method: 'GET',
      path: '/console',
      type: HTML,
      read: content(() => readAsset('console/index.html')),
      headers,
    },
    {
      method: 'GET',
      path: '/console/sign-in.json',
      type: JSON_TYPE,
      read: content(() => JSON.stringify(signIn ?? {})),
      headers,
    },
  ] as const;
  let assets: ReturnType<typeof assetOf> | undefined;
  const allDocuments = async () => {
    assets ??= (await listAssets()).flatMap((name) => assetOf(name, readAsset, content));
    return [...documents, ...assets];
  };

  return async (event) => {
    const request = gatewayRequest(event);
    const asked = findRoute(request.path[0] === 'console' ? await allDocuments() : documents, request);
    if (asked.kind === 'refused') return apiResult(asked.handled.answer, request);
    const document = asked.route;
    // Relative URLs in the page require a path that ends with a slash.
    if (document.path === '/console' && !event.path.endsWith('/')) {
      return apiResult({ status: 308, headers: { location: 'console/' }, body: '' }, request);
    }
    const { text, entityTag } = await document.read(event);
    const isKnown = matchesTag(request.header('if-none-match'), entityTag);
    const answer = {
      status: isKnown ? 304 : 200,
      // A 304 has the same headers, because a cache replaces its stored headers with the received ones (RFC 9111,
      // section 3.2).
      headers: {
        'content-type': document.type,
        ...CACHED,
        etag: entityTag,
        ...('headers' in document ? document.headers : {}),
      },
      body: isKnown || request.method === 'HEAD' ? '' : text,
    };
    return apiResult(answer, request);
  };
}

function assetOf(name: string, readAsset: ReadAsset, content: (read: () => Promise<string>) => () => Promise<Content>) {
  const type = typeOfAsset(name);
  const read = content(() => readAsset(`console/assets/${name}`));
  return type === undefined
    ? []
    : [{ method: 'GET' as const, path: `/console/assets/${name}`, type, read, headers: IMMUTABLE }];
}

/** The tag is weak, because the bytes differ by content coding (RFC 9110, section 8.8.1). */
function readOnce(read: () => Promise<string> | string, { sha256 }: Pick<Digest, 'sha256'>): () => Promise<Content> {
  let content: Content | undefined;
  return async () => {
    if (content !== undefined) return content;
    const text = await read();
    content = { text, entityTag: `W/"${base32(sha256(text))}"` };
    return content;
  };
}

/** The comparison is weak (RFC 9110, section 13.1.2). */
function matchesTag(values: readonly string[], entityTag: string): boolean {
  const tags = values.flatMap((value) => value.split(',')).map((tag) => tag.trim());
  return tags.some((tag) => tag === '*' || tag.replace(/^W\//, '') === entityTag.replace(/^W\//, ''));
}
