/** Tests the guarantee "guarded local stack". */
import { type IncomingMessage, request } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { CreateFunctionCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { describe, expect, test } from '@jest/globals';
import { emulatedAws } from '../support/local-aws.ts';

const { awsEndpoint, accessKeyId } = emulatedAws();
const { port, host: HOST } = new URL(awsEndpoint);
const credential = (key: string) => `AWS4-HMAC-SHA256 Credential=${key}/20260101/us-east-1/lambda/aws4_request`;
const KEY = { authorization: credential(accessKeyId) };
const FUNCTIONS = '/2015-03-31/functions/';

interface Asked {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
}

interface Answered {
  readonly status: number | undefined;
  readonly names: readonly string[];
  readonly body: string;
}

/** Unlike `fetch`, it can set any header, for example `Host`. */
async function ask({ method = 'GET', path = FUNCTIONS, headers = {} }: Asked): Promise<Answered> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path, headers }, resolve).on('error', reject).end();
  });
  return { status: response.statusCode, names: Object.keys(response.headers), body: await text(response) };
}

describe('the local AWS', () => {
  test.each<[what: string, asked: Asked, reason: RegExp]>([
    ['a request without a key', {}, /the access key id is not the one of this run/],
    ['the well-known key', { headers: { authorization: credential('test') } }, /access key id/],
    ['an account id as the key', { headers: { authorization: credential('000000000000') } }, /access key id/],
    ['an empty key', { headers: { authorization: credential('') } }, /access key id/],
    [
      'a key in the query',
      { path: `${FUNCTIONS}?X-Amz-Credential=test%2F20260101%2Fus-east-1%2Flambda` },
      /access key/,
    ],
    ['a reset without a key', { method: 'POST', path: '/_ministack/reset' }, /access key id/],
    ['reading queues without a key', { path: '/_ministack/sqs/messages' }, /access key id/],
    ['a save without a key', { method: 'POST', path: '/_payonce/save' }, /access key id/],
    ['a call of an unknown API without a key', { path: '/restapis/a1/live/_user_request_/' }, /access key id/],
    ['a preflight', { method: 'OPTIONS', headers: { ...KEY, origin: 'https://evil.example' } }, /the header Origin/],
    ['a request from a foreign origin', { headers: { ...KEY, origin: 'https://evil.example' } }, /the header Origin/],
    ['a request with the origin null', { headers: { ...KEY, origin: 'null' } }, /the header Origin/],
    [
      'a request from another port of this machine',
      { headers: { ...KEY, origin: 'http://127.0.0.1:1' } },
      /the header Origin/,
    ],
    [
      'a request that a browser marks as cross-site',
      { headers: { ...KEY, 'sec-fetch-site': 'cross-site' } },
      /the header Sec-Fetch-Site/,
    ],
    [
      'a request that a browser marks as same-site',
      { headers: { ...KEY, 'sec-fetch-site': 'same-site' } },
      /the header Sec-Fetch-Site/,
    ],
    [
      'a navigation from another site to a service',
      {
        headers: { ...KEY, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' },
      },
      /the header Sec-Fetch-Site/,
    ],
    [
      'a request to a foreign host name that resolves to loopback',
      { headers: { ...KEY, host: 'evil.example' } },
      /the header Host/,
    ],
    [
      'a request to a name under localhost',
      { headers: { ...KEY, host: `bucket.localhost:${port}` } },
      /the header Host/,
    ],
    [
      'a host with user information in front',
      { headers: { ...KEY, host: `127.0.0.1:${port}@evil.example` } },
      /the header Host/,
    ],
  ])('refuses %s before it reaches a service', async (_what, asked, reason) => {
    expect(await ask(asked)).toMatchObject({ status: 403, body: expect.stringMatching(reason) });
  });

  test.each<[what: string, asked: Asked]>([
    ['a request with the key of the run', { headers: KEY }],
    ['a request to its host name on loopback', { headers: { ...KEY, host: `localhost:${port}` } }],
    ['a request from its own pages', { headers: { ...KEY, origin: awsEndpoint, 'sec-fetch-site': 'same-origin' } }],
    ['a request to save its state', { method: 'POST', path: '/_payonce/save', headers: KEY }],
    ['a request for a URL that a person typed', { headers: { ...KEY, 'sec-fetch-site': 'none' } }],
    ['a health check without a key', { path: '/_ministack/health' }],
  ])('responds to %s without CORS headers', async (_what, asked) => {
    const { status, names } = await ask(asked);
    expect([status, names.filter((name) => name.startsWith('access-control-'))]).toEqual([200, []]);
  });

  test('accepts a session key, as contained in export links, only for requests to services', async () => {
    const sts = credential(accessKeyId).replace('/lambda/', '/sts/');
    const { body } = await ask({
      path: '/?Action=GetSessionToken&Version=2011-06-15',
      headers: { authorization: sts },
    });
    const [, key = ''] = /<AccessKeyId>(\w+)</.exec(body) ?? [];
    const headers = { authorization: credential(key) };
    // The guard accepts the key. The service then refuses the request under its own policies.
    expect((await ask({ headers })).body).toContain('MissingAuthenticationToken');
    for (const path of ['/_ministack/sqs/messages', '/_payonce/save', '/_localstack/health'])
      expect([path, await ask({ path, headers })]).toMatchObject([
        path,
        { status: 403, body: expect.stringMatching(/access key id/) },
      ]);
  });

  test("refuses to create a function for an SDK's well-known key", async () => {
    const credentials = { accessKeyId: 'test', secretAccessKey: 'test' };
    const client = new LambdaClient({ endpoint: awsEndpoint, region: 'us-east-1', credentials, maxAttempts: 1 });
    const Code = { ZipFile: Buffer.from('') };
    const made = client.send(
      new CreateFunctionCommand({ FunctionName: 'foreign', Role: 'arn:aws:iam::0:role/r', Code }),
    );
    await expect(made).rejects.toMatchObject({ $metadata: { httpStatusCode: 403 } });
  });

  test('continues after malformed hosts and an aborted request', async () => {
    for (const head of [
      `Host: a b`,
      `Host: ${HOST}\r\nHost: evil.example`,
      'Host: [::',
      `Host: ${HOST}\r\nContent-Length: 9`,
    ]) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.on('error', () => undefined);
      socket.end(`POST ${FUNCTIONS} HTTP/1.1\r\n${head}\r\nConnection: close\r\n\r\n{`);
      expect(await text(socket)).not.toMatch(/^HTTP\/1\.1 (2|5)/);
    }
    expect((await ask({ headers: KEY })).status).toBe(200);
  });
});
