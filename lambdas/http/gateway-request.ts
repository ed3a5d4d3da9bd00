import type { APIGatewayProxyResult } from 'aws-lambda';

/**
 * A request from a REST API of API Gateway. The single-value and multi-value maps of headers are merged, as are those
 * of query parameters.
 */
export interface GatewayRequest {
  /** Also in the gateway's access log. */
  readonly requestId: string;
  readonly method: string;
  /** Relative reference from the request's URL to the root of the API, for example `../` for `/v1/payments`. */
  readonly root: string;
  /** The decoded segments of the path. Empty segments are omitted, for example the one after a trailing slash. */
  readonly path: readonly string[];
  /** The name must be in lower case. */
  readonly header: (name: string) => readonly string[];
  /** By the header's name in lower case. */
  readonly headers: ReadonlyMap<string, readonly string[]>;
  /** By the parameter's name as sent. */
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/**
 * The fields of a REST API event (Lambda proxy integration) that the functions use. The gateway sends null for empty
 * maps.
 */
export interface GatewayEvent {
  readonly httpMethod: string;
  /** The route that the gateway matched, for example `/{proxy+}`. */
  readonly resource: string;
  readonly path: string;
  readonly pathParameters: Single;
  readonly headers: Single;
  readonly multiValueHeaders: Multiple;
  readonly queryStringParameters: Single;
  readonly multiValueQueryStringParameters: Multiple;
  readonly body: string | null;
  readonly isBase64Encoded: boolean;
  readonly requestContext: { readonly requestId: string };
}

type Single = Readonly<Record<string, string | undefined>> | null;
type Multiple = Readonly<Record<string, readonly string[] | undefined>> | null;

export type GatewayResult = APIGatewayProxyResult;

export function gatewayRequest(event: GatewayEvent): GatewayRequest {
  const headers = collect(event.headers, event.multiValueHeaders, (name) => name.toLowerCase());
  const path = pieces(matchedPath(event));
  return {
    requestId: event.requestContext.requestId,
    method: event.httpMethod.toUpperCase(),
    root: toRoot(event.path, path.length),
    path,
    header: (name) => headers.get(name) ?? [],
    headers,
    query: collect(event.queryStringParameters, event.multiValueQueryStringParameters, (name) => name),
    body: event.body ?? '',
    isBase64Encoded: event.isBase64Encoded,
  };
}

/**
 * Returns the path without the base path of a custom domain, which `path` can contain. If the event lacks a path
 * parameter of the route, returns `path`.
 */
function matchedPath({ resource, path, pathParameters }: GatewayEvent): string {
  const parameters = pathParameters ?? {};
  const names = [...resource.matchAll(PARAMETER)].map(([, name = '']) => name);
  if (names.some((name) => parameters[name] === undefined)) return path;
  return resource.replaceAll(PARAMETER, (_placeholder, name: string) => parameters[name] ?? '');
}

/**
 * Counts every slash below the base path, including trailing and doubled slashes.
 *
 * @param matched number of segments below the base path
 */
function toRoot(path: string, matched: number): string {
  const below = path.split('/').slice(1);
  for (let ofBase = pieces(path).length - matched; ofBase > 0; ) if (below.shift() !== '') ofBase -= 1;
  return '../'.repeat(Math.max(0, below.length - 1)) || './';
}

/** Matches a path parameter: `{id}`, or the greedy form `{proxy+}`. */
const PARAMETER = /\{(\w+)\+?\}/g;

function pieces(path: string): readonly string[] {
  return path
    .split('/')
    .filter((piece) => piece !== '')
    .map(decoded);
}

function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

/**
 * The single-value map contains only the last value of each name. The gateway's test console sends only one of them, or
 * none.
 */
function collect(single: Single, multiple: Multiple, nameOf: (name: string) => string): Map<string, readonly string[]> {
  const found = new Map<string, Set<string>>();
  const add = (name: string, values: readonly (string | undefined)[]) => {
    const known = found.get(nameOf(name)) ?? new Set();
    for (const value of values) if (value !== undefined) known.add(value);
    found.set(nameOf(name), known);
  };
  for (const [name, value] of Object.entries(single ?? {})) add(name, [value]);
  for (const [name, values] of Object.entries(multiple ?? {})) add(name, values ?? []);
  return new Map([...found].map(([name, values]) => [name, [...values]]));
}
