import type { DynamoDBDocumentClient } from '@aws-sdk/lib-dynamodb';
import { OUTBOUND_SERVICE } from '../../kernel/contract/metrics.ts';
import { defined } from '../../kernel/defined.ts';
import type { Digest } from '../../kernel/digest.ts';
import { RetryableError } from '../../kernel/faults.ts';
import type { Mode } from '../../kernel/ids.ts';
import { ActiveSecrets } from '../../kernel/platform/active-secrets.ts';
import type { Instruments } from '../../kernel/platform/instruments.ts';
import type { Secrets } from '../../kernel/platform/secrets-manager.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import type { CallLimit, Clock, Entropy } from '../../kernel/world.ts';
import type { ExpiryOptions } from '../../once/domain/idempotency.ts';
import type { SendRequest } from '../../outbound/http-call.ts';
import type { OnGivenUp } from '../../outbound/outbound-calls.ts';
import { createOutboundPolicy, type OutboundPolicy } from '../../outbound/outbound-policy.ts';
import { outboundTelemetry } from '../../outbound/outbound-telemetry.ts';
import { signedCalls, withBearer } from '../../outbound/signed-calls.ts';
import { DynamoDbSendingClaims } from '../../outbound/store/dynamodb-sending-claims.ts';
import { deadLetterClient, SqsDeadLetterStore } from '../../outbound/store/sqs-dead-letter-store.ts';
import { type DeadLetter, type DeadLetterStore, storeOnce } from '../../outbound/use/dead-letters.ts';
import type { VendorName } from '../contract.ts';
import { DynamoDbEmailCounts } from '../store/dynamodb-email-counts.ts';
import type { OrderRedriveTools } from '../use/call-for-order-again.ts';
import type { Mailer, OrderEmail, ReferralProgram, StockKeeper } from '../use/order-parties.ts';
import { createBigCommerceStock, probeBigCommerce } from './bigcommerce-stock.ts';
import { createMailer } from './mailer.ts';
import { makeAgain, recordGivenUp } from './make-again.ts';
import { createPostmark, type EmailSender, probePostmark } from './postmark.ts';
import type { PartiesConfig } from './settings.ts';
import { probeShop } from './shop-call.ts';
import { CREDITS_PATH, createShopReferrals } from './shop-referrals.ts';
import { createShopStock, STOCK_PATH } from './shop-stock.ts';

export interface Parties {
  readonly stock: StockKeeper;
  readonly referrals: ReferralProgram;
  readonly mailer: Mailer;
  /**
   * The only mode in which orders are accepted: `test` if the sandbox simulates the external services, otherwise
   * `live`. A live shop must not reserve goods for a test-mode order.
   */
  readonly ordersOf: Mode;
}

export interface PartiesTools extends Queues, Secrets, Pick<ExpiryOptions, 'retention'> {
  readonly documents: DynamoDBDocumentClient;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly digest: Digest;
  readonly instruments: Instruments;
  readonly send: SendRequest;
}

/** A healthy service responds much sooner, and a request has time for several such calls. */
const CALL_TIMEOUT_MS = 5_000;

/**
 * Call this once per process, because the adapters contain the state of breakers and retry budgets. Tokens are read
 * from Secrets Manager when they are needed.
 *
 * When the attempts for an e-mail or a credit have failed, a delayed message triggers the last attempt. If it fails
 * too, or if a retry cannot help, the call is dead-lettered for an operator. An order waits for its reservation and its
 * release, so its driver retries these calls. A release that fails permanently at a shop with the API of shop-api.ts is
 * dead-lettered, too.
 */
export async function configuredParties(config: PartiesConfig, tools: PartiesTools): Promise<Parties> {
  const deadLetters = deadLetterStore(config, tools);
  const { stock, referrals, emails } = connect(config, { ...tools, deadLetters }, 'delay');
  const ordersOf = modeOf(config);
  const { clock, documents, instruments } = tools;
  const mailer = createMailer(emails, {
    clock,
    counts: new DynamoDbEmailCounts(documents, config.registryTable, tools, config.emailsPerRecipient),
    capped: reportCapped(instruments),
    givenUp: 'delay',
    isSandbox: ordersOf === 'test',
  });
  return { stock, referrals, mailer, ordersOf };
}

function modeOf({ secrets }: PartiesConfig): Mode {
  return 'sandbox' in secrets ? 'test' : 'live';
}

/**
 * Logs the tenant but not the recipient. (The count has no tenant dimension, because a metric per tenant would be
 * billed monthly for each tenant.)
 */
export function reportCapped(instruments: Instruments): (email: OrderEmail) => void {
  const logger = instruments.logger(OUTBOUND_SERVICE);
  return ({ tenantId, mode, operationId, orderId, tag }) => {
    logger.warn('email_capped', { tenantId, mode, operationId, tag, ...defined({ orderId }) });
    outboundTelemetry(instruments).count('postmark', 'outbound_capped');
  };
}

export interface Redrive {
  readonly deadLetters: DeadLetterStore;
  /** Makes the last attempt at a delayed call. */
  readonly makeLast: Redrive['makeAgain'];
  readonly recordGivenUp: (deadLetter: DeadLetter, id: string) => Promise<void>;
  readonly makeAgain: (deadLetter: DeadLetter, limit: CallLimit, id: string) => ReturnType<typeof makeAgain>;
}

