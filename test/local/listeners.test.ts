/** Tests the guarantee "guarded local stack". */
import type { Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { LISTENERS } from './own-listeners.ts';

describe.each(LISTENERS)('%s', (name, start, path) => {
  let server: Server;
  let port: number;
  beforeAll(async () => {
    server = await start();
    ({ port } = server.address() as AddressInfo);
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  async function statusOf(head: readonly string[], body = ''): Promise<number> {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(`${[...head, `Content-Length: ${body.length}`, 'Connection: close'].join('\r\n')}\r\n\r\n${body}`);
    const [, status] = /^HTTP\/1\.1 (\d+)/.exec(await text(socket)) ?? [];
    return Number(status);
  }
  const host = () => `Host: 127.0.0.1:${port}`;
  const isWell = () =>
    statusOf(name === 'the receiver of conform' ? ['POST / HTTP/1.1', host()] : [`GET ${path} HTTP/1.1`, host()]);

  test('refuses every request that a page from another origin sends', async () => {
    for (const headers of [
      ['Origin: https://evil.example'],
      ['Origin: null'],
      [`Origin: http://localhost:${port}`],
      ['Sec-Fetch-Site: cross-site'],
      ['Sec-Fetch-Site: same-site'],
    ]) {
      expect(await statusOf([`POST ${path} HTTP/1.1`, host(), ...headers], '{}')).toBe(403);
      expect(await statusOf([`GET ${path} HTTP/1.1`, host(), ...headers])).toBe(403);
    }
  });

  test('continues after an aborted request, a malformed host, and a body that is too large', async () => {
    const aborted = connect(port, '127.0.0.1');
    aborted.on('error', () => undefined);
    aborted.write(`POST ${path} HTTP/1.1\r\n${host()}\r\nContent-Length: 100\r\n\r\n{`);
    await new Promise((written) => setImmediate(written));
    aborted.destroy();
    expect(await statusOf([`GET ${path} HTTP/1.1`, 'Host: a b'])).toBeGreaterThanOrEqual(200);
    expect(await statusOf([`GET ${path} HTTP/1.1`, 'Host: [::'])).toBeLessThan(500);
    if (name !== 'the health listener of the bridge')
      expect(await statusOf([`POST ${path} HTTP/1.1`, host()], ' '.repeat(10_485_761))).toBe(413);
    expect(await isWell()).toBe(200);
  });
});
