import type { Mode } from '../../lambdas/kernel/ids.ts';
import type { SendRequest } from '../../lambdas/outbound/http-call.ts';
import type { Processor } from '../../lambdas/payments/use/processor.ts';
import { createStripeClient } from '../../lambdas/processors/stripe/stripe-client.ts';
import { DOUBLE_KEY } from './stripe-double.ts';

interface ClientChanges {
  readonly clock?: { nowMs(): number };
  readonly mode?: Mode;
  readonly apiKey?: () => Promise<string>;
  readonly returnUrl?: string;
  readonly send?: SendRequest;
  readonly breaker?: { readonly consecutiveFailures: number; readonly openForMs: number };
}

export function clientAt(baseUrl: string, changes: ClientChanges = {}): Processor {
  return createStripeClient({
    apiKey: async () => DOUBLE_KEY,
    mode: 'test',
    account: 'acct_double',
    clock: { nowMs: () => 1_767_225_600_000 },
    baseUrl,
    ...changes,
  });
}
