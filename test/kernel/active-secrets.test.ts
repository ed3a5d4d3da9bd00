import { createHmac } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { inspect } from 'node:util';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { RetryableError, TerminalError } from '../../lambdas/kernel/faults.ts';
import { ActiveSecrets } from '../../lambdas/kernel/platform/active-secrets.ts';
import type { CallbackSource } from '../../lambdas/processors/contract.ts';
import { sandboxSignature } from '../../lambdas/processors/sandbox/sandbox-signature.ts';
import { verifyCallback } from '../../lambdas/processors/signatures/verify-callback.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const ID = 'payonce/sandbox-callbacks';
const BODY = Buffer.from('{"id":"evt_1"}');

interface HttpAnswer {
  readonly status: number;
  readonly body: string;
}

/** A local HTTP stand-in for Secrets Manager, so that the SDK's own client sends the requests. */
const manager = {
  answer: (_secretId: string): HttpAnswer | Promise<HttpAnswer> => ({ status: 500, body: '{}' }),
  asked: [] as string[],
  holds: (secret: string) => {
    manager.answer = () => ({ status: 200, body: JSON.stringify({ Name: ID, SecretString: secret }) });
  },
  fails: (status = 500, type = 'InternalServiceError') => {
    manager.answer = () => ({ status, body: JSON.stringify({ __type: type }) });
  },
};

async function respond(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { SecretId } = JSON.parse(await text(request)) as { SecretId: string };
  manager.asked.push(SecretId);
  const { status, body } = await manager.answer(SecretId);
  response.writeHead(status, { 'content-type': 'application/x-amz-json-1.1' }).end(body);
}

const server = createServer((request, response) => void respond(request, response));

let client: SecretsManagerClient;
let clock: SimulatedClock;
let secrets: ActiveSecrets;

beforeAll(async () => {
  client = new SecretsManagerClient({
    endpoint: await listenOnLoopback(server),
    region: 'eu-central-1',
    credentials: { accessKeyId: 'none', secretAccessKey: 'nothing' },
    maxAttempts: 1,
  });
});

afterAll(async () => {
  client.destroy();
  await stopListening(server);
});

beforeEach(() => {
  manager.asked = [];
  manager.holds('{"current":"first"}');
  clock = new SimulatedClock();
  secrets = new ActiveSecrets(client, clock);
});

const rejection = async (call: Promise<unknown>): Promise<unknown> =>
  call.then(
    (value) => value,
    (error: unknown) => error,
  );
const everything = (value: unknown) => inspect(value, { depth: Infinity, showHidden: true });

describe("a secret's text", () => {
  test.each([
    ['one secret', 'whsec_c2VjcmV0', ['whsec_c2VjcmV0']],
    ['a secret that begins like JSON', '[secret', ['[secret']],
    ['an object with any keys', '{"a":"one","AWSPENDING":"two","":"three"}', ['one', 'two', 'three']],
  ])('may be %s', async (_what, held, expected) => {
    manager.holds(held);

    expect(await secrets.active(ID)).toEqual(expected);
  });

  test.each([
    '{}',
    '[]',
    '["confidential"]',
    '"confidential"',
    '{"confidential":{"secret":"confidential"}}',
    '{"confidential":"confidential","number":1}',
    '{"confidential":""}',
    '{"confidential":"confidential "}',
    '{"confidential":"confidential"',
    'confidential\n',
    ' confidential',
    ' ',
    'null',
    '4242424242',
  ])('is refused if it is %j; the error contains the id of the secret, but not its text', async (held) => {
    manager.holds(held);

    const error = await rejection(secrets.active(ID));

    expect(error).toBeInstanceOf(TerminalError);
    expect(error).toMatchObject({ code: 'secret_malformed', message: expect.stringContaining(ID) });
    expect(everything(error)).not.toMatch(/confidential|4242/);
  });

  test.each([
    ['empty', { SecretString: '' }],
    ['bytes instead of text', { SecretBinary: Buffer.from('bytes').toString('base64') }],
  ])('is refused if it is %s', async (_what, held) => {
    manager.answer = () => ({ status: 200, body: JSON.stringify(held) });

    expect(await rejection(secrets.active(ID))).toMatchObject({ code: 'secret_malformed' });
  });

  test('disables the old secrets if it becomes malformed; the next caller then reads it again', async () => {
    await secrets.active(ID);
    clock.advance(MINUTE);
    manager.holds('{"current":');
    for (let time = 0; time < 2; time += 1) {
      expect(await rejection(secrets.active(ID))).toMatchObject({ code: 'secret_malformed' });
    }

    manager.holds('{"current":"second"}');

    expect(await secrets.active(ID)).toEqual(['second']);
  });
});

