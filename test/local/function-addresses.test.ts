import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { PROJECT } from '../../local/directories.ts';

const CALL = `
const answer = await fetch(process.argv[1], { method: 'POST', body: 'sent' });
console.log(await answer.text());
`;

test('a function calls a REST API of the template at the emulator of the run, and any other address as it is', async () => {
  const server = createServer(({ url }, response) => response.end(url)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const call = async (url: string): Promise<string> => {
    const command = [
      '--require',
      join(PROJECT, 'local', 'function-addresses.cjs'),
      '--input-type=module',
      '-e',
      CALL,
      url,
    ];
    const { stdout } = await promisify(execFile)(process.execPath, command, { env: { AWS_ENDPOINT_URL: endpoint } });
    return stdout.trim();
  };
  expect(await call('https://a5e5a42d.execute-api.us-east-1.amazonaws.com/live/charges?key=k')).toBe(
    '/restapis/a5e5a42d/live/_user_request_/charges?key=k',
  );
  expect(await call(`${endpoint}/live/charges`)).toBe('/live/charges');
  server.close();
});
