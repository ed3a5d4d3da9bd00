import type { Environment } from 'aws-cdk-lib';
import type { Construct } from 'constructs';
import { StackName, stackNameOf } from '../lambdas/kernel/contract/api.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import type { ProcessorContract } from '../lambdas/processors/contract.ts';
import { PROCESSORS } from '../lambdas/processors/registry.ts';
import { sandboxContract } from '../lambdas/processors/sandbox/contract.ts';
import { ArchiveStack, type ArchiveStackProps } from './archive-stack.ts';
import type { ArchiveBucket } from './constructs/archive-bucket.ts';
import { DataStack } from './data-stack.ts';
import { secretsOf } from './processors.ts';
import { SandboxStack } from './sandbox-stack.ts';
import { ServiceStack } from './service-stack.ts';
import { readSettings, type Settings } from './settings.ts';

interface PayonceStacks {
  readonly data: DataStack;
  readonly service: ServiceStack;
  readonly sandbox?: SandboxStack;
}

/**
 * @returns undefined with `archiveWriter`, because only the archive stack is then created
 * @throws Error for an invalid setting, with the given and the allowed values
 */
export function buildStacks(
  scope: Construct,
  {
    env,
    processors = PROCESSORS,
  }: { readonly env?: Environment; readonly processors?: readonly ProcessorContract[] } = {},
): PayonceStacks | undefined {
  const settings = readSettings(scope.node, processors);
  // Construct ids, and therefore logical ids, are the same in every environment.
  const named = (stack: keyof typeof StackName, description: string) => ({
    settings,
    description,
    stackName: stackNameOf(stack, settings.environment),
    ...defined({ env }),
  });
  const archive = archiveOf(scope, settings, named('archive', 'Payonce: archive of the Ledger'));
  if (settings.archiveWriter !== undefined) return undefined;
  const bucket = bucketOf(settings, archive);
  const archived = defined({ archiveBucket: bucket });
  const data = new DataStack(scope, StackName.data, { ...named('data', 'Payonce: tables'), ...archived });
  const service = {
    ...named('service', 'Payonce: API'),
    data,
    ...archived,
  };
  if (!settings.sandbox) {
    return { data, service: new ServiceStack(scope, StackName.service, service) };
  }
  const { callbacks, client } = secretsOf(data.processors, sandboxContract, 'test');
  const secret = client['accessKey'];
  if (secret === undefined) throw new Error('the sandbox has no secret');
  const sandbox = new SandboxStack(scope, StackName.sandbox, {
    ...named('sandbox', 'Payonce: sandbox processor'),
    data: { callbackSecret: callbacks, accessSecret: secret },
  });
  const ofSandbox = { sandbox: { url: sandbox.url, secret } };
  return { data, sandbox, service: new ServiceStack(scope, StackName.service, { ...service, ...ofSandbox }) };
}

/** Undefined if there is no archive or its bucket is in another account. */
function archiveOf(
  scope: Construct,
  { archive, archiveBucket, archiveWriter }: Settings,
  props: ArchiveStackProps,
): ArchiveStack | undefined {
  if (archiveWriter === undefined && (!archive || archiveBucket !== undefined)) return undefined;
  return new ArchiveStack(scope, StackName.archive, props);
}

function bucketOf({ archiveBucket }: Settings, archive: ArchiveStack | undefined): ArchiveBucket | undefined {
  if (archiveBucket !== undefined) return { name: archiveBucket, shown: archiveBucket };
  if (archive === undefined) return undefined;
  const [Region, OutputName] = [{ Ref: 'AWS::Region' }, 'PublishOutputRefBucket83908E770FF9A107'];
  const shown = JSON.stringify({ 'Fn::GetStackOutput': { StackName: archive.stackName, Region, OutputName } });
  return { name: archive.bucket.bucketName, shown };
}