describe('Secrets Manager', () => {
  test('is called once a minute for each secret', async () => {
    for (let passed = 0; passed < 10 * MINUTE; passed += SECOND) {
      await secrets.active(ID);
      await secrets.active('another');
      clock.advance(SECOND);
    }

    expect(manager.asked.filter((id) => id === ID)).toHaveLength(10);
    expect(manager.asked.filter((id) => id === 'another')).toHaveLength(10);
  });

  test('is called only as often as the reader’s `freshMs` requires, but immediately if a signature is unknown', async () => {
    const patient = new ActiveSecrets(client, clock, 12 * MINUTE);
    for (let passed = 0; passed < HOUR; passed += MINUTE) {
      await patient.active(ID);
      clock.advance(MINUTE);
    }
    expect(manager.asked).toHaveLength(5);

    await patient.active(ID);
    clock.advance(MINUTE);
    manager.holds('{"current":"second","previous":"first"}');

    expect(await patient.active(ID)).toEqual(['first']);
    expect(await patient.renewed(ID)).toEqual(['second', 'first']);
    expect(() => new ActiveSecrets(client, clock, 16 * MINUTE)).toThrow('freshMs exceeds the maximum age of secrets');
  });

  test('is called at most once every ten seconds, however many forged callbacks arrive', async () => {
    for (let passed = 0; passed < MINUTE; passed += 100) {
      await secrets.active(ID);
      await secrets.renewed(ID);
      clock.advance(100);
    }

    expect(manager.asked).toHaveLength(6);
  });

  test('is called once for all concurrent callers', async () => {
    const answer = Promise.withResolvers<HttpAnswer>();
    manager.answer = () => answer.promise;

    const calls = Promise.all([secrets.active(ID), secrets.renewed(ID), secrets.active(ID), secrets.renewed(ID)]);
    answer.resolve({ status: 200, body: '{"SecretString":"only"}' });

    expect(await calls).toEqual([['only'], ['only'], ['only'], ['only']]);
    expect(manager.asked).toEqual([ID]);
  });

  test('is called at most every ten seconds while its calls fail', async () => {
    await secrets.active(ID);
    clock.advance(MINUTE);
    manager.asked = [];
    manager.fails();
    for (let passed = 0; passed < MINUTE; passed += 100) {
      expect(await secrets.active(ID)).toEqual(['first']);
      await secrets.renewed(ID);
      clock.advance(100);
    }

    expect(manager.asked).toHaveLength(6);
  });

  test('is called again after the clock has moved back, because the age of secrets is then unknown', async () => {
    await secrets.active(ID);
    clock.advance(-5 * MINUTE);
    manager.holds('{"current":"second"}');

    expect(await secrets.active(ID)).toEqual(['second']);
    clock.advance(-5 * MINUTE);
    expect(await secrets.renewed(ID)).toEqual(['second']);
  });
});

describe('an outage of Secrets Manager', () => {
  test.each([
    [500, 'InternalServiceError'],
    [400, 'AccessDeniedException'],
    [400, 'ResourceNotFoundException'],
    [400, 'ThrottlingException'],
  ])(
    'results in a retryable error for a secret that was never read, with %i %s, until the end of the outage',
    async (status, type) => {
      manager.fails(status, type);

      const error = await rejection(secrets.active(ID));

      expect(error).toBeInstanceOf(RetryableError);
      expect(error).toMatchObject({ code: 'secrets_unavailable', cause: { name: type } });
      manager.holds('{"current":"first"}');
      expect(await secrets.active(ID)).toEqual(['first']);
    },
  );

  test('leaves known secrets in use until they are 15 minutes old, for both `active` and `renewed`', async () => {
    await secrets.active(ID);
    manager.fails();

    clock.advance(15 * MINUTE - 1);
    expect(await secrets.renewed(ID)).toEqual(['first']);
    expect(await secrets.active(ID)).toEqual(['first']);

    clock.advance(1);
    expect(await rejection(secrets.active(ID))).toMatchObject({ code: 'secrets_unavailable' });
    clock.advance(10 * SECOND);
    expect(await rejection(secrets.renewed(ID))).toMatchObject({ code: 'secrets_unavailable' });
  });

  test('does not put any part of a truncated response into the error', async () => {
    manager.answer = () => ({ status: 200, body: 'confidential {"SecretString":"confidential' });

    const error = await rejection(secrets.active(ID));

    expect(error).toMatchObject({ code: 'secrets_unavailable' });
    expect(everything(error)).not.toContain('confid');
  });

  test('gives the same error to all callers that wait for one response; the next caller reads again', async () => {
    manager.fails();
    const errors = await Promise.all([rejection(secrets.active(ID)), rejection(secrets.active(ID))]);

    expect(errors[0]).toBe(errors[1]);
    expect(manager.asked).toHaveLength(1);
    await rejection(secrets.active(ID));
    expect(manager.asked).toHaveLength(2);
  });
});

