import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { StoppableRelay } from '../../demo/relay.ts';
import { until } from '../support/until.ts';

const RELAY = 'relay';

describe("the demonstration's relay switch", () => {
  let lambda: Server;
  let endpoint: string;
  /** True means that the relay's event source was enabled. */
  let switched: boolean[];
  beforeEach(async () => {
    switched = [];
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      if (request.method === 'PUT') switched.push((JSON.parse(await text(request)) as { Enabled: boolean }).Enabled);
      const mapping = { UUID: 'mapping', State: switched.at(-1) === false ? 'Disabled' : 'Enabled' };
      const isList = request.url?.includes('FunctionName=') === true;
      const EventSourceMappings = request.url?.includes(`FunctionName=${RELAY}`) === true ? [mapping] : [];
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(isList ? { EventSourceMappings } : mapping));
    };
    lambda = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
    await once(lambda, 'listening');
    endpoint = `http://127.0.0.1:${(lambda.address() as AddressInfo).port}`;
  });
  afterEach(() => {
    lambda.close();
    lambda.closeAllConnections();
  });

  test('stops the relay until `start` is called, and `start` can be repeated', async () => {
    const relay = new StoppableRelay({ awsEndpoint: endpoint, accessKeyId: 'key' });
    await relay.stop(RELAY);
    expect(switched).toEqual([false]);
    await Promise.all([relay.start(), relay.start()]);
    await relay.start();
    expect(switched).toEqual([false, true]);
  });

  test('restarts the relay if the process that stopped it is killed', async () => {
    const program = `
      const { StoppableRelay } = await import(${JSON.stringify(join(import.meta.dirname, '../../demo/relay.ts'))});
      await new StoppableRelay({ awsEndpoint: ${JSON.stringify(endpoint)}, accessKeyId: 'key' }).stop('${RELAY}');
      console.log('stopped');`;
    const stopping = spawn(process.execPath, ['--input-type=module', '--eval', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(stopping.stdout, 'data');
    expect(switched).toEqual([false]);
    stopping.kill('SIGKILL');
    await until(async () => (switched.length > 1 ? true : undefined));
    expect(switched).toEqual([false, true]);
  });

  test('reports a relay without an event source', async () => {
    const relay = new StoppableRelay({ awsEndpoint: endpoint, accessKeyId: 'key' });
    await expect(relay.stop('another')).rejects.toThrow('another has no event source');
  });
});
