import * as z from 'zod';
import { Environment } from '../../kernel/contract/environment.ts';
import { baseUrl, readVariables, secretId, tableName, type Variables } from '../../kernel/platform/variables.ts';
import { PartiesEnvironment } from '../contract.ts';

/** The settings of the parties of an order, as deployed. */
export interface PartiesConfig {
  /** Base address of stock and referrals, without a trailing slash. */
  readonly shopUrl: string;
  /** The secret that signs the calls to the shop. @default they are not signed, as for the sandbox */
  readonly shopSigningKeySecretId?: string;
  readonly postmark: {
    /** Without a trailing slash. */
    readonly url: string;
    /** @default the server accepts any token, as the sandbox does */
    readonly tokenSecretId?: string;
    /** The sender's address. */
    readonly from: string;
    /** How long a sent request may take to reach a mailer with a strong search. Milliseconds. @default Postmark's own search */
    readonly maxLagMs?: number;
  };
  /** The table of sending claims. */
  readonly registryTable: string;
  readonly deadLettersQueueUrl: string;
}

const partiesEnvironment = z.object({
  [PartiesEnvironment.shopUrl]: baseUrl,
  [PartiesEnvironment.shopSigningKeySecretId]: secretId.exactOptional(),
  [PartiesEnvironment.postmarkUrl]: baseUrl,
  [PartiesEnvironment.postmarkTokenSecretId]: secretId.exactOptional(),
  [PartiesEnvironment.postmarkLagSeconds]: z
    .string()
    .regex(/^\d{1,5}$/, 'must be whole seconds')
    .transform(Number)
    .exactOptional(),
  [PartiesEnvironment.emailSender]: z.email('must be an e-mail address'),
  [PartiesEnvironment.deadLettersQueueUrl]: z.url('is not set'),
  [Environment.registryTable]: tableName,
});

/**
 * Reads the settings of the parties. Call it once, at start.
 *
 * @returns undefined when none of the variables is set: this deployment accepts no orders
 * @throws Error naming the variable that is missing or wrong
 */
export function readPartiesConfig(environment: Variables): PartiesConfig | undefined {
  if (Object.values(PartiesEnvironment).every((variable) => environment[variable] === undefined)) return undefined;
  const data = readVariables(partiesEnvironment, environment);
  const tokenSecretId = data[PartiesEnvironment.postmarkTokenSecretId];
  const lagSeconds = data[PartiesEnvironment.postmarkLagSeconds];
  const shopSigningKeySecretId = data[PartiesEnvironment.shopSigningKeySecretId];
  return {
    shopUrl: data[PartiesEnvironment.shopUrl],
    ...(shopSigningKeySecretId === undefined ? {} : { shopSigningKeySecretId }),
    postmark: {
      url: data[PartiesEnvironment.postmarkUrl],
      ...(tokenSecretId === undefined ? {} : { tokenSecretId }),
      from: data[PartiesEnvironment.emailSender],
      ...(lagSeconds === undefined ? {} : { maxLagMs: lagSeconds * 1_000 }),
    },
    registryTable: data[Environment.registryTable],
    deadLettersQueueUrl: data[PartiesEnvironment.deadLettersQueueUrl],
  };
}
