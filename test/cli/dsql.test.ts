/** Tests how the command line finds the cluster of Aurora DSQL that a deployment has created. */
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { databaseOfSettings, databasesOfSettings, serverOf } from '../../cli/database.ts';
import type { AwsTarget } from '../../cli/deployment.ts';
import { deployedCluster } from '../../cli/dsql.ts';
import { ExitCode } from '../../cli/failure.ts';

const ENDPOINT = 'abc123.dsql.eu-west-1.on.aws';
const role = (name: string): string => `arn:aws:iam::111122223333:role/${name}`;

/** The clusters of the data stack, and the settings of each function of the service stack. */
let clusters: readonly string[];
let functions: Readonly<Record<string, object | undefined>>;
let target: AwsTarget;
let server: Server;

beforeAll(async () => {
  server = createServer((request, response) => {
    const [, name = ''] = /\/functions\/(\w+)\/configuration/.exec(request.url ?? '') ?? [];
    const settings = functions[name];
    if (name === '')
      return void request.toArray().then((body) => response.end(resources(Buffer.concat(body).toString())));
    const Variables = settings === undefined ? {} : { POSTGRES_AUTHORITY: JSON.stringify(settings) };
    response.end(JSON.stringify({ Role: role(name), Environment: { Variables } }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'test' };
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  target = { endpoint, region: 'eu-west-1', credentials };
});
beforeEach(() => {
  clusters = ['abc123'];
  functions = { Payments: { host: ENDPOINT }, Reads: { host: ENDPOINT }, Webhooks: undefined };
});
afterAll(() => {
  server.close();
  server.closeAllConnections();
});

function resources(request: string): string {
  const of = (type: string, name: string) => `<member><LogicalResourceId>${name}</LogicalResourceId>
    <PhysicalResourceId>${name}</PhysicalResourceId><ResourceType>${type}</ResourceType></member>`;
  const ofStack = request.includes('PayonceData')
    ? clusters.map((id) => of('AWS::DSQL::Cluster', id))
    : Object.keys(functions).map((name) => of('AWS::Lambda::Function', name));
  const all = [of('AWS::SQS::Queue', 'Queue'), ...ofStack];
  return `<ListStackResourcesResponse xmlns="http://cloudformation.amazonaws.com/doc/2010-05-15/">
    <ListStackResourcesResult><StackResourceSummaries>${all.join('')}</StackResourceSummaries></ListStackResourcesResult>
    </ListStackResourcesResponse>`;
}

describe('the cluster of a deployment', () => {
  test('is found in its data stack, and returned with the roles of the functions that use it', async () => {
    expect(await deployedCluster(target)).toEqual({ endpoint: ENDPOINT, iamRoles: [role('Payments'), role('Reads')] });
  });

  test('is returned without the role of a function that uses another database', async () => {
    functions = { Payments: { secretId: 'arn', host: 'db.example' }, Webhooks: undefined };
    expect(await deployedCluster(target)).toEqual({ endpoint: ENDPOINT, iamRoles: [] });
  });

  test('if it is missing, is reported with the setting that creates it', async () => {
    clusters = [];
    await expect(deployedCluster(target)).rejects.toMatchObject({
      exitCode: ExitCode.notFound,
      message: 'The deployment has no cluster: deploy with payonce:authority=dsql.',
    });
  });

  test('is the database of a deployment with authority=dsql, and its administrator signs in with a token', async () => {
    const chosen = { dsql: true };
    expect(databaseOfSettings({ authority: 'dsql' })).toEqual(chosen);
    expect(databasesOfSettings({ authority: 'dsql' })).toEqual([{ name: 'first', chosen }]);
    const { password, ...address } = await serverOf({ aws: async () => target }, chosen);
    expect(address).toEqual({ host: ENDPOINT, port: 5432, database: 'postgres', user: 'admin' });
    expect(typeof password === 'string' ? password : await password()).toMatch(
      /^abc123\.dsql\.eu-west-1\.on\.aws\/\?Action=DbConnectAdmin&.*X-Amz-Credential=AKIDEXAMPLE%2F/,
    );
  });

  test('cannot be combined with the address of another database', async () => {
    const asked = serverOf({ aws: async () => target }, { dsql: true, url: 'postgres://u:p@h/d' });
    await expect(asked).rejects.toMatchObject({ exitCode: ExitCode.usage });
  });
});
