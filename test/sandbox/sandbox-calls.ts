import type { SandboxHandler } from './sandbox-world.ts';

export interface SandboxCall {
  readonly method: string;
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface SandboxAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The event has the format of an API Gateway REST API. */
export async function callSandbox(handler: SandboxHandler, call: SandboxCall): Promise<SandboxAnswer> {
  const { method, path, query = {}, headers = {}, body } = call;
  const lists = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, [value]]));
  const result = await handler({
    version: '1.0',
    resource: '/{proxy+}',
    path,
    httpMethod: method,
    headers: { host: 'sandbox.example', ...headers },
    multiValueHeaders: lists({ host: 'sandbox.example', ...headers }),
    queryStringParameters: query,
    multiValueQueryStringParameters: lists(query),
    pathParameters: { proxy: path.slice(1) },
    stageVariables: {},
    body: body ?? null,
    isBase64Encoded: false,
    requestContext: {
      accountId: '000000000000',
      apiId: 'sandbox',
      authorizer: {},
      domainName: 'sandbox.example',
      domainPrefix: 'sandbox',
      extendedRequestId: 'request',
      httpMethod: method,
      identity: { sourceIp: '127.0.0.1', userAgent: 'test' },
      path,
      protocol: 'HTTP/1.1',
      requestId: 'request',
      requestTime: '01/Jan/2026:00:00:00 +0000',
      requestTimeEpoch: 1_767_225_600_000,
      resourcePath: '/{proxy+}',
      stage: 'sandbox',
    },
  });
  return {
    status: result.statusCode,
    headers: Object.fromEntries(
      Object.entries(result.multiValueHeaders).map(([name, values]) => [name, values.join(', ')]),
    ),
    body: result.body,
  };
}
