import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';

const CALL = `
const [, url, how] = process.argv;
const options = { method: 'POST', body: 'sent' };
const address = { 'a string': url, 'a URL': new URL(url), 'a request': new Request(url, options) }[how];
const answer = await fetch(address, how === 'a request' ? undefined : options);
console.log(await answer.text());
`;

test.each(['a string', 'a URL', 'a request'])(
  'fetch called with %s sends requests for REST API URLs to the emulator, and does not change other URLs',
  async (how) => {
    const server = createServer((request, response) => {
      void text(request).then((body) => response.end(`${request.method} ${request.url} ${body}`));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const call = async (url: string): Promise<string> => {
      const shim = join(PROJECT, 'local', 'function-addresses.cjs');
      const command = ['--require', shim, '--input-type=module', '-e', CALL, url, how];
      const { stdout } = await promisify(execFile)(process.execPath, command, { env: { AWS_ENDPOINT_URL: endpoint } });
      return stdout.trim();
    };
    expect(await call('https://a5e5a42d.execute-api.us-east-1.amazonaws.com/live/charges?key=k')).toBe(
      'POST /restapis/a5e5a42d/live/_user_request_/charges?key=k sent',
    );
    expect(await call(`${endpoint}/live/charges`)).toBe('POST /live/charges sent');
    server.close();
  },
);

const SLOW_CALL = `
import { callOnce } from ${JSON.stringify(pathToFileURL(join(PROJECT, 'lambdas', 'outbound', 'http-call.ts')).href)};
setInterval(gc, 20).unref();
const [, url] = process.argv;
const call = callOnce({ method: 'POST', url, headers: {}, body: 'sent', timeoutMs: 300 });
console.log(await call.catch(({ code }) => code));
`;

test('a call to a function times out at its limit, even after a garbage collection', async () => {
  // The server closes the connection only long after the time limit.
  const server = createServer((request) => void setTimeout(() => request.socket.destroy(), 5_000).unref());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const AWS_ENDPOINT_URL = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const shim = join(PROJECT, 'local', 'function-addresses.cjs');
  const url = 'https://a5e5a42d.execute-api.us-east-1.amazonaws.com/live/charges';
  const command = ['--expose-gc', '--require', shim, '--input-type=module', '-e', SLOW_CALL, url];
  const { stdout } = await promisify(execFile)(process.execPath, command, { env: { AWS_ENDPOINT_URL } });
  expect(stdout.trim()).toBe('processor_timeout');
  server.closeAllConnections();
  server.close();
});
