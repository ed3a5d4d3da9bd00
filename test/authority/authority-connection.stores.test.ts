/** Tests how a function connects to its configured database, with a secret from the local Secrets Manager. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateSecretCommand, DeleteSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { POSTGRES_AUTHORITY, type PostgresSettings } from '../../lambdas/authority/contract.ts';
import { openPostgresAuthority } from '../../lambdas/authority/postgres-authority.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemClock, systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { PostgresProxy } from '../postgres/postgres-proxy.ts';
import { createDatabase } from '../postgres/store-database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { CREDENTIALS, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';

const { awsEndpoint: endpoint, region, tables } = emulatedAws();
const manager = new SecretsManagerClient({ endpoint, region, credentials: CREDENTIALS });
const directory = mkdtempSync(join(tmpdir(), 'payonce-authority-'));
const caFile = join(directory, 'ca.pem');
let proxy: PostgresProxy;
let secretId = '';

beforeAll(async () => {
  const certificate = selfMadeCertificate('localhost');
  writeFileSync(caFile, certificate.cert);
  const url = await createDatabase();
  proxy = await PostgresProxy.start(url, certificate);
  const { user: username, database: dbname, password, host, port } = parseServerUrl(proxy.url('localhost'));
  const SecretString = JSON.stringify({ username, password, host, port, dbname });
  const { ARN = '' } = await manager.send(new CreateSecretCommand({ Name: `authority-${process.pid}`, SecretString }));
  secretId = ARN;
});
afterAll(async () => {
  await manager.send(new DeleteSecretCommand({ SecretId: secretId, ForceDeleteWithoutRecovery: true }));
  await proxy.stop();
  rmSync(directory, { recursive: true });
});

/** Reads a record with the stores of a function that has these settings. */
function readWith(settings: Omit<PostgresSettings, 'secretId'>): Promise<unknown> {
  const { store } = openPostgresAuthority(
    {
      variables: { [POSTGRES_AUTHORITY]: JSON.stringify({ secretId, ...settings }) },
      clock: systemClock,
      entropy: countingEntropy(),
      digest: systemDigest,
      documents: documentClient(dynamoDbClient()),
      instruments: systemInstruments,
      secretsManager: async () => manager,
    },
    tables,
  );
  return store.readRecord('pay_1' as never);
}

test('a secret has a predictable ARN, so that a setting can name it before it exists', () => {
  expect(secretId).toBe(`arn:aws:secretsmanager:${region}:000000000000:secret:authority-${process.pid}-local0`);
});

test.each([{}, { host: 'localhost' }])(
  'the functions verify the server certificate with the configured CA file (settings: %j)',
  async (settings) => {
    expect(await readWith({ ...settings, caFile })).toBeUndefined();
  },
);

test('without the configured CA file, the functions send no password to a server that only this file could verify', async () => {
  await expect(readWith({})).rejects.toMatchObject({ code: 'store_untrusted' });
});
