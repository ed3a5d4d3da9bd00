import type { RoutingRule } from '../kernel/contract/environment.ts';
import type { ProcessorName } from '../kernel/contract/metrics.ts';
import { invariant } from '../kernel/invariant.ts';
import type { Clock } from '../kernel/world.ts';
import { routeTo } from '../payments/domain/routing.ts';
import type { Processor, ProcessorBooks } from '../payments/use/processor.ts';
import { createSandboxBooks } from './sandbox/sandbox-books.ts';
import { createSandboxClient } from './sandbox/sandbox-client.ts';

export interface ProcessorsOptions {
  /** Of the processor that speaks the sandbox's protocol: without a trailing slash. */
  readonly sandboxUrl: string;
  readonly stripe?: {
    /** The account's secret key as it stands now. */
    readonly apiKey: () => Promise<string>;
    /** Whose key it is. */
    readonly account: string;
    /** Without a trailing slash. @default Stripe's own */
    readonly baseUrl?: string;
    readonly returnUrl?: string;
  };
  readonly routes: readonly RoutingRule[];
  readonly clock: Clock;
  /** Told of a processor that is left alone for a while, by its name. @default nobody is */
  readonly breakerOpened?: (processor: string) => void;
}

/** The processors that this deployment calls, with the rule for new payments. */
export interface Processors {
  /** Where a new payment goes when no rule says otherwise. */
  readonly processor: Processor;
  readonly others: readonly Processor[];
  readonly books: readonly ProcessorBooks[];
  readonly choose: (payment: Parameters<typeof routeTo>[1]) => Processor;
}

/** Stripe's package takes longer to load than all the rest: it is loaded where Stripe is called, and nowhere else. */
export async function createProcessors({
  sandboxUrl,
  stripe,
  routes,
  clock,
  breakerOpened = () => {},
}: ProcessorsOptions): Promise<Processors> {
  const told = (processor: ProcessorName) => ({ onBreakerOpened: () => breakerOpened(processor) });
  const sandbox = createSandboxClient({ url: sandboxUrl, clock, ...told('sandbox') });
  const others: Processor[] = [];
  const books: ProcessorBooks[] = [createSandboxBooks({ url: sandboxUrl, clock })];
  if (stripe !== undefined) {
    const [{ createStripeClient }, { createStripeBooks }] = await Promise.all([
      import('./stripe/stripe-client.ts'),
      import('./stripe/stripe-books.ts'),
    ]);
    others.push(createStripeClient({ ...stripe, clock, ...told('stripe') }));
    books.push(createStripeBooks({ ...stripe, clock }));
  }
  return {
    processor: sandbox,
    others,
    books,
    choose: (payment) => {
      const name = routeTo(routes, payment, sandbox.name);
      const chosen = [sandbox, ...others].find((each) => each.name === name);
      invariant(chosen !== undefined, `a rule sends payments to ${name}, which this deployment does not call`);
      return chosen;
    },
  };
}
