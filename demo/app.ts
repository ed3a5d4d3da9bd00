import { App } from 'aws-cdk-lib';
import { SandboxStack } from '../lib/sandbox-stack.ts';
import { readSettings } from '../lib/settings.ts';
import { BUS_CONTEXT, DemoStackName, SHOP_CALLBACK_PARAMETER } from './contract.ts';
import { DemoStack } from './demo-stack.ts';

const app = new App();
const eventBusName: unknown = app.node.tryGetContext(BUS_CONTEXT);
if (typeof eventBusName !== 'string') throw new Error(`the context value ${BUS_CONTEXT} is not set`);
const settings = { ...readSettings(app.node), accountLogRole: false };
const demo = new DemoStack(app, DemoStackName.demo, { settings, eventBusName });
// An account of its own at the same processor: a processor calls back to one address, and that one is Payonce's.
new SandboxStack(app, DemoStackName.processor, {
  settings,
  data: demo,
  callbackAddressParameter: SHOP_CALLBACK_PARAMETER,
  description: 'Payonce: the naive shop’s sandbox processor',
});
