import type { RoutingRule } from '../kernel/contract/environment.ts';
import { RetryableError } from '../kernel/faults.ts';
import { ActiveSecrets } from '../kernel/platform/active-secrets.ts';
import { secretsManager } from '../kernel/platform/secrets-manager.ts';
import type { Clock } from '../kernel/world.ts';
import { outboundTelemetry } from '../outbound/outbound-telemetry.ts';
import { createProcessors, type Processors } from './processors.ts';

export interface ConfiguredProcessors {
  readonly processorUrl: string;
  readonly stripe?: { readonly keySecretId: string; readonly account: string; readonly returnUrl?: string };
  readonly routes: readonly RoutingRule[];
}

/** The processors as a function was deployed with them; keys are read from Secrets Manager when they are needed. */
export async function configuredProcessors(config: ConfiguredProcessors, clock: Clock): Promise<Processors> {
  const { processorUrl: sandboxUrl, stripe, routes } = config;
  const telemetry = outboundTelemetry();
  const breakerOpened = (name: string): void => telemetry.count(name, 'outbound_breaker_opened');
  if (stripe === undefined) return createProcessors({ sandboxUrl, routes, clock, breakerOpened });
  const secrets = new ActiveSecrets(secretsManager(), clock);
  const { keySecretId, ...account } = stripe;
  const apiKey = async (): Promise<string> => {
    const [key] = await secrets.active(keySecretId);
    if (key === undefined) throw new RetryableError('processor_key_unavailable', 'the secret holds no key');
    return key;
  };
  return createProcessors({ sandboxUrl, stripe: { ...account, apiKey }, routes, clock, breakerOpened });
}