describe('a callback', () => {
  const source: CallbackSource = { name: 'sandbox', mode: 'test', scheme: 'sandbox', secretId: ID };
  const scheme = sandboxSignature;

  const signedBy = (secret: string, ageSeconds = 0) => {
    const at = Math.floor(clock.nowMs() / SECOND) - ageSeconds;
    const signature = createHmac('sha256', secret).update(`${at}.`).update(BODY).digest('hex');
    return { body: BODY, header: (name: string) => (name === 'sandbox-signature' ? [`t=${at},v1=${signature}`] : []) };
  };
  const verdict = async (secret: string, ageSeconds?: number) => {
    const result = await verifyCallback({ scheme, secrets, clock }, source, signedBy(secret, ageSeconds));
    return result.kind === 'valid' ? 'valid' : result.reason;
  };

  test('is accepted with either secret during the overlap, and with the old secret for at most one more minute', async () => {
    manager.holds('{"old":"first","new":"second"}');
    expect([await verdict('first'), await verdict('second'), await verdict('third')]).toEqual([
      'valid',
      'valid',
      'mismatch',
    ]);

    manager.holds('{"new":"second"}');
    clock.advance(MINUTE);

    expect([await verdict('first'), await verdict('second')]).toEqual(['mismatch', 'valid']);
  });

  test('is accepted with a new secret immediately, even though the old secrets are cached', async () => {
    expect(await verdict('first')).toBe('valid');
    clock.advance(10 * SECOND);
    manager.holds('{"old":"first","new":"second"}');

    expect(await verdict('second')).toBe('valid');
    expect(await verdict('first')).toBe('valid');
    expect(manager.asked).toHaveLength(2);
  });

  test('is accepted with a secret that was added just after a read, once ten seconds have passed', async () => {
    expect(await verdict('second')).toBe('mismatch');
    manager.holds('{"old":"first","new":"second"}');
    expect(await verdict('second')).toBe('mismatch');

    clock.advance(10 * SECOND);

    expect(await verdict('second')).toBe('valid');
  });

  test('signed with a removed secret is refused as soon as a forged callback has caused the secrets to be read again', async () => {
    expect(await verdict('first')).toBe('valid');
    manager.holds('{"new":"second"}');
    clock.advance(10 * SECOND);
    expect(await verdict('forged')).toBe('mismatch');

    expect(await verdict('first')).toBe('mismatch');
  });

  test('does not cause another read of the secrets if it is unsigned, expired or ahead of the clock', async () => {
    await secrets.active(ID);
    clock.advance(20 * SECOND);

    expect([await verdict('first', 301), await verdict('first', -301)]).toEqual(['expired', 'ahead']);
    const unsigned = { body: BODY, header: () => [] };
    expect(await verifyCallback({ scheme, secrets, clock }, source, unsigned)).toMatchObject({ reason: 'missing' });
    expect(manager.asked).toHaveLength(1);
  });

  test('is accepted or refused by its age on arrival, however long the read of the secrets takes', async () => {
    const arrived = signedBy('first', 300);
    manager.answer = () => {
      clock.advance(5 * SECOND);
      return { status: 200, body: '{"SecretString":"first"}' };
    };

    expect(await verifyCallback({ scheme, secrets, clock }, source, arrived)).toEqual({ kind: 'valid' });
  });

  test('is never verified by the signature scheme of a different source', async () => {
    const other = { ...source, scheme: 'stripe' } as const;

    expect(await rejection(verifyCallback({ scheme, secrets, clock }, other, signedBy('first')))).toMatchObject({
      name: 'InvariantViolation',
    });
    expect(manager.asked).toEqual([]);
  });

  test('is neither accepted nor refused while its secret cannot be read', async () => {
    manager.fails();

    expect(await rejection(verdict('first'))).toMatchObject({ code: 'secrets_unavailable' });
  });
});
