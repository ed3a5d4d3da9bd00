import { Duration, Stack, Validations } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { Carrying } from '../../lib/carrying.ts';
import { PayonceFunction } from '../../lib/constructs/payonce-function.ts';
import { DataStack } from '../../lib/data-stack.ts';
import { PayonceRules } from '../../lib/policies/payonce-rules.ts';
import { ReplayCache } from '../../lib/replay-cache.ts';
import { readSettings } from '../../lib/settings.ts';
import { testApp } from './test-app.ts';

/** Synthesizes a stack with two functions: one that copies rows after its commits, and the jobs worker. */
export function carryingTemplate(): Template {
  const app = testApp({ 'aws:cdk:bundling-stacks': [] });
  Validations.of(app).addPlugins(new PayonceRules());
  const data = new DataStack(app, 'Data', { settings: readSettings(app.node) });
  const stack = new Stack(app, 'Service');
  const own = { logRetentionDays: 90, retainLogs: false, environment: {}, memoryMb: 256 };
  const made = (id: string) =>
    new PayonceFunction(stack, id, { folder: 'payments', timeout: Duration.seconds(5), ...own });
  const carrying = new Carrying(stack, 'Carrying', { data });
  const writer = made('Writer');
  data.ledger.grantAppend(writer, ['payment']);
  carrying.grantCarry(writer);
  const worker = made('Worker');
  carrying.grantPoll(worker);
  new ReplayCache(stack, 'ReplayCache').grantUse(worker);
  return Template.fromStack(stack);
}
