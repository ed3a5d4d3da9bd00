import { readFileSync } from 'node:fs';
import type { Environment } from 'aws-cdk-lib';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { EventConsumer, type EventConsumerProps } from './constructs/event-consumer.ts';
import type { DataStack } from './data-stack.ts';
import type { SandboxStack } from './sandbox-stack.ts';
import type { ServiceStack } from './service-stack.ts';
import type { ProcessorProps } from './settings/processors.ts';
import { PREFIX } from './settings/rules.ts';
import type { Settings } from './settings.ts';
import { buildStacks } from './stacks.ts';

/**
 * The settings of a deployment. In CDK context, their names begin with `payonce:` (docs/operate/first-deploy.md). A
 * missing setting is read from the context of the app; if it is absent there too, the default applies.
 */
export interface PayonceProps
  extends Partial<Omit<Settings, 'archiveWriter' | 'processors' | 'routes'>>,
    ProcessorProps {
  /**
   * The account and region of the stacks.
   * @default the account and region of the credentials used to deploy
   */
  readonly env?: Environment;
}

/** A consumer of Payonce's events in your own code. */
export interface AddConsumerProps extends Pick<EventConsumerProps, 'events' | 'metadata' | 'concurrency'> {
  /**
   * The consumer's function. Its handler must be created with `createEventHandler` of `payonce/events`, with the same
   * `events`. Its timeout is at most 30 seconds.
   */
  readonly function: Function;
}

/**
 * A deployment of Payonce in an app: the stacks `PayonceData` and `PayonceService`, with `sandbox` also
 * `PayonceSandbox`, and with `archive` also `PayonceArchive`, each prefixed with the name of the environment. Create
 * one for each environment. The package contains the bundled functions, so no bundler runs.
 */
export class Payonce extends Construct {
  /** The stateful resources: the tables, the secrets, and the event bus `data.events.bus`. */
  readonly data: DataStack;
  /** The API and its functions. */
  readonly service: ServiceStack;
  /** The sandbox processor, if it is deployed. */
  readonly sandbox?: SandboxStack;

  /** @throws Error for an invalid setting, with the given and the allowed values */
  constructor(scope: Construct, id: string, { env, ...settings }: PayonceProps = {}) {
    super(scope, id);
    // These flags make the templates equal to those that Payonce's tests deploy, regardless of the app's own feature
    // flags.
    for (const [name, value] of Object.entries(flags())) this.node.setContext(name, value);
    for (const [name, value] of Object.entries(settings))
      if (value !== undefined) this.node.setContext(`${PREFIX}${name}`, value);
    const stacks = buildStacks(this, env === undefined ? {} : { env });
    if (stacks === undefined)
      throw new Error(`${PREFIX}archiveWriter is only for the archive of another account: use ArchiveStack`);
    const { data, service, sandbox } = stacks;
    this.data = data;
    this.service = service;
    if (sandbox !== undefined) this.sandbox = sandbox;
  }

  /**
   * Delivers events to a function through a rule and a queue. The queue and its dead-letter queue have alarms.
   * @param scope a stack of your app
   */
  addConsumer(scope: Construct, id: string, { function: made, ...props }: AddConsumerProps): EventConsumer {
    const { role } = made;
    if (role === undefined)
      throw new Error(`${id}: its function has no role, so it cannot be allowed to read its queue`);
    return new EventConsumer(scope, id, { ...props, consumer: { function: made, role }, bus: this.data.events.bus });
  }
}

function flags(): Readonly<Record<string, unknown>> {
  const { context } = JSON.parse(readFileSync(new URL('../cdk.json', import.meta.url), 'utf8')) as {
    readonly context: Readonly<Record<string, unknown>>;
  };
  return context;
}
