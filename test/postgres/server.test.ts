import type { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { describe, expect, test } from '@jest/globals';
import { SecretReader } from '../../lambdas/kernel/platform/active-secrets.ts';
import { isLoopback, parseServerUrl, secretCredentials, serverSecret } from '../../lambdas/postgres/server.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';

const RDS_SECRET = {
  engine: 'postgres',
  host: 'db.example.com',
  port: 6432,
  username: 'payonce',
  password: 'p%:@/',
  dbname: 'money',
};
const SERVER = { host: 'db.example.com', port: 6432, database: 'money', user: 'payonce', password: 'p%:@/' };

describe('the secret of a database', () => {
  test('has the fields that RDS writes', () => {
    expect(serverSecret({})('s', JSON.stringify(RDS_SECRET))).toEqual(SERVER);
    expect(serverSecret({})('s', JSON.stringify({ ...RDS_SECRET, port: '6432' }))).toEqual(SERVER);
  });

  test('needs only user and password if the settings contain the address', () => {
    const { username, password } = RDS_SECRET;
    const parse = serverSecret({ host: 'proxy.example.com', database: 'money' });
    expect(parse('s', JSON.stringify({ username, password }))).toEqual({
      ...SERVER,
      host: 'proxy.example.com',
      port: 5432,
    });
    expect(parse('s', JSON.stringify(RDS_SECRET))).toMatchObject({ host: 'proxy.example.com', port: 6432 });
  });

  test.each([
    { text: undefined, reason: 'The secret s is not a JSON object.' },
    { text: 'p%:@/', reason: 'The secret s is not a JSON object.' },
    { text: '"p%:@/"', reason: 'The secret s is not a JSON object.' },
    { text: JSON.stringify({ ...RDS_SECRET, password: undefined }), reason: 'The secret s has no valid password.' },
    {
      text: JSON.stringify({ ...RDS_SECRET, username: '', port: 0 }),
      reason: 'The secret s has no valid username, port.',
    },
    { text: JSON.stringify({ ...RDS_SECRET, host: undefined }), reason: 'The secret s has no valid host.' },
    { text: JSON.stringify({ ...RDS_SECRET, dbname: undefined }), reason: 'The secret s has no valid dbname.' },
  ])('is refused with its name but without its contents: $reason', ({ text, reason }) => {
    const parse = () => serverSecret({})('s', text);
    expect(parse).toThrow(
      expect.objectContaining({ name: 'TerminalError', code: 'secret_malformed', message: reason }),
    );
  });

  test('is read again when the server refuses the password', async () => {
    let password = 'old';
    let reads = 0;
    const client = {
      send: async () => {
        reads += 1;
        return { SecretString: JSON.stringify({ ...RDS_SECRET, password }) };
      },
    } as unknown as SecretsManagerClient;
    const clock = new SimulatedClock();
    const credentials = secretCredentials(new SecretReader(client, clock, serverSecret({})), 's');
    expect(await credentials.current()).toEqual({ ...SERVER, password: 'old' });
    password = 'new';
    // The secret was just read, so it is not read again: a wrong password must not cause a read for each request.
    expect(await credentials.renewed()).toBeUndefined();
    clock.advance(10_000);
    expect(await credentials.current()).toEqual({ ...SERVER, password: 'old' });
    expect(await credentials.renewed()).toEqual({ ...SERVER, password: 'new' });
    expect(reads).toBe(2);
  });
});

describe('the URL of a database', () => {
  test('has an address, a user and a password', () => {
    expect(parseServerUrl('postgres://payonce:p%25%3A%40%2F@db.example.com:6432/money')).toEqual(SERVER);
    expect(parseServerUrl('postgresql://u:p@[::1]/d')).toMatchObject({ host: '::1', port: 5432 });
  });

  test.each([
    {
      url: 'db.example.com',
      reason: 'the database URL must have the form postgres://user:password@host:port/database',
    },
    {
      url: 'mysql://u:p@h/d',
      reason: 'the database URL must have the form postgres://user:password@host:port/database',
    },
    { url: 'postgres://u:p@h/d?sslmode=disable', reason: 'the database URL must have no parameters' },
    { url: 'postgres://u:p@h', reason: 'the database URL has no database' },
    { url: 'postgres://u@h/d', reason: 'the database URL has no password' },
    { url: 'postgres://h/d', reason: 'the database URL has no user' },
    { url: 'postgres:///d', reason: 'the database URL has no host' },
  ])('is refused: $url', ({ url, reason }) => expect(() => parseServerUrl(url)).toThrow(reason));

  test('requires TLS for each host except this machine', () => {
    expect(['localhost', '127.0.0.1', '127.9.9.9', '::1'].every(isLoopback)).toBe(true);
    expect(['127.example.com', 'localhost.example.com', '10.0.0.1', '::2'].some(isLoopback)).toBe(false);
  });
});
