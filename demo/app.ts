import { App } from 'aws-cdk-lib';
import { BUNDLED_CONTEXT } from '../lib/lambda-code.ts';
import { SandboxStack } from '../lib/sandbox-stack.ts';
import { readSettings } from '../lib/settings.ts';
import { BUS_CONTEXT, DemoStackName, SHOP_CALLBACK_PARAMETER } from './contract.ts';
import { DemoStack } from './demo-stack.ts';

const app = new App({ context: { [BUNDLED_CONTEXT]: ['sandbox-processor'] } });
const eventBusName: unknown = app.node.tryGetContext(BUS_CONTEXT);
if (typeof eventBusName !== 'string') throw new Error(`the context value ${BUS_CONTEXT} is not set`);
const settings = readSettings(app.node);
const demo = new DemoStack(app, DemoStackName.demo, { settings, eventBusName });
// A second sandbox processor, for the naive shop: a processor has only one callback address, and the first processor
// calls Payonce.
new SandboxStack(app, DemoStackName.processor, {
  settings,
  data: demo,
  callbackAddressParameter: SHOP_CALLBACK_PARAMETER,
  description: 'Payonce: the naive shop’s sandbox processor',
});
