import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cpSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { CloudFormationClient, DescribeStackResourcesCommand } from '@aws-sdk/client-cloudformation';
import { ScanCommand } from '@aws-sdk/client-dynamodb';
import { paginateListSecrets, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { afterAll, expect, test } from '@jest/globals';
import { StackOutput, stackNameOf } from '../../lambdas/kernel/contract/api.ts';
import { ActiveSecrets } from '../../lambdas/kernel/platform/active-secrets.ts';
import { systemClock } from '../../lambdas/kernel/platform/platform.ts';
import type { StackOutputs } from '../../local/cdk.ts';
import { BINARIES, PROJECT } from '../../local/directories.ts';
import { emulatorEnvironment } from '../../local/emulator-environment.ts';
import { openQueuesToPlainHttp, reachable } from '../../local/local-aws.ts';
import { listenOnLoopback, stopListening } from '../sandbox/sandbox-listen.ts';
import { blocksOf } from '../support/documents.ts';
import { CREDENTIALS, dynamoDbClient, localAws } from '../support/local-aws.ts';
import { redirectFunctions } from '../support/redirected-functions.ts';
import { whole } from '../support/slice.ts';
import { until } from '../support/until.ts';
import { type ForeignProject, foreignProject } from './foreign-app.ts';

const SECTION = 'In your own CDK app';
const ENVIRONMENTS = ['staging', 'production'] as const;
type Environment = (typeof ENVIRONMENTS)[number];
/** Program that pays twice in one operation with a 50.00 EUR gift card, and prints both responses. */
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
const processors: ChildProcess[] = [];
let foreign: ForeignProject | undefined;
afterAll(() => {
  for (const each of processors) each.kill('SIGKILL');
  foreign?.remove();
});

/** Follows the README section: installs the package, copies `cdk.json` and writes the two programs. */
async function follow(): Promise<ForeignProject> {
  const project = await foreignProject(['aws-cdk', 'aws-cdk-lib', 'constructs', 'esbuild', 'hono', 'standardwebhooks']);
  const [install = ''] = blocksOf('docs/start/your-own-cdk-app.md', SECTION, 'sh');
  expect(install).toContain('\ncp node_modules/payonce/cdk.json .\n');
  const [app = '', points = ''] = blocksOf('docs/start/your-own-cdk-app.md', SECTION, 'js');
  project.write('cdk.json', readFileSync(join(project.installed, 'cdk.json'), 'utf8'));
  project.write('app.js', app);
  project.write('points.js', points);
  // The processor is a program in the same project.
  for (const path of ['gift-cards', 'listener.ts'])
    cpSync(join(PROJECT, 'examples', path), join(project.folder, 'processor', path), { recursive: true });
  return project;
}

async function deployAll({ folder }: ForeignProject): Promise<StackOutputs> {
  const [, deploys = ''] = blocksOf('docs/start/your-own-cdk-app.md', SECTION, 'sh');
  expect(deploys).toContain('\nnpx cdk deploy --all\n');
  const words = ['deploy', '--all', '--require-approval', 'never', '--no-notices'];
  const env = {
    ...emulatorEnvironment(aws),
    CDK_DISABLE_VERSION_CHECK: 'true',
    CDK_DISABLE_CLI_TELEMETRY: 'true',
    CDK_VALIDATION: 'false',
    NODE_DISABLE_COMPILE_CACHE: '1',
    HOME: folder,
  };
  const cdk = [
    join(BINARIES, 'cdk'),
    ...words,
    '--context',
    'payonce:eventArchive=false',
    '--outputs-file',
    'out.json',
  ];
  await promisify(execFile)(process.execPath, cdk, { cwd: folder, env, maxBuffer: 64 * 1024 * 1024 });
  await openQueuesToPlainHttp(aws);
  return JSON.parse(readFileSync(join(folder, 'out.json'), 'utf8')) as StackOutputs;
}

/** Returns the value of the secret with this name in an environment's deployment. */
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

/**
 * Starts the processor of an environment with a 50.00 EUR gift card.
 * @returns its URL and its database
 */
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
  processors.push(program);
  await new Promise<void>((resolve) => void program.stdout.once('data', () => resolve()));
  const database = new DatabaseSync(DATABASE, { timeout: 5_000 });
  database.exec("INSERT INTO cards VALUES ('card_ada', 'EUR', 5000)");
  return { url: `http://127.0.0.1:${port}`, database };
}

/** Two command-line deployments take minutes, so only `npm run prove` runs this test. */
whole(test, { slice: test.skip })(
  'the README leads to two environments with their own processors and consumers, which accept payments',
  async () => {
    foreign = await follow();
    const outputs = await deployAll(foreign);
    const payonce = async (environment: Environment, ...words: readonly string[]) => {
      const bin = join('node_modules', '.bin', 'payonce');
      const env = emulatorEnvironment(aws) as Readonly<Record<string, string>>;
      const { code, stdout, stderr } = await (foreign as ForeignProject).run(
        [bin, '--environment', environment, ...words],
        env,
      );
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
      // Accepted callbacks leave the table; with a wrong secret they would stay in it.
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
