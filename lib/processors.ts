import type { Role } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import type { CallbackSource, ProcessorContract, SecretConstruct } from '../lambdas/processors/contract.ts';
import { ProcessorSecret } from './constructs/processor-secret.ts';
import type { CalledProcessor, Settings } from './settings.ts';

/** The secrets of a processor that is called. */
export interface ProcessorSecrets {
  /** What its callbacks are signed with. */
  readonly callbacks: ProcessorSecret;
  /** What its client needs, by their names in its contract. */
  readonly client: Readonly<Record<string, ProcessorSecret>>;
}

/** By the processor's name. */
export type SecretsOfProcessors = ReadonlyMap<string, ProcessorSecrets>;

/** Makes the secrets of the processors that are called; the operator puts in what a processor gives out. */
export function processorSecrets(
  scope: Construct,
  called: readonly CalledProcessor[],
  retain: boolean,
): SecretsOfProcessors {
  const made = ({ construct, description }: SecretConstruct) =>
    new ProcessorSecret(scope, construct, { description, retain });
  return new Map(
    called.map(({ processor: { name, callbacks, secrets } }) => [
      name,
      {
        callbacks: made(callbacks.secret),
        client: Object.fromEntries(Object.entries(secrets).map(([secret, setting]) => [secret, made(setting)])),
      },
    ]),
  );
}

/** @throws Error when the processor is not called */
export function secretsOf(secrets: SecretsOfProcessors, { name }: Pick<ProcessorContract, 'name'>): ProcessorSecrets {
  const found = secrets.get(name);
  if (found === undefined) throw new Error(`the processor ${name} is not called, so it has no secrets`);
  return found;
}

/** What the functions are told of processors, and may read of their secrets. */
export interface ProcessorParts {
  readonly settings: Pick<Settings, 'processors' | 'routes'>;
  readonly data: { readonly processors: SecretsOfProcessors };
  /** The sandbox, where it is deployed. */
  readonly sandbox?: { readonly url: string };
}

/** What `readPaymentsConfig` reads of processors: their settings, the names of their secrets, and the rules for new payments. */
export function processorEnvironment({ settings, data, ...stacks }: ProcessorParts): Record<string, string> {
  const variables = settings.processors.flatMap(({ processor, settings: chosen }) => {
    const given = processor.deployedBy === undefined ? undefined : stacks[processor.deployedBy];
    const values: Readonly<Record<string, string | undefined>> = { ...chosen, ...given };
    const { client } = secretsOf(data.processors, processor);
    return [
      ...Object.entries(processor.settings).map(([name, { variable }]) => [variable, values[name]] as const),
      ...Object.entries(processor.secrets).map(([name, { variable }]) => [variable, client[name]?.arn] as const),
    ];
  });
  const set = variables.filter((each): each is readonly [string, string] => each[1] !== undefined);
  return { ...Object.fromEntries(set), [Environment.processorRoutes]: JSON.stringify(settings.routes) };
}

/** Lets a function read what the clients of processors need. */
export function grantClientSecrets({ data }: ProcessorParts, role: Role): void {
  for (const { client } of data.processors.values()) {
    for (const secret of Object.values(client)) secret.grantReadTo(role);
  }
}

/** Lets the callbacks function read what callbacks are signed with. */
export function grantCallbackSecrets({ data }: ProcessorParts, role: Role): void {
  for (const { callbacks } of data.processors.values()) callbacks.grantReadTo(role);
}

/** What `readCallbacksConfig` reads: whose callbacks are taken, and how they are verified. */
export function callbackSources({ settings, data }: ProcessorParts): readonly CallbackSource[] {
  return settings.processors.map(({ processor, scheme }) => {
    return { name: processor.name, scheme, secretId: secretsOf(data.processors, processor).callbacks.arn };
  });
}
