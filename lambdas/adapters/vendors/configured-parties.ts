import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import type { Mailer, ReferralProgram, StockKeeper } from '../../app/ports/order-parties.ts';
import type { Clock, Entropy } from '../../app/ports/world.ts';
import type { PartiesConfig } from '../../runtime/parties-config.ts';
import type { OutboundObserver } from './outbound-calls.ts';

/** Whom orders need beside the payment. */
export interface Parties {
  readonly stock: StockKeeper;
  readonly referrals: ReferralProgram;
  readonly mailer: Mailer;
}

export interface PartiesTools {
  readonly client: DynamoDBDocumentClient;
  readonly clock: Clock;
  readonly entropy: Entropy;
  /** `outboundTelemetry(<service name>)` in a function. */
  readonly observer: OutboundObserver;
}

/**
 * The parties as a function was deployed with them: `readPartiesConfig` says with which, or that there are none. One set
 * per process: breakers and retry budgets are its memory. The token is read from Secrets Manager when it is needed.
 *
 * What trying again cannot help (a TerminalError) of an e-mail, a credit or a release is set aside as a dead letter before
 * it is thrown, so that an operator can have it made again, once, when he has mended what is wrong. Everything else is
 * thrown only: whoever asked asks again, with the same operation, and it takes effect once.
 */
export async function configuredParties(_config: PartiesConfig, _tools: PartiesTools): Promise<Parties> {
  throw new Error('not built yet');
}
