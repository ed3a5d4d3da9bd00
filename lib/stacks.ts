import type { App } from 'aws-cdk-lib';
import { StackName } from '../lambdas/kernel/contract/api.ts';
import { DataStack } from './data-stack.ts';
import { SandboxStack } from './sandbox-stack.ts';
import { ServiceStack } from './service-stack.ts';
import { readSettings } from './settings.ts';

/**
 * Builds what the context asks for.
 *
 * @throws Error when a setting is wrong, with what was given and what is allowed
 */
export function buildStacks(app: App): void {
  const settings = readSettings(app.node);
  const data = new DataStack(app, StackName.data, { settings, description: 'Payonce: tables' });
  const processorUrl =
    settings.processorUrl ??
    new SandboxStack(app, StackName.sandbox, { settings, data, description: 'Payonce: sandbox processor' }).url;
  new ServiceStack(app, StackName.service, { settings, data, processorUrl, description: 'Payonce: API' });
}
