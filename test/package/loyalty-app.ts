import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROJECT } from '../../local/directories.ts';
import type { ForeignProject } from './foreign-app.ts';

/** Maps the sources that the example imports in this project to the entry points of the package. */
const IMPORTS = {
  '../../lambdas/services/once.ts': 'payonce/once',
  '../../package/events.ts': 'payonce/events',
};

const FUNCTIONS = `
import { handle } from 'hono/aws-lambda';
import { Pool } from 'pg';
import { loyalty } from './loyalty.ts';

const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 2 });
const { app, collect } = loyalty({ pool, jobSecrets: async () => [] });
export const serve = handle(app);
export { collect };
`;

/** The CDK context `databaseUrl` is the URL of the service's database. */
const APP = `
import { App, CfnOutput, Duration, Stack } from 'aws-cdk-lib';
import { LambdaRestApi } from 'aws-cdk-lib/aws-apigateway';
import { Runtime } from 'aws-cdk-lib/aws-lambda';
import { NodejsFunction } from 'aws-cdk-lib/aws-lambda-nodejs';
import { EventNames, Payonce } from 'payonce';

const app = new App();
const payonce = new Payonce(app, 'loyalty', { environment: 'loyalty' });
const stack = new Stack(app, 'Loyalty');
const code = (id, handler) =>
  new NodejsFunction(stack, id, {
    entry: 'loyalty/functions.ts',
    handler,
    runtime: Runtime.NODEJS_24_X,
    timeout: Duration.seconds(30),
    environment: { DATABASE_URL: app.node.getContext('databaseUrl') },
  });
const collect = code('Collect', 'collect');
payonce.addConsumer(stack, 'Points', { function: collect, events: [EventNames.paymentCompleted] });
new CfnOutput(stack, 'Function', { value: collect.functionName });
new CfnOutput(stack, 'Url', { value: new LambdaRestApi(stack, 'Api', { handler: code('Serve', 'serve') }).url });
`;

/** @returns the command that runs the CDK app */
export function writeLoyalty(project: ForeignProject): string {
  const code = readFileSync(join(PROJECT, 'examples', 'loyalty', 'loyalty.ts'), 'utf8');
  project.write(
    'loyalty/loyalty.ts',
    Object.entries(IMPORTS).reduce((text, [from, to]) => text.replace(from, to), code),
  );
  project.write('loyalty/functions.ts', FUNCTIONS);
  project.write('loyalty/app.mjs', APP);
  return 'node loyalty/app.mjs';
}
