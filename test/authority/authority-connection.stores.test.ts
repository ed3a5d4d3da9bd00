/** Tests how a function connects to its configured database, with a secret from the local Secrets Manager. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { CreateSecretCommand, DeleteSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { DeleteCommand } from '@aws-sdk/lib-dynamodb';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { POSTGRES_AUTHORITY, type PostgresSettings } from '../../lambdas/authority/contract.ts';
import { openPostgresAuthority } from '../../lambdas/authority/postgres-authority.ts';
import { KnownDatabase } from '../../lambdas/authority/store/known-database.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { FIRST_SHARD, KeyAttribute } from '../../lambdas/kernel/contract/tables.ts';
import { AUTHORITY_CHANGED } from '../../lambdas/kernel/faults.ts';
import { documentClient } from '../../lambdas/kernel/platform/document-client.ts';
import { systemInstruments } from '../../lambdas/kernel/platform/instruments.ts';
import { systemClock, systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { parseServerUrl } from '../../lambdas/postgres/server.ts';
import { selfMadeCertificate } from '../../local/self-made-certificate.ts';
import { finishJob } from '../jobs/finish-job.ts';
import { effectOf } from '../payments/copies.ts';
import { paymentIdFor, pendingTransition } from '../payments/payment-fixtures.ts';
import { PostgresProxy } from '../postgres/postgres-proxy.ts';
import { asFunctions, createDatabase, openTestDatabase } from '../postgres/store-database.ts';
import { countingEntropy } from '../support/counting-entropy.ts';
import { CREDENTIALS, dynamoDbClient, emulatedAws } from '../support/local-aws.ts';
import { SimulatedClock } from '../support/simulated-clock.ts';
import { Stores } from '../world/stores.ts';

const { awsEndpoint: endpoint, region, tables } = emulatedAws();
const manager = new SecretsManagerClient({ endpoint, region, credentials: CREDENTIALS });
const directory = mkdtempSync(join(tmpdir(), 'payonce-authority-'));
const caFile = join(directory, 'ca.pem');
let proxy: PostgresProxy;
let secretId = '';
let url = '';

beforeAll(async () => {
  const certificate = selfMadeCertificate('localhost');
  writeFileSync(caFile, certificate.cert);
  url = await createDatabase();
  proxy = await PostgresProxy.start(url, certificate);
  const {
    user: username,
    database: dbname,
    password,
    host,
    port,
  } = parseServerUrl(asFunctions(proxy.url('localhost')));
  const SecretString = JSON.stringify({ username, password, host, port, dbname });
  const { ARN = '' } = await manager.send(new CreateSecretCommand({ Name: `authority-${process.pid}`, SecretString }));
  secretId = ARN;
});
afterAll(async () => {
  await forget();
  await manager.send(new DeleteSecretCommand({ SecretId: secretId, ForceDeleteWithoutRecovery: true }));
  await proxy.stop();
  rmSync(directory, { recursive: true });
});

function openWith(settings: Omit<PostgresSettings, 'secretId'>) {
  return openPostgresAuthority(
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
}

function readWith(settings: Omit<PostgresSettings, 'secretId'>): Promise<unknown> {
  return openWith(settings).store.readRecord('pay_1' as never);
}

test('a secret in the emulator has a predictable ARN, so that a setting can contain the ARN before the secret exists', () => {
  expect(secretId).toBe(`arn:aws:secretsmanager:${region}:000000000000:secret:authority-${process.pid}-local0`);
});

test.each([{}, { host: 'localhost' }])(
  'the functions verify the server certificate with the configured CA file (settings: %j)',
  async (settings) => {
    expect(await readWith({ ...settings, caFile })).toBeUndefined();
  },
);

test('without the configured CA file, the functions send no password to a server whose certificate only this file could verify', async () => {
  await expect(readWith({})).rejects.toMatchObject({ code: 'store_untrusted' });
});

test('a function refuses a database other than the recorded one, until a recovery records the other database', async () => {
  const clock = new SimulatedClock();
  clock.advance(1);
  const otherUrl = await createDatabase(clock);
  const [own, other] = [addressOf(url), addressOf(otherUrl)];
  const authority = openWith(own);
  for (const { effects } of [authority, openWith(other)])
    await effects().recordEffect(effectOf([pendingTransition(paymentIdFor('known-database'))]));
  expect(await readWith(other)).toBeUndefined();
  await finishJob(authority.carryJob(new Stores(clock).jobMarks), systemClock.nowMs());
  expect(await readWith(own)).toBeUndefined();
  await expect(readWith(other)).rejects.toMatchObject({ code: AUTHORITY_CHANGED });

  const database = openTestDatabase(otherUrl);
  const pacing = { clock, entropy: countingEntropy() };
  const tools = { client: documentClient(dynamoDbClient()), registryTable: tables.registry, pacing };
  await new KnownDatabase(tools, FIRST_SHARD).replace(database);
  await database.close();
  expect(await readWith(other)).toBeUndefined();
  await expect(readWith(own)).rejects.toMatchObject({ code: AUTHORITY_CHANGED });
});

function addressOf(text: string): Pick<PostgresSettings, 'host' | 'port' | 'database'> {
  const { host, port, database } = parseServerUrl(text);
  return { host, port, database };
}

/** Other test files use the same DynamoDB tables. */
async function forget(): Promise<void> {
  const Key = { [KeyAttribute.partition]: RegistryRow.databases, [KeyAttribute.sort]: FIRST_SHARD };
  await documentClient(dynamoDbClient()).send(new DeleteCommand({ TableName: tables.registry, Key }));
}
