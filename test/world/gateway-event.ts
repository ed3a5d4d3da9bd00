import type { GatewayEvent } from '../../lambdas/http/gateway-request.ts';

/** The event that a REST API sends to a Lambda proxy integration (payload version 1.0). */
export function gatewayEvent(
  method: string,
  address: string,
  headers: Readonly<Record<string, string>> = {},
): GatewayEvent {
  const [path = '', search] = address.split('?');
  const query = [...new URLSearchParams(search)];
  const names = query.map(([name]) => name);
  return {
    httpMethod: method,
    resource: '/{proxy+}',
    path,
    pathParameters: { proxy: path.replace(/^\//, '') },
    headers: { ...headers },
    multiValueHeaders: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, [value]])),
    queryStringParameters: search === undefined ? null : Object.fromEntries(query),
    multiValueQueryStringParameters:
      search === undefined
        ? null
        : Object.fromEntries(
            names.map((name) => [name, query.filter(([each]) => each === name).map(([, text]) => text)]),
          ),
    body: null,
    isBase64Encoded: false,
    requestContext: { requestId: 'req-0' },
  };
}
