import * as z from 'zod';
import { Environment } from '../../kernel/contract/environment.ts';
import {
  baseUrl,
  queueUrl,
  readVariables,
  secretId,
  tableName,
  type Variables,
} from '../../kernel/platform/variables.ts';
import { PartiesEnvironment } from '../contract.ts';

export interface PartiesConfig {
  /** Base address of the stock service and referral program, or of the BigCommerce store, without a trailing slash. */
  readonly shopUrl: string;
  /**
   * Ids of secrets in Secrets Manager: either the access secret of the sandbox, or the Postmark token together with the
   * shop's signing key or the BigCommerce token. `locationId` is not a secret: it is the location whose inventory is
   * adjusted.
   */
  readonly secrets:
    | { readonly sandbox: string }
    | { readonly shopSigningKey: string; readonly postmarkToken: string }
    | { readonly bigcommerceToken: string; readonly locationId: number; readonly postmarkToken: string };
  readonly postmark: {
    /** Without a trailing slash. */
    readonly url: string;
    readonly from: string;
    /**
     * Maximum time until the mailer's search finds an e-mail that was sent, in milliseconds. Set only for the sandbox,
     * whose search is strongly consistent.
     * @default none: the mailer is Postmark
     */
    readonly maxLagMs?: number;
  };
  /** Per day (UTC), recipient, tenant and mode. */
  readonly emailsPerRecipient: number;
  /** The table of sending claims and e-mail counts. */
  readonly registryTable: string;
  readonly deadLettersQueueUrl: string;
  readonly delayedCallsQueueUrl: string;
}

const partiesEnvironment = z.object({
  [PartiesEnvironment.shopUrl]: baseUrl,
  [PartiesEnvironment.sandboxSecretId]: secretId.exactOptional(),
  [PartiesEnvironment.shopSigningKeySecretId]: secretId.exactOptional(),
  [PartiesEnvironment.bigcommerceTokenSecretId]: secretId.exactOptional(),
  [PartiesEnvironment.bigcommerceLocation]: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, 'must be the id of a location')
    .transform(Number)
    .exactOptional(),
  [PartiesEnvironment.postmarkUrl]: baseUrl,
  [PartiesEnvironment.postmarkTokenSecretId]: secretId.exactOptional(),
  [PartiesEnvironment.postmarkLagSeconds]: z
    .string()
    .regex(/^\d{1,5}$/, 'must be whole seconds')
    .transform(Number)
    .exactOptional(),
  [PartiesEnvironment.emailSender]: z.email('must be an e-mail address'),
  [PartiesEnvironment.emailsPerRecipient]: z
    .string('is not set')
    .regex(/^[1-9]\d{0,2}$/, 'must be a whole number from 1 to 999')
    .transform(Number),
  [PartiesEnvironment.deadLettersQueueUrl]: queueUrl,
  [PartiesEnvironment.delayedCallsQueueUrl]: queueUrl,
  [Environment.registryTable]: tableName,
});

/**
 * Call this once, at startup.
 *
 * @returns undefined when none of the variables is set: this deployment accepts no orders
 * @throws Error that names the missing or wrong variable
 */
export function readPartiesConfig(environment: Variables): PartiesConfig | undefined {
  if (Object.values(PartiesEnvironment).every((variable) => environment[variable] === undefined)) return undefined;
  const data = readVariables(partiesEnvironment, environment);
  const lagSeconds = data[PartiesEnvironment.postmarkLagSeconds];
  return {
    shopUrl: data[PartiesEnvironment.shopUrl],
    secrets: secretsOf(data),
    postmark: {
      url: data[PartiesEnvironment.postmarkUrl],
      from: data[PartiesEnvironment.emailSender],
      ...(lagSeconds === undefined ? {} : { maxLagMs: lagSeconds * 1_000 }),
    },
    emailsPerRecipient: data[PartiesEnvironment.emailsPerRecipient],
    registryTable: data[Environment.registryTable],
    deadLettersQueueUrl: data[PartiesEnvironment.deadLettersQueueUrl],
    delayedCallsQueueUrl: data[PartiesEnvironment.delayedCallsQueueUrl],
  };
}

function secretsOf(data: z.infer<typeof partiesEnvironment>): PartiesConfig['secrets'] {
  const sandbox = data[PartiesEnvironment.sandboxSecretId];
  if (sandbox !== undefined) return { sandbox };
  const shopSigningKey = data[PartiesEnvironment.shopSigningKeySecretId];
  const postmarkToken = data[PartiesEnvironment.postmarkTokenSecretId];
  const bigcommerceToken = data[PartiesEnvironment.bigcommerceTokenSecretId];
  if (bigcommerceToken !== undefined) {
    const locationId = data[PartiesEnvironment.bigcommerceLocation];
    if (locationId === undefined) throw new Error(`${PartiesEnvironment.bigcommerceLocation} is not set`);
    if (postmarkToken === undefined) throw new Error(`${PartiesEnvironment.postmarkTokenSecretId} is not set`);
    return { bigcommerceToken, locationId, postmarkToken };
  }
  if (shopSigningKey === undefined) throw new Error(`${PartiesEnvironment.shopSigningKeySecretId} is not set`);
  if (postmarkToken === undefined) throw new Error(`${PartiesEnvironment.postmarkTokenSecretId} is not set`);
  return { shopSigningKey, postmarkToken };
}
