import { execFile, spawn } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { CloudFormationClient, DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { paginateListSecrets, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, expect, test } from '@jest/globals';
import { TABLES } from '../../examples/loyalty/loyalty.ts';
import { EventNames } from '../../lambdas/events/contract.ts';
import { StackOutput, stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { ActiveSecrets } from '../../lambdas/kernel/platform/active-secrets.ts';
import { systemClock } from '../../lambdas/kernel/platform/platform.ts';
import { payonceWith, type StackOutputs } from '../../local/cdk.ts';
import { BINARIES, PROJECT } from '../../local/directories.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { connect, openQueuesToPlainHttp, reachable } from '../../local/local-aws.ts';
import { shareDatabase, startPostgres as startTlsServer } from '../../local/postgres.ts';
import { Administrator } from '../postgres/postgres-fixture.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { paymentCompleted } from '../services/service-events.ts';
import { ApiClient } from '../support/api-client.ts';
import { blocksOf } from '../support/documents.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { asUser, startPostgres } from '../support/postgres.ts';
import { redirectFunctions } from '../support/redirected-functions.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { type ForeignProject, foreignProject } from './foreign-app.ts';
import { writeLoyalty } from './loyalty-app.ts';

const SECTION = 'In your own CDK app';
const ENVIRONMENTS = ['staging', 'production'] as const;
type Environment = (typeof ENVIRONMENTS)[number];
/** Pays twice in one operation with a 50.00 EUR gift card. */
const PAY = `
import { createClient } from 'payonce/client';
import { fileKeys } from 'payonce/file-keys';
const client = createClient({ url: process.env.API_URL, apiKey: process.env.API_KEY, keys: fileKeys(process.env.KEYS) });
const pay = () => client.payments.create({ amount: 2000, currency: 'EUR', source: 'card_ada' }, { operation: 'order_42' });
console.log(JSON.stringify([await pay(), await pay()]));
`;

const aws = localAws();
const target = { endpoint: aws.awsEndpoint, region: aws.region, credentials: CREDENTIALS };
const secrets = new SecretsManagerClient(target);
const stacks = new CloudFormationClient(target);
const ends: (() => Promise<void> | void)[] = [];
afterAll(async () => {
  for (const end of ends.toReversed()) await end();
});

let installing: Promise<ForeignProject> | undefined;

function installed(): Promise<ForeignProject> {
  const packages = ['aws-cdk', 'aws-cdk-lib', 'constructs', 'esbuild', 'hono', 'pg', 'standardwebhooks', 'zod'];
  installing ??= foreignProject(packages).then((project) => {
    ends.push(() => project.remove());
    project.write('cdk.json', readFileSync(join(project.installed, 'cdk.json'), 'utf8'));
    return project;
  });
  return installing;
}

async function follow(): Promise<ForeignProject> {
  const project = await installed();
  const [install = ''] = blocksOf('docs/start/your-own-cdk-app.md', SECTION, 'sh');
  expect(install).toContain('\ncp node_modules/payonce/cdk.json .\n');
  const [app = '', points = ''] = blocksOf('docs/start/your-own-cdk-app.md', SECTION, 'js');
  project.write('app.js', app);
  project.write('points.js', points);
  // The processor is a program in the same project.
  for (const path of ['gift-cards', 'listener.ts'])
    cpSync(join(PROJECT, 'examples', path), join(project.folder, 'processor', path), { recursive: true });
  return project;
}

async function deployAll(
  { folder }: ForeignProject,
  context: Readonly<Record<string, string>>,
  ...app: readonly string[]
): Promise<StackOutputs> {
  const settings = Object.entries(context).flatMap(([name, value]) => ['--context', `${name}=${value}`]);
  const words = ['deploy', '--all', '--require-approval', 'never', '--no-notices', '--outputs-file', 'out.json'];
  const env = {
    ...emulatorEnvironment(aws),
    CDK_DISABLE_VERSION_CHECK: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    CDK_VALIDATION: 'false',
    NODE_DISABLE_COMPILE_CACHE: '1',
    HOME: folder,
  };
  const cdk = [join(BINARIES, 'cdk'), ...words, ...app, ...settings];
  await promisify(execFile)(process.execPath, cdk, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
  await openQueuesToPlainHttp(aws);
  return JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8')) as StackOutputs;
}

async function secretOf(environment: Environment, name: string): Promise<string> {
  const StackName = stackNameOf('data', environment);
  const { StackResources = [] } = await stacks.send(new DescribeStackResourcesCommand({ StackName }));
  const ids = StackResources.filter(({ LogicalResourceId = '' }) => LogicalResourceId.startsWith(name));
  for await (const { SecretList = [] } of paginateListSecrets({ client: secrets }, {})) {
    const found = SecretList.find(({ ARN, Name }) =>
      ids.some(({ PhysicalResourceId: id }) => id === ARN || id === Name),
    );
    if (found?.ARN === undefined) continue;
    const [value] = await new ActiveSecrets(secrets, systemClock).active(found.ARN);
    if (value !== undefined) return `whsec_${value}`;
  }
  throw new Error(`${environment} has no secret ${name}`);
}

/** The processor has a 50.00 EUR gift card. */
async function startProcessor({ folder }: ForeignProject, environment: Environment, apiUrl: string) {
  const DATABASE = join(folder, `${environment}.db`);
  const free = createServer();
  const { port } = new URL(await listenOnLoopback(free));
  await stopListening(free);
  const program = spawn(process.execPath, [join('processor', 'gift-cards', 'server.ts')], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: {
      ...process.env,
      PORT: port,
      DATABASE,
      SIGNING_KEY: await secretOf(environment, 'TestProcessorSigningKey'),
      CALLBACK_URL: `${apiUrl}/callbacks/external/test`,
      CALLBACK_SECRET: await secretOf(environment, 'TestProcessorCallbackSecret'),
    },
  });
  ends.push(() => void program.kill('SIGKILL'));
  await new Promise<void>((resolve) => void program.stdout.once('data', () => resolve()));
  const database = new DatabaseSync(DATABASE, { timeout: 5_000 });
  database.exec("INSERT INTO cards VALUES ('card_ada', 'EUR', 5000)");
  return { url: `http://127.0.0.1:${port}`, database };
}

/** Two command-line deployments take minutes, so only `npm run prove` runs this test. */
whole(test, { slice: test.skip })(
  'the documented steps lead to two environments with their own processors and consumers, which accept payments',
  async () => {
    const foreign = await follow();
    const [, deploys = ''] = blocksOf('docs/start/your-own-cdk-app.md', SECTION, 'sh');
    expect(deploys).toContain('\nnpx cdk deploy --all\n');
    const outputs = await deployAll(foreign, { 'payonce:eventArchive': 'false' });
    const payonce = async (environment: Environment, ...words: readonly string[]) => {
      const bin = join('node_modules', '.bin', 'payonce');
      const env = emulatorEnvironment(aws) as Readonly<Record<string, string>>;
      const { code, stdout, stderr } = await foreign.run([bin, '--environment', environment, ...words], env);
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      return stdout.trim();
    };
    foreign.write('pay.mjs', PAY);
    for (const environment of ENVIRONMENTS) {
      const service = outputs[stackNameOf('service', environment)];
      const apiUrl = reachable(aws.awsEndpoint, service?.[StackOutput.apiUrl] ?? '');
      const processor = await startProcessor(foreign, environment, apiUrl);
      await redirectFunctions({ [`https://${environment}.gift-cards.example`]: processor.url });

      const tenant = await payonce(environment, 'tenants', 'create', 'My shop');
      const key = await payonce(environment, 'keys', 'create', '--tenant', tenant, '--name', 'shop', '--mode', 'test');
      const paid = await foreign.run(['pay.mjs'], { API_URL: apiUrl, API_KEY: key, KEYS: `keys-${environment}` });
      expect(paid).toMatchObject({ code: 0, stderr: '' });
      const [first, second] = JSON.parse(paid.stdout) as readonly Readonly<Record<string, unknown>>[];
      expect(second).toEqual(first);
      expect(first).toMatchObject({ status: 'succeeded', amount: 2000, processor: { name: 'external' } });

      const { database } = processor;
      expect(database.prepare('SELECT count(*) AS charges FROM charges').get()).toEqual({ charges: 1 });
      expect(database.prepare('SELECT balance FROM cards').get()).toEqual({ balance: 3_000 });
      // The processor deletes each callback that Payonce accepts. With a wrong secret, the callbacks would remain.
      await until(async () => (database.prepare('SELECT 1 FROM callbacks').get() === undefined ? true : undefined));

      const { StackResources = [] } = await stacks.send(
        new DescribeStackResourcesCommand({ StackName: `${environment}-Points` }),
      );
      const table = StackResources.find(({ ResourceType }) => ResourceType === 'AWS::DynamoDB::Table');
      const points = await until(async () => {
        const { Items = [] } = await dynamoDbClient().send(new ScanCommand({ TableName: table?.PhysicalResourceId }));
        const found = Items.filter(({ pk }) => pk?.S?.startsWith('points#'));
        return found.length > 0 ? found : undefined;
      });
      expect(points).toEqual([{ pk: { S: `points#${String(first?.['id'])}` }, points: { N: '2000' } }]);
    }
  },
);

async function loyaltyDatabase(project: ForeignProject) {
  const database = await startPostgres();
  ends.push(() => database.drop());
  const { url } = database;
  const administrator = await Administrator.connect(url);
  ends.push(() => administrator.end());
  await administrator.query(`CREATE ROLE loyalty LOGIN PASSWORD 'loyalty' CONNECTION LIMIT 20`);
  const words = ['db', 'migrate', '--service', '--role', 'loyalty'];
  const migrated = await project.run([join('node_modules', '.bin', 'payonce'), ...words], {
    PAYONCE_DATABASE_URL: url,
  });
  expect(migrated).toMatchObject({ code: 0, stderr: '' });
  await administrator.query(TABLES);
  await administrator.query('GRANT SELECT, INSERT, UPDATE ON member, voucher TO loyalty');
  return { administrator, url: asUser(url, 'loyalty', 'loyalty') };
}

// The deployment takes minutes, so only `npm run prove` runs this test.
whole(test, { slice: test.skip })(
  'a service of the team and Payonce, both on PostgreSQL, run as deployed functions, and each effect happens once',
  async () => {
    const foreign = await installed();
    const { administrator, url: databaseUrl } = await loyaltyDatabase(foreign);
    const postgres = await startTlsServer({ directory: foreign.folder, port: 0, persist: false });
    ends.push(() => postgres.stop());
    await shareDatabase(postgres, aws);
    const context = { ...payonceWith({}, 'postgres').context, databaseUrl };
    const outputs = await deployAll(foreign, context, '--app', writeLoyalty(foreign));
    const shop = await connect(aws, outputs, { environment: 'loyalty' });
    const { Url: url = '', Function: FunctionName } = outputs['Loyalty'] ?? {};

    const api = new ApiClient(shop, shop.apiKey);
    const order = { key: 'order-1', body: { amount: 4_250, metadata: { member: 'ada' } } };
    const paid = await api.payUntilSucceeded(order);
    expect((await api.payUntilAnswered(order)).text).toBe(paid.text);
    expect(await api.charges(paid.json['id'])).toHaveLength(1);
    const points = async () =>
      (await administrator.query('SELECT points FROM member WHERE id = $1', ['ada']))[0]?.['points'];
    await until(async () => (await points()) === 42 || undefined);

    const service = new ApiClient({ apiUrl: reachable(aws.awsEndpoint, url).replace('//_user', '/_user') }, '');
    const headers = { 'content-type': 'application/json', 'idempotency-key': 'redemption-1' };
    const body = JSON.stringify({ member: 'ada', points: 30 });
    const redeem = () => service.untilAnswered(() => service.send('POST', '/v1/redemptions', { headers, body }));
    const redeemed = [...(await Promise.all([redeem(), redeem(), redeem()])), await redeem()];
    const spent = { object: 'redemption', member: 'ada', points: 30, points_left: 12 };
    expect(redeemed.map(({ status, json }) => [status, json])).toEqual(redeemed.map(() => [201, spent]));
    expect(redeemed.at(-1)?.headers.get('idempotency-replayed')).toBe('true');

    // The event arrives again, over another transport.
    const event = paymentCompleted('loyalty') as { readonly payment: object };
    const again = { ...event.payment, id: paid.json['id'], amount: 4_250, metadata: { member: 'ada' } };
    const detail = { ...event, tenant: shop.tenantId, occurredAtMs: Date.now(), payment: again };
    const Payload = JSON.stringify({ source: 'payonce', 'detail-type': EventNames.paymentCompleted, detail });
    const { FunctionError } = await new LambdaClient(target).send(new InvokeCommand({ FunctionName, Payload }));
    expect(FunctionError).toBeUndefined();
    expect(await points()).toBe(12);
    expect(await administrator.query('SELECT member, points FROM voucher')).toEqual([{ member: 'ada', points: 30 }]);
  },
);
