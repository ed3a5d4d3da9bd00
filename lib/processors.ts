import { Duration, Validations } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Environment, type RoutingRule } from '../lambdas/kernel/contract/environment.ts';
import { type CallbackSource, inMode, type ProcessorContract } from '../lambdas/processors/contract.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import { vendorMetric } from './constructs/payonce-metric.ts';
import { ProcessorSecret } from './constructs/processor-secret.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { CalledProcessor, Mode } from './settings/processors.ts';

export interface ProcessorSecrets {
  /** The signing secret of the processor's callbacks. */
  readonly callbacks: ProcessorSecret;
  /** The secrets of the processor's API client, by their names in the processor's contract. */
  readonly client: Readonly<Record<string, ProcessorSecret>>;
}

/** Secrets by processor name and mode. */
export type SecretsOfProcessors = ReadonlyMap<string, ProcessorSecrets>;

/** The operator sets the values that a processor issues. */
export function processorSecrets(
  scope: Construct,
  called: readonly CalledProcessor[],
  retain: boolean,
): SecretsOfProcessors {
  const made = (construct: string, description: string, mode: Mode, issued = false) =>
    new ProcessorSecret(scope, inMode(construct, mode), {
      description: `${description} For ${mode} mode.`,
      retain,
      issued,
    });
  return new Map(
    called.map(({ processor: { name, callbacks, secrets }, mode }) => [
      keyOf(name, mode),
      {
        callbacks: made(
          callbacks.secret,
          `Signing key for the callbacks of ${name}. A signature with any of the values is accepted.`,
          mode,
          callbacks.issued,
        ),
        client: Object.fromEntries(
          Object.entries(secrets).map(([secret, { construct, description, issued }]) => [
            secret,
            made(construct, `${name}: ${description}`, mode, issued),
          ]),
        ),
      },
    ]),
  );
}

export function secretsOf(
  secrets: SecretsOfProcessors,
  { name }: Pick<ProcessorContract, 'name'>,
  mode: Mode,
): ProcessorSecrets {
  const found = secrets.get(keyOf(name, mode));
  if (found === undefined) throw new Error(`the processor ${name} is not called in ${mode} mode, so it has no secrets`);
  return found;
}

function keyOf(name: string, mode: Mode): string {
  return `${name}/${mode}`;
}

export interface ProcessorsProps {
  /** The processors that this deployment calls, with their modes. */
  readonly called: readonly CalledProcessor[];
  readonly secrets: SecretsOfProcessors;
  /** Routing rules for new payments. The first matching rule applies. A payment that matches no rule is refused. */
  readonly routes: readonly RoutingRule[];
  /**
   * Whether idempotency records were lost with a table. If so, each first send is preceded by a look-up at the
   * processor.
   * @default false
   */
  readonly claimsLost?: boolean;
  /**
   * The base address of the sandbox, without a trailing slash.
   * @default the sandbox is not deployed
   */
  readonly sandbox?: { readonly url: string };
}

const PERIOD = Duration.minutes(5);

/**
 * The processors of a deployment: the permissions to call them and to verify their callbacks, and one alarm per
 * processor that is raised when the processor becomes unavailable.
 */
export class Processors extends Construct {
  readonly names: readonly string[];
  readonly #props: ProcessorsProps;

  /** @throws Error when a routing rule names a processor that is not configured for the mode of the rule */
  constructor(scope: Construct, id: string, props: ProcessorsProps) {
    super(scope, id);
    this.#props = props;
    this.names = [...new Set(props.called.map(({ processor }) => processor.name))];
    const isCalled = (route: RoutingRule) =>
      props.called.some(({ processor, mode }) => processor.name === route.processor && mode === route.mode);
    const lost = props.routes.find((route) => !isCalled(route));
    if (lost !== undefined) {
      throw new Error(
        `a routing rule names the processor ${lost.processor}, which is not configured for ${lost.mode} mode`,
      );
    }
    const unasked = props.called.find(({ processor }) => processor.abilities.lookup.kind === 'none');
    if (props.claimsLost === true && unasked !== undefined) {
      Validations.of(this).addWarning(
        'payonce:claimsLost',
        `${unasked.processor.name} has no look-up, so with payonce:claimsLost nothing is sent to it, and each of its payments and changes ends in review`,
      );
    }
    for (const name of this.names) {
      new RunbookAlarm(this, `${name}-BreakerOpened`, {
        description: `The circuit breaker of the processor ${name} opened because calls fail.`,
        entry: 'payments.md#a-processor-is-unavailable',
        metric: vendorMetric(name, 'outbound_breaker_opened', PERIOD),
        threshold: 1,
      });
    }
  }

  /**
   * Sets the processor variables that `readPaymentsConfig` reads, and allows `grantee` to read the clients' secrets.
   */
  grantCall(grantee: PayonceFunction): void {
    this.grantChange(grantee);
    grantee.setEnvironment({ [Environment.processorRoutes]: JSON.stringify(this.#props.routes) });
  }

  /**
   * Sets the same variables and grants the same permissions as `grantCall`, except for the routes. Use it for a
   * function that starts no payments.
   */
  grantChange(grantee: PayonceFunction): void {
    this.grantReadBooks(grantee);
    if (this.#props.claimsLost === true) grantee.setEnvironment({ [Environment.claimsLost]: 'true' });
  }

  /**
   * Sets the same variables and grants the same permissions as `grantCall`, except for the routes and `claimsLost`. Use
   * it for a function that neither starts nor changes payments.
   */
  grantReadBooks(grantee: PayonceFunction): void {
    const { called, secrets, ...stacks } = this.#props;
    for (const { processor, mode, settings } of called) {
      const given = processor.deployedBy === undefined ? undefined : stacks[processor.deployedBy];
      const values: Readonly<Record<string, string | undefined>> = { ...settings, ...given };
      for (const [name, { variable }] of Object.entries(processor.settings)) {
        const value = values[name];
        if (value !== undefined) grantee.setEnvironment({ [inMode(variable, mode)]: value });
      }
      const { client } = secretsOf(secrets, processor, mode);
      for (const [name, { variable }] of Object.entries(processor.secrets)) {
        const secret = client[name];
        if (secret === undefined) throw new Error(`the processor ${processor.name} has no secret ${name}`);
        grantee.setEnvironment({ [inMode(variable, mode)]: secret.arn });
        secret.grantReadTo(grantee);
      }
    }
  }

  /**
   * Allows `grantee` to verify callbacks: sets the callback sources, and grants read access to their signing secrets.
   */
  grantVerifyCallbacks(grantee: PayonceFunction): void {
    const { called, secrets } = this.#props;
    const sources = called.map(({ processor, mode, scheme }): CallbackSource => {
      const { callbacks } = secretsOf(secrets, processor, mode);
      callbacks.grantReadTo(grantee);
      return { name: processor.name, mode, scheme, secretId: callbacks.arn };
    });
    grantee.setEnvironment({ [Environment.callbackSources]: JSON.stringify(sources) });
  }
}
