import { Duration } from 'aws-cdk-lib';
import type { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { REDRIVE_TIMEOUT_MINUTES, SANDBOX_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { PartiesEnvironment } from '../lambdas/orders/contract.ts';
import type { DeadLetterQueue } from './constructs/dead-letter-queue.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import type { ProcessorSecret } from './constructs/processor-secret.ts';
import type { Registry } from './constructs/registry.ts';
import { TaskQueue } from './constructs/task-queue.ts';

export interface PartiesProps {
  readonly addresses: PartyAddresses;
  /** Stores the claims for calls to vendors that do not deduplicate. */
  readonly registry: Registry;
  /** Maximum number of e-mails to one recipient from one tenant in one mode on one day. */
  readonly emailsPerRecipient: number;
  /** Dead-letter queue of calls that were given up. */
  readonly deadLetters: DeadLetterQueue;
}

/** The addresses of the parties of orders and the secrets to call them. */
type PartyAddresses =
  /** The sandbox simulates all parties. @param sandboxUrl without a trailing slash */
  | { readonly sandboxUrl: string; readonly sandboxSecret: ProcessorSecret }
  | (RealShop & {
      /** The sender address of e-mails, verified at Postmark. */
      readonly emailSender: string;
      /** The token of the Postmark server. */
      readonly postmarkToken: ProcessorSecret;
    });

type RealShop =
  | {
      /**
       * Base address of the shop's API for stock and referrals (lambdas/orders/parties/shop-api.ts), without a trailing
       * slash.
       */
      readonly shopUrl: string;
      /** The secret that signs the calls to the shop. */
      readonly shopSigningKey: ProcessorSecret;
    }
  | {
      /** The API address of the BigCommerce store, without a trailing slash. The stock is this store's inventory. */
      readonly storeUrl: string;
      readonly bigcommerceToken: ProcessorSecret;
      readonly bigcommerceLocation: number;
    };

const POSTMARK_URL = 'https://api.postmarkapp.com';

/** Sender address in the sandbox, in a reserved domain that receives no e-mail (RFC 2606). */
const SANDBOX_SENDER = 'shop@payonce.example';

/**
 * Time in seconds after which the sandbox's search finds every e-mail that the sandbox accepted: by then, the function
 * that accepted the e-mail has ended, and the search is strongly consistent.
 */
const SANDBOX_LAG_SECONDS = SANDBOX_TIMEOUT_SECONDS + 1;

/** External services of orders: stock, referrals and e-mail. */
export class Parties extends Construct {
  /** Dead-letter queue of vendor calls that were given up. */
  readonly deadLetters: DeadLetterQueue;
  /** Queue of calls that the calling process gave up. Each call gets one last attempt half a minute later. */
  readonly delayedCalls: Queue;
  readonly #props: PartiesProps;

  constructor(scope: Construct, id: string, props: PartiesProps) {
    super(scope, id);
    this.#props = props;
    this.deadLetters = props.deadLetters;
    const { queue } = new TaskQueue(this, 'DelayedCalls', {
      handlerTimeout: Duration.minutes(REDRIVE_TIMEOUT_MINUTES),
      // A call that must wait because a breaker is open, or because of a Retry-After, is redelivered after this time.
      // AWS recommends six times the timeout for throttled functions, but that would be half an hour. If a call is
      // redelivered while it is in progress, its claim prevents a second call.
      hiddenFor: Duration.minutes(REDRIVE_TIMEOUT_MINUTES + 1),
      deadLetters: props.deadLetters,
    });
    this.delayedCalls = queue;
  }

  /**
   * Allows `grantee` to call the parties. Gives it the addresses, the secrets, and access to the claims, the queue of
   * delayed calls and the dead-letter queue. Sets the environment that `readPartiesConfig` reads.
   */
  grantCall(grantee: PayonceFunction): void {
    const { addresses, registry, emailsPerRecipient, deadLetters } = this.#props;
    grantee.setEnvironment({
      ...variablesOf(addresses),
      [Environment.registryTable]: registry.tableName,
      [PartiesEnvironment.emailsPerRecipient]: String(emailsPerRecipient),
      [PartiesEnvironment.deadLettersQueueUrl]: deadLetters.queueUrl,
      [PartiesEnvironment.delayedCallsQueueUrl]: this.delayedCalls.queueUrl,
    });
    if ('sandboxSecret' in addresses) addresses.sandboxSecret.grantReadTo(grantee);
    if ('postmarkToken' in addresses) {
      addresses.postmarkToken.grantReadTo(grantee);
      const secret = 'storeUrl' in addresses ? addresses.bigcommerceToken : addresses.shopSigningKey;
      secret.grantReadTo(grantee);
    }
    const actions = ['dynamodb:PutItem', 'dynamodb:UpdateItem', 'dynamodb:DeleteItem'];
    registry.grantRows(grantee, 'RememberWhatWasSent', actions, [RegistryRow.sending]);
    grantee.allow('DeadLetter', 'sqs:SendMessage', deadLetters.queueArn, this.delayedCalls.queueArn);
  }

  /**
   * Allows `grantee` to call the parties and to count the e-mails that it sends. A redriven e-mail is not counted
   * again, because its first attempt was counted.
   */
  grantSend(grantee: PayonceFunction): void {
    this.grantCall(grantee);
    const counts = [RegistryRow.emailCount];
    this.#props.registry.grantRows(grantee, 'CountEmails', ['dynamodb:UpdateItem'], counts);
  }
}

function variablesOf(addresses: PartyAddresses): Readonly<Record<string, string>> {
  if ('sandboxUrl' in addresses) {
    return {
      [PartiesEnvironment.shopUrl]: addresses.sandboxUrl,
      [PartiesEnvironment.postmarkUrl]: addresses.sandboxUrl,
      [PartiesEnvironment.sandboxSecretId]: addresses.sandboxSecret.arn,
      [PartiesEnvironment.postmarkLagSeconds]: String(SANDBOX_LAG_SECONDS),
      [PartiesEnvironment.emailSender]: SANDBOX_SENDER,
    };
  }
  const ofShop =
    'storeUrl' in addresses
      ? {
          [PartiesEnvironment.shopUrl]: addresses.storeUrl,
          [PartiesEnvironment.bigcommerceTokenSecretId]: addresses.bigcommerceToken.arn,
          [PartiesEnvironment.bigcommerceLocation]: String(addresses.bigcommerceLocation),
        }
      : {
          [PartiesEnvironment.shopUrl]: addresses.shopUrl,
          [PartiesEnvironment.shopSigningKeySecretId]: addresses.shopSigningKey.arn,
        };
  return {
    ...ofShop,
    [PartiesEnvironment.postmarkUrl]: POSTMARK_URL,
    [PartiesEnvironment.postmarkTokenSecretId]: addresses.postmarkToken.arn,
    [PartiesEnvironment.emailSender]: addresses.emailSender,
  };
}
