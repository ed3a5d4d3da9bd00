import { createServer, type Server } from 'node:https';
import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterEach, describe, expect, test } from '@jest/globals';
import { callOnce } from '../../lambdas/outbound/http-call.ts';
import { configuredProcessors } from '../../lambdas/processors/configured-processors.ts';
import { external, sandbox } from '../../lambdas/processors/sandbox/descriptor.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { freshOrder } from '../orders/sandbox-orders.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { QUIET_INSTRUMENTS } from '../support/quiet-instruments.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const CALLED = [
  ['external', external, 'signingKey'],
  ['sandbox', sandbox, 'accessKey'],
] as const;

let server: Server | undefined;
afterEach(async () => {
  if (server !== undefined) await stopListening(server);
  server = undefined;
});

/** The processor does not respond. @returns the logged warnings */
async function warningsOf([, processor, secret]: (typeof CALLED)[number], url: string): Promise<unknown[]> {
  const warnings: unknown[] = [];
  const client = { send: async () => ({ SecretString: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw' }) };
  const { processors } = await configuredProcessors(
    { processors: [{ processor, mode: 'test', settings: { url }, secretIds: { [secret]: 'id' } }], routes: [] },
    {
      clock: new SimulatedClock(),
      send: callOnce,
      secretsManager: async () => client as unknown as SecretsManagerClient,
      instruments: {
        ...QUIET_INSTRUMENTS,
        logger: () => ({
          ...QUIET_INSTRUMENTS.logger(''),
          warn: (...line: unknown[]) => void warnings.push(line),
        }),
      },
    },
  );
  await expect(processors[0]?.charge(freshOrder(), { timeoutMs: 5_000 })).rejects.toThrow();
  return warnings;
}

describe.each(CALLED)('a call to %s without a response', (...called) => {
  const [name] = called;

  test('is logged with the reason, if no connection is possible', async () => {
    server = createServer();
    const url = await listenOnLoopback(server);
    await stopListening(server);
    server = undefined;
    expect(await warningsOf(called, url)).toEqual([
      ['processor_call_failed', { processor: name, fault: 'processor_unreachable', cause: 'ECONNREFUSED' }],
    ]);
  });

  test('is logged with the reason, if the certificate is not trusted', async () => {
    server = createServer(selfMadeCertificate('localhost'));
    const url = (await listenOnLoopback(server)).replace('http://127.0.0.1', 'https://localhost');
    expect(await warningsOf(called, url)).toEqual([
      [
        'processor_call_failed',
        { processor: name, fault: 'processor_connection_lost', cause: 'DEPTH_ZERO_SELF_SIGNED_CERT' },
      ],
    ]);
  });
});
