import type { App } from 'aws-cdk-lib';
import { StackName, stackNameOf } from '../lambdas/kernel/contract/api.ts';
import type { ProcessorContract } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import type { ArchiveBucket } from './archive.ts';
import { ArchiveStack, type ArchiveStackProps } from './archive-stack.ts';
import { DataStack } from './data-stack.ts';
import { secretsOf } from './processors.ts';
import { SandboxStack } from './sandbox-stack.ts';
import { ServiceStack } from './service-stack.ts';
import { readSettings, type Settings } from './settings.ts';

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
  const archive = archiveOf(app, settings, named('archive', 'Payonce: archive of the Ledger'));
  if (settings.archiveWriter !== undefined) return;
  const data = new DataStack(app, StackName.data, named('data', 'Payonce: tables'));
  const bucket = bucketOf(settings, archive);
  const service = {
    ...named('service', 'Payonce: API'),
    data,
    ...(bucket === undefined ? {} : { archiveBucket: bucket }),
  };
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

/** The stack of the bucket, unless there is no archive or its bucket is in another account. */
function archiveOf(
  app: App,
  { archive, archiveBucket, archiveWriter }: Settings,
  props: ArchiveStackProps,
): ArchiveStack | undefined {
  if (archiveWriter === undefined && (!archive || archiveBucket !== undefined)) return undefined;
  return new ArchiveStack(app, StackName.archive, props);
}

function bucketOf({ archiveBucket }: Settings, archive: ArchiveStack | undefined): ArchiveBucket | undefined {
  if (archiveBucket !== undefined) return { name: archiveBucket, shown: archiveBucket };
  if (archive === undefined) return undefined;
  const [Region, OutputName] = [{ Ref: 'AWS::Region' }, 'PublishOutputRefBucket83908E770FF9A107'];
  const shown = JSON.stringify({ 'Fn::GetStackOutput': { StackName: archive.stackName, Region, OutputName } });
  return { name: archive.bucket.bucketName, shown };
}
