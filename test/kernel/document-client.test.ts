import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { GetCommand, PutCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';

describe('the document client of the functions', () => {
  const requests: { readonly headers: IncomingHttpHeaders; readonly body: unknown }[] = [];
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      requests.push({ headers: request.headers, body: JSON.parse(body) as unknown });
      return response.writeHead(200, { 'content-type': 'application/x-amz-json-1.0' }).end('{}');
    });
  });
  const before = { ...process.env };

  beforeAll(async () => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    Object.assign(process.env, {
      AWS_REGION: 'eu-west-1',
      AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE',
      AWS_SECRET_ACCESS_KEY: 'secret',
      AWS_SESSION_TOKEN: 'session',
      AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    });
  });

  afterAll(async () => {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name];
    Object.assign(process.env, before);
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  test('signs its calls, and sends no user agent', async () => {
    const client = documentClient();
    await client.send(new GetCommand({ TableName: 'table', Key: { pk: 'a' } }));

    const { headers, body } = requests.at(-1) ?? {};
    expect(body).toEqual({ TableName: 'table', Key: { pk: { S: 'a' } } });
    expect(Object.keys(headers ?? {}).toSorted()).toEqual([
      'amz-sdk-invocation-id',
      'amz-sdk-request',
      'authorization',
      'connection',
      'content-length',
      'content-type',
      'host',
      'x-amz-content-sha256',
      'x-amz-date',
      'x-amz-security-token',
      'x-amz-target',
    ]);
    // The operation, the body and the session token are signed.
    expect(headers?.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/eu-west-1\/dynamodb\/aws4_request, SignedHeaders=(?:[a-z0-9-]+;)*host;(?:[a-z0-9-]+;)*x-amz-content-sha256;x-amz-date;x-amz-security-token;x-amz-target, Signature=[0-9a-f]{64}$/,
    );
    client.destroy();
  });

  test('stores an object with all its keys, at any depth, even with a key named constructor', async () => {
    const client = documentClient();
    await client.send(
      new PutCommand({ TableName: 'table', Item: { pk: 'a', list: [{ deep: { constructor: 'x', b: 1 } }] } }),
    );

    const stored = {
      pk: { S: 'a' },
      list: { L: [{ M: { deep: { M: { constructor: { S: 'x' }, b: { N: '1' } } } } }] },
    };
    expect(requests.at(-1)?.body).toEqual({ TableName: 'table', Item: stored });
    client.destroy();
  });
});
