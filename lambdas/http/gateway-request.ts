import type { APIGatewayProxyResult } from 'aws-lambda';

/** A request as it came through a REST API, with its doubled header and query maps made one. */
export interface GatewayRequest {
  /** The gateway's own, which its access log has as well. */
  readonly requestId: string;
  readonly method: string;
  /** The pieces of the path, decoded; empty pieces, as a trailing slash makes one, are left out. */
  readonly path: readonly string[];
  /** All distinct values of a header, by its name in lower case. */
  readonly header: (name: string) => readonly string[];
  /** All values of each parameter; the name is as the client gave it. */
  readonly query: ReadonlyMap<string, readonly string[]>;
  readonly body: string;
  readonly isBase64Encoded: boolean;
}

/** What is read of a REST API's event (Lambda proxy integration); the gateway leaves maps out when they are empty. */
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
  return {
    requestId: event.requestContext.requestId,
    method: event.httpMethod.toUpperCase(),
    path: pieces(matchedPath(event)),
    header: (name) => headers.get(name) ?? [],
    query: collect(event.queryStringParameters, event.multiValueQueryStringParameters, (name) => name),
    body: event.body ?? '',
    isBase64Encoded: event.isBase64Encoded,
  };
}

/** What the gateway matched lacks the prefix that a custom domain may put before the path. */
function matchedPath({ resource, path, pathParameters }: GatewayEvent): string {
  const parameters = pathParameters ?? {};
  const names = [...resource.matchAll(PARAMETER)].map(([, name = '']) => name);
  if (names.some((name) => parameters[name] === undefined)) return path;
  return resource.replaceAll(PARAMETER, (_placeholder, name: string) => parameters[name] ?? '');
}

/** `{id}`, or greedy: `{proxy+}`. */
const PARAMETER = /\{(\w+)\+?\}/g;

function pieces(path: string): readonly string[] {
  return path
    .split('/')
    .filter((piece) => piece !== '')
    .map(decoded);
}

/** What cannot be decoded stays as it is, and matches no route. */
function decoded(piece: string): string {
  try {
    return decodeURIComponent(piece);
  } catch {
    return piece;
  }
}

/** The gateway gives the last value in one map and all values in the other; a test console gives one map or none. */
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