/** If a redriven call fails, `makeAgain` throws, and the dead letter stays in its queue. */
export async function configuredRedrive(
  config: PartiesConfig,
  tools: PartiesTools & OrderRedriveTools,
): Promise<Redrive> {
  const deadLetters = deadLetterStore(config, tools);
  const common = { ...tools, ordersOf: modeOf(config) };
  const parties = { ...common, ...connect(config, { ...tools, deadLetters }, 'throw') };
  const last = { ...common, ...connect(config, { ...tools, deadLetters }, 'throw', []) };
  return {
    deadLetters,
    makeAgain: (deadLetter, limit, id) => makeAgain(parties, deadLetter, limit, id),
    makeLast: (deadLetter, limit, id) => makeAgain(last, deadLetter, limit, id),
    recordGivenUp: (deadLetter, id) => recordGivenUp(tools, deadLetter, id),
  };
}

function deadLetterStore(
  { deadLettersQueueUrl, delayedCallsQueueUrl }: PartiesConfig,
  tools: PartiesTools,
): DeadLetterStore {
  return new SqsDeadLetterStore(deadLetterClient(tools), deadLettersQueueUrl, delayedCallsQueueUrl);
}

interface Connected extends Pick<Parties, 'stock' | 'referrals'> {
  readonly emails: EmailSender;
}

function connect(
  config: PartiesConfig,
  tools: PartiesTools & { readonly deadLetters: DeadLetterStore },
  givenUp: OnGivenUp,
  waitsMs?: readonly number[],
): Connected {
  const { documents, clock, entropy, retention, send } = tools;
  const observer = outboundTelemetry(tools.instruments);
  const storedOnce = storeOnce(tools.deadLetters);
  const { shopUrl: url, secrets, postmark, registryTable } = config;
  const policyOf = (vendor: VendorName, probe: (limit: CallLimit) => Promise<void>): OutboundPolicy =>
    createOutboundPolicy({
      vendor,
      clock,
      entropy,
      observer,
      deadLetters: storedOnce,
      timeoutMs: CALL_TIMEOUT_MS,
      probe,
      ...defined({ waitsMs }),
    });
  const claimsOf = (vendor: VendorName) =>
    new DynamoDbSendingClaims(documents, registryTable, { clock, entropy, retention }, vendor);
  const shopOf = (sendToShop: SendRequest): Pick<Parties, 'stock' | 'referrals'> => {
    const shop = (vendor: 'stock' | 'referrals', path: string) => ({
      url,
      clock,
      send: sendToShop,
      givenUp,
      policy: policyOf(vendor, (limit) => probeShop(vendor, { url, path, send: sendToShop }, limit)),
    });
    return {
      stock: createShopStock(shop('stock', STOCK_PATH)),
      referrals: createShopReferrals({ ...shop('referrals', CREDITS_PATH), claims: claimsOf('referrals') }),
    };
  };
  const bigcommerce = (secretId: string, locationId: number): Pick<Parties, 'stock' | 'referrals'> => {
    const store = { url, token: secretOf(secretId, tools), send };
    const policy = policyOf('stock', (limit) => probeBigCommerce('stock', store, limit, clock.nowMs()));
    const stock = { ...store, locationId, policy, claims: claimsOf('stock'), deadLetters: storedOnce, clock, givenUp };
    return { stock: createBigCommerceStock(stock), referrals: NO_REFERRALS };
  };
  const theShop =
    'bigcommerceToken' in secrets
      ? bigcommerce(secrets.bigcommerceToken, secrets.locationId)
      : shopOf(
          'sandbox' in secrets
            ? withBearer(send, secretOf(secrets.sandbox, tools))
            : signedCalls(send, secretOf(secrets.shopSigningKey, tools), clock),
        );
  // The sandbox accepts its access secret as the token of the e-mail service.
  const token = secretOf('sandbox' in secrets ? secrets.sandbox : secrets.postmarkToken, tools);
  const access = { url: postmark.url, token, send };
  return {
    ...theShop,
    emails: createPostmark({
      ...access,
      from: postmark.from,
      ...(postmark.maxLagMs === undefined
        ? {}
        : // Set only for the sandbox, whose search is strongly consistent.
          { maxLagMs: postmark.maxLagMs, isStrong: true }),
      policy: policyOf('postmark', (limit) => probePostmark('postmark', access, limit)),
      claims: claimsOf('postmark'),
      clock,
    }),
  };
}

/** A BigCommerce store has no such program. */
export const NO_REFERRALS: ReferralProgram = { credit: async () => ({ kind: 'no_referral_program' }) };

/** If the secret has several values, returns the first. */
function secretOf(secretId: string, { secretsManager, clock }: PartiesTools): () => Promise<string> {
  let secrets: ActiveSecrets | undefined;
  return async () => {
    secrets ??= new ActiveSecrets(await secretsManager(), clock);
    const [first] = await secrets.active(secretId);
    if (first === undefined)
      throw new RetryableError(
        'party_secret_unavailable',
        'The Secrets Manager secret for an external service has no value.',
      );
    return first;
  };
}
