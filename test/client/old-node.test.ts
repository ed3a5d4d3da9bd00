import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { build } from 'esbuild';
import { Webhook } from 'standardwebhooks';
import { listenerOf } from '../../examples/listener.ts';
import { bundleFolder } from '../support/bundle-folder.ts';
import { API_KEY, Api } from '../world/api.ts';
import { chargesIn } from './client-world.ts';
import { oldNode } from './old-node.ts';

const NODE = oldNode();
const SECRETS = [
  'whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=',
  'whsec_ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=',
];

// Skipped on machines without Node 20.
(NODE === undefined ? describe.skip : describe)('the built client on Node 20', () => {
  let folder: string;
  beforeAll(async () => {
    folder = bundleFolder('old-node');
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('charges once although the process is killed during the payment, and can wait, list and verify webhooks', async () => {
    const program = join(folder, 'program.mjs');
    const from = join(import.meta.dirname, 'old-node-process.ts');
    await build({ entryPoints: [from], outfile: program, bundle: true, format: 'esm', platform: 'node' });
    const api = new Api();
    const server = createServer(listenerOf(api.fetch)).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const body = '{"id":"evt_1","object":"event"}';
    // During a rotation, the receiver still accepts the old secret.
    const now = new Date();
    const signature = new Webhook(String(SECRETS[1])).sign('evt_1', now, body);
    const time = String(Math.floor(now.getTime() / 1000));
    const headers = { 'webhook-id': 'evt_1', 'webhook-timestamp': time, 'webhook-signature': signature };
    const live = async (dies: string) => {
      const child = spawn(String(NODE), [program], {
        env: {
          API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
          API_KEY,
          KEYS: join(folder, 'keys'),
          WEBHOOK: JSON.stringify({ body, headers, secrets: SECRETS }),
          DIES: dies,
        },
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const exited = once(child, 'exit') as Promise<readonly unknown[]>;
      const [[code, signal], said] = await Promise.all([exited, text(child.stdout)]);
      return { code, signal, said };
    };

    expect(await live('yes')).toEqual({ code: null, signal: 'SIGKILL', said: '' });
    expect(chargesIn(api)).toBe(1);
    const { code, said } = await live('no');
    server.close();
    expect(code).toBe(0);
    const found = JSON.parse(said) as Record<string, unknown>;
    expect(found).toMatchObject({ node: expect.stringMatching(/^20\./), status: 'succeeded', event: 'evt_1' });
    expect(found['ids']).toEqual([found['id']]);
    expect(found['stopped']).toContain('closed');
    expect(chargesIn(api)).toBe(1);
    // The aborted operation is stored too, so it can be sent later.
    expect(await readdir(join(folder, 'keys'))).toHaveLength(2);
  });
});
