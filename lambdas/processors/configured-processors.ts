import type { RoutingRule } from '../kernel/contract/environment.ts';
import { RetryableError } from '../kernel/faults.ts';
import { invariant } from '../kernel/invariant.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { secretsManager } from '../kernel/platform/secrets-manager.ts';
import type { Clock } from '../kernel/world.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import { routeTo } from '../payments/domain/routing.ts';
import type { Processor, ProcessorBooks } from '../payments/use/processor.ts';
import type { CallbackSource } from './contract.ts';
import type { ConnectedProcessor, ProcessorDescriptor } from './descriptor.ts';
import type { ReadEvent } from './event-body.ts';
import type { SignatureScheme } from './signatures/signature.ts';
import { signatureScheme } from './signatures/verify-callback.ts';

/** A processor that this deployment calls, and what was chosen for it. */
export interface ConfiguredProcessor {
  readonly processor: ProcessorDescriptor;
  /** By their names in its contract. */
  readonly settings: Readonly<Record<string, string>>;
  /** In Secrets Manager, by their names in its contract. */
  readonly secretIds: Readonly<Record<string, string>>;
}

export interface ProcessorsConfig {
  /** The first takes the payments that no rule sends elsewhere. */
  readonly processors: readonly ConfiguredProcessor[];
  readonly routes: readonly RoutingRule[];
}

/** The processors that this deployment calls, with the rule for new payments. */
export interface Processors {
  /** Where a new payment goes when no rule says otherwise. */
  readonly processor: Processor;
  readonly others: readonly Processor[];
  readonly books: readonly ProcessorBooks[];
  readonly choose: (payment: Parameters<typeof routeTo>[1]) => Processor;
}

/** What processors are connected with. */
export interface ConnectTools {
  readonly clock: Clock;
  /** Asked for a secret each time that it is needed, so that a rotated one works at once. */
  readonly secrets: Pick<ActiveSecrets, 'active'>;
  /** Told of a processor that is left alone for a while, by its name. */
  readonly breakerOpened: (processor: string) => void;
}

/** The processors as a function was deployed with them; secrets are read from Secrets Manager when they are needed. */
export async function configuredProcessors(config: ProcessorsConfig, clock: Clock): Promise<Processors> {
  const telemetry = outboundTelemetry();
  // Most deployments call nobody who has a key: then no client is made.
  let known: ActiveSecrets | undefined;
  return connectProcessors(config, {
    clock,
    secrets: { active: (id) => (known ??= new ActiveSecrets(secretsManager(), clock)).active(id) },
    breakerOpened: (name) => telemetry.count(name, 'outbound_breaker_opened'),
  });
}

/** The code of each processor is loaded here, where it is called, and nowhere else. */
export async function connectProcessors(
  { processors, routes }: ProcessorsConfig,
  tools: ConnectTools,
): Promise<Processors> {
  const [first, ...others] = await Promise.all(processors.map((each) => connect(each, tools)));
  invariant(first !== undefined, 'a deployment calls at least one processor');
  const all = [first, ...others];
  return {
    processor: first.client,
    others: others.map(({ client }) => client),
    books: all.map(({ books }) => books),
    choose: (payment) => {
      const name = routeTo(routes, payment, first.client.name);
      const chosen = all.find(({ client }) => client.name === name);
      invariant(chosen !== undefined, `a rule sends payments to ${name}, which this deployment does not call`);
      return chosen.client;
    },
  };
}

function connect(
  { processor, settings, secretIds }: ConfiguredProcessor,
  { clock, secrets, breakerOpened }: ConnectTools,
): Promise<ConnectedProcessor> {
  const reader = (secretId: string) => async (): Promise<string> => {
    const [secret] = await secrets.active(secretId);
    if (secret === undefined) throw new RetryableError('processor_key_unavailable', 'the secret holds no key');
    return secret;
  };
  return processor.connect({
    settings,
    secrets: Object.fromEntries(Object.entries(secretIds).map(([name, id]) => [name, reader(id)])),
    clock,
    onBreakerOpened: () => breakerOpened(processor.name),
  });
}

/** A source of callbacks with all that its callbacks are taken by. */
export interface ConfiguredSource extends CallbackSource {
  readonly signature: SignatureScheme;
  /** Reads a body whose signature is good. */
  readonly readEvent: (body: Uint8Array) => ReadEvent;
  readonly books: ProcessorBooks;
}

/**
 * The sources whose processors this deployment calls: a callback is verified in the books of its processor.
 *
 * @param processors all of the registry: a source may sign by the scheme of another one
 */
export async function configuredSources(
  sources: readonly CallbackSource[],
  books: readonly ProcessorBooks[],
  processors: readonly ProcessorDescriptor[],
): Promise<readonly ConfiguredSource[]> {
  const configured = sources.map(async (source) => {
    const processor = processors.find(({ name }) => name === source.name);
    const own = books.find(({ name }) => name === source.name);
    if (processor === undefined || own === undefined) return [];
    const [signature, readEvent] = await Promise.all([
      signatureScheme(source.scheme, processors),
      processor.eventReader(),
    ]);
    return [{ ...source, signature, readEvent, books: own }];
  });
  return (await Promise.all(configured)).flat();
}
