import type { RoutingRule } from '../kernel/contract/environment.ts';
import { OUTBOUND_SERVICE } from '../kernel/contract/metrics.ts';
import { codeOf, RetryableError } from '../kernel/faults.ts';
import type { Mode } from '../kernel/ids.ts';
import { invariant } from '../kernel/invariant.ts';
import { loadedOnce } from '../kernel/loaded-once.ts';
import type { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import type { Instruments } from '../kernel/platform/instruments.ts';
import type { Secrets } from '../kernel/platform/secrets-manager.ts';
import type { Clock } from '../kernel/world.ts';
import type { SendRequest } from '../outbound/http-call.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import type { ChooseProcessor, NoProcessor } from '../payments/use/pinned-processor.ts';
import type { Processor, ProcessorBooks } from '../payments/use/processor.ts';
import type { CallbackSource } from './contract.ts';
import type { ConnectedProcessor, ProcessorDescriptor } from './descriptor.ts';
import type { ReadEvent } from './event-body.ts';
import type { SignatureScheme } from './signatures/signature.ts';
import { signatureScheme } from './signatures/verify-callback.ts';

export interface ConfiguredProcessor {
  readonly processor: ProcessorDescriptor;
  readonly mode: Mode;
  /** Settings, keyed by their names in the processor's contract. */
  readonly settings: Readonly<Record<string, string>>;
  /** Secret ids in Secrets Manager, keyed by their names in the processor's contract. */
  readonly secretIds: Readonly<Record<string, string>>;
}

export interface ProcessorsConfig {
  readonly processors: readonly ConfiguredProcessor[];
  readonly routes: readonly RoutingRule[];
  /** True if a table with claims was lost, as in `ProcessorAbilities`. */
  readonly claimsLost?: boolean | undefined;
}

export interface Processors {
  /** Always a refusal, because there is no default processor. Only `choose` selects the processor of a payment. */
  readonly processor: NoProcessor;
  readonly processors: readonly Processor[];
  readonly books: readonly ProcessorBooks[];
  readonly choose: ChooseProcessor;
}

export interface ProcessorsPlatform extends Secrets {
  readonly clock: Clock;
  readonly instruments: Instruments;
  readonly send: SendRequest;
}

export interface ConnectTools extends Pick<ProcessorsPlatform, 'clock' | 'send'> {
  /** Reads secrets at each use, so that a rotated secret takes effect without a deployment. */
  readonly secrets: Pick<ActiveSecrets, 'active'>;
  readonly breakerOpened: (processor: string) => void;
  /**
   * Called with the processor's name and the fault each time a call fails without a response.
   * @default the fault is only thrown
   */
  readonly callFailed?: (processor: string, error: unknown) => void;
}

/** Secrets are read from Secrets Manager at first use. */
export async function configuredProcessors(
  config: ProcessorsConfig,
  { secretsManager, clock, instruments, send }: ProcessorsPlatform,
): Promise<Processors> {
  const telemetry = outboundTelemetry(instruments);
  // Load the Secrets Manager client at first use, so that a cold start does not load it.
  const known = loadedOnce(async () => {
    const { ActiveSecrets } = await import('../kernel/platform/secrets-manager.ts');
    return new ActiveSecrets(await secretsManager(), clock);
  });
  return connectProcessors(config, {
    clock,
    send,
    secrets: { active: async (id) => (await known()).active(id) },
    breakerOpened: (name) => telemetry.count(name, 'outbound_breaker_opened'),
    callFailed: (processor, error) => {
      // The system error or TLS error that made `fetch` fail, for example ECONNREFUSED.
      const { cause } = error as { readonly cause?: { readonly cause?: { readonly code?: unknown } } };
      instruments
        .logger(OUTBOUND_SERVICE)
        .warn('processor_call_failed', { processor, fault: codeOf(error), cause: cause?.cause?.code });
    },
  });
}

/**
 * Deployed code loads processors only through this function.
 *
 * @throws as `routing`, when `choose` is called
 */
export async function connectProcessors(
  { processors, routes, claimsLost }: ProcessorsConfig,
  tools: ConnectTools,
): Promise<Processors> {
  const all = await Promise.all(processors.map((each) => connect(each, tools)));
  const clients = all.map(({ client }) => ({ ...client, abilities: { ...client.abilities, claimsLost } }));
  return {
    processor: 'no_processor_for_payment',
    processors: clients,
    books: all.map(({ books }) => books),
    choose: routing(routes, clients),
  };
}

/**
 * Existing payments keep their processor.
 *
 * @throws (from the returned function) when a rule names a processor that is not used in the payment's mode
 */
export function routing(rules: readonly RoutingRule[], clients: readonly Processor[]): ChooseProcessor {
  return (payment) => {
    if (clients.length === 0) return 'no_processor_configured';
    const ofMode = clients.filter(({ mode }) => mode === payment.mode);
    if (ofMode.length === 0) return payment.mode === 'live' ? 'livemode_not_available' : 'no_processor_for_payment';
    const fits = ({ tenant, mode, currency }: RoutingRule): boolean =>
      mode === payment.mode &&
      (tenant === undefined || tenant === payment.tenantId) &&
      (currency === undefined || currency === payment.currency);
    const rule = rules.find(fits);
    if (rule === undefined) return 'no_processor_for_payment';
    const chosen = ofMode.find(({ name }) => name === rule.processor);
    invariant(
      chosen !== undefined,
      `a routing rule selects ${rule.processor}, which this deployment does not call in ${rule.mode} mode`,
    );
    return chosen;
  };
}

function connect(
  { processor, mode, settings, secretIds }: ConfiguredProcessor,
  { clock, send, secrets, breakerOpened, callFailed }: ConnectTools,
): Promise<ConnectedProcessor> {
  const reader = (secretId: string) => async (): Promise<string> => {
    const [secret] = await secrets.active(secretId);
    if (secret === undefined) throw new RetryableError('processor_key_unavailable', 'The secret contains no key.');
    return secret;
  };
  return processor.connect({
    mode,
    settings,
    secrets: Object.fromEntries(Object.entries(secretIds).map(([name, id]) => [name, reader(id)])),
    clock,
    send: (call) =>
      send(call).catch((error: unknown) => {
        callFailed?.(processor.name, error);
        throw error;
      }),
    onBreakerOpened: () => breakerOpened(processor.name),
  });
}

export interface ConfiguredSource extends CallbackSource {
  readonly signature: SignatureScheme;
  /** Parses the body of a callback whose signature was verified. */
  readonly readEvent: (body: Uint8Array) => ReadEvent;
  readonly books: ProcessorBooks;
}

/**
 * A callback only identifies the event and the charge; the charge itself is then read from the processor's books.
 *
 * @param processors the whole registry, because a source may use another processor's signature scheme
 */
export async function configuredSources(
  sources: readonly CallbackSource[],
  books: readonly ProcessorBooks[],
  processors: readonly ProcessorDescriptor[],
): Promise<readonly ConfiguredSource[]> {
  const configured = sources.map(async (source) => {
    const processor = processors.find(({ name }) => name === source.name);
    const own = books.find(({ name, mode }) => name === source.name && mode === source.mode);
    if (processor === undefined || own === undefined) return [];
    const [signature, readEvent] = await Promise.all([
      signatureScheme(source.scheme, processors),
      processor.eventReader(source.mode),
    ]);
    return [{ ...source, signature, readEvent, books: own }];
  });
  return (await Promise.all(configured)).flat();
}
