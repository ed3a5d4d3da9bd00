import type { App } from 'aws-cdk-lib';
import { StackName, stackNameOf } from '../lambdas/kernel/contract/api.ts';
import type { ProcessorContract } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { DataStack } from './data-stack.ts';
import { secretsOf } from './processors.ts';
import { SandboxStack } from './sandbox-stack.ts';
import { ServiceStack } from './service-stack.ts';
import { readSettings } from './settings.ts';

/**
 * Creates the stacks that the context selects.
 *
 * @param processors the available processors
 * @throws Error for an invalid setting, with the given value and the allowed values
 */
export function buildStacks(app: App, processors: readonly ProcessorContract[] = PROCESSORS): void {
  const settings = readSettings(app.node, processors);
  // The ids stay the same in every environment, and with them the logical ids.
  const named = (stack: keyof typeof StackName, description: string) => ({
    settings,
    description,
    stackName: stackNameOf(stack, settings.environment),
  });
  const data = new DataStack(app, StackName.data, named('data', 'Payonce: tables'));
  const service = { ...named('service', 'Payonce: API'), data };
  if (!settings.sandbox) {
    new ServiceStack(app, StackName.service, service);
    return;
  }
  const { callbacks, client } = secretsOf(data.processors, sandboxContract, 'test');
  const secret = client['accessKey'];
  if (secret === undefined) throw new Error('the sandbox has a secret');
  const sandbox = new SandboxStack(app, StackName.sandbox, {
    ...named('sandbox', 'Payonce: sandbox processor'),
    data: { callbackSecret: callbacks, accessSecret: secret },
  });
  new ServiceStack(app, StackName.service, { ...service, sandbox: { url: sandbox.url, secret } });
}
