import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { activityPartition } from '../../lambdas/activity/store/activity-keys.ts';
import { POSTGRES_AUTHORITY, type PostgresSettings } from '../../lambdas/authority/contract.ts';
import { bundleWithPostgres } from '../../lib/lambda-code.ts';
import { payonceWith } from '../../local/cdk.ts';
import { openLocalDatabase, shareDatabase, startPostgres } from '../../local/postgres.ts';
import { CA_FILE } from '../../local/postgres-files.ts';
import { ensurePython } from '../../local/python-environment.ts';
import { CopiedFunctions } from '../console/copied-functions.ts';
import { allowRole, forbidRole } from '../support/assumed-role.ts';
import { localAws } from '../support/local-aws.ts';

const POLICY = 'Database';

export interface PaymentsOnPostgres extends AsyncDisposable {
  readonly apiUrl: string;
  readonly name: string;
  readonly query: (text: string, ...values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
}

/**
 * If the run deployed the stacks on DynamoDB, deploys a second payments function with its own database, because
 * deploying more stacks would take minutes.
 */
export async function paymentsOnPostgres(): Promise<PaymentsOnPostgres> {
  const aws = localAws();
  if (aws.postgres === undefined) return secondFunction();
  const database = openLocalDatabase(aws.postgres);
  return {
    apiUrl: aws.apiUrl,
    name: aws.paymentsFunction,
    query: (text, ...values) => database.run({ name: '', text, values }),
    [Symbol.asyncDispose]: () => database.close(),
  };
}

async function secondFunction(): Promise<PaymentsOnPostgres> {
  const aws = localAws();
  const directory = mkdtempSync(join(tmpdir(), 'payonce-on-postgres-'));
  const postgres = await startPostgres({ directory, port: 0, persist: false });
  const database = openLocalDatabase(postgres);
  const copies = await CopiedFunctions.start();
  const dynamodb = await dynamoDbBegunWithPostgres(aws.awsEndpoint);
  const { 'payonce:postgresSecretArn': secretId = '' } = payonceWith({}, 'postgres').context;
  await shareDatabase(postgres, aws);
  const settings: PostgresSettings = { secretId, caFile: CA_FILE };
  const variables = { [POSTGRES_AUTHORITY]: JSON.stringify(settings), AWS_ENDPOINT_URL_DYNAMODB: dynamodb.url };
  const { name, role } = await copies.copy('v1', 'Payments', variables, await codeIn(directory));
  await allowRole(role, POLICY, [
    { Action: 'secretsmanager:GetSecretValue', Resource: secretId },
    { Action: 'dynamodb:ConditionCheckItem', Resource: `arn:aws:dynamodb:*:*:table/${aws.tables.ledger}` },
    {
      Action: ['dynamodb:GetItem', 'dynamodb:Query', 'dynamodb:PutItem', 'dynamodb:DeleteItem'],
      Resource: `arn:aws:dynamodb:*:*:table/${aws.tables.registry}`,
    },
  ]);
  return {
    apiUrl: copies.url,
    name,
    query: (text, ...values) => database.run({ name: '', text, values }),
    [Symbol.asyncDispose]: async () => {
      await forbidRole(role, POLICY);
      await copies.stop();
      dynamodb.stop();
      await database.close();
      await postgres.stop();
      rmSync(directory, { recursive: true });
    },
  };
}

/** The stacks recorded DynamoDB as their authority, so no function could use PostgreSQL without the proxy. */
async function dynamoDbBegunWithPostgres(awsEndpoint: string) {
  const server = createServer((incoming, outgoing) => {
    const { method, headers } = incoming;
    buffer(incoming)
      .then((body) => {
        if (body.includes(activityPartition('settings')))
          return outgoing.end(JSON.stringify({ Item: { details: { M: { authority: { S: 'postgres' } } } } }));
        const forwarded = request(awsEndpoint, { method, headers }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
          answer.pipe(outgoing);
        });
        return forwarded.on('error', () => outgoing.destroy()).end(body);
      })
      .catch(() => outgoing.destroy());
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Returns a ZIP archive. */
async function codeIn(directory: string): Promise<Uint8Array> {
  const bundles = join(directory, 'bundles');
  bundleWithPostgres(bundles, ['payments']);
  const folder = join(bundles, 'payments');
  const files = readdirSync(folder).filter((file) => file.endsWith('.mjs'));
  const archive = join(directory, 'code.zip');
  execFileSync(await ensurePython(), ['-m', 'zipfile', '-c', archive, ...files.map((file) => join(folder, file))]);
  return readFileSync(archive);
}
