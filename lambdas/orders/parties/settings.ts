import * as z from 'zod';
import { Environment } from '../../kernel/contract/environment.ts';
import { baseUrl, readVariables, secretId, tableName, type Variables } from '../../kernel/platform/variables.ts';
import { PartiesEnvironment } from '../contract.ts';

/** The parties of an order as a function was deployed with them. */
export interface PartiesConfig {
  /** Of stock and referrals; without a trailing slash. */
  readonly shopUrl: string;
  readonly postmark: {
    /** Without a trailing slash. */
    readonly url: string;
    /** @default any token is taken, as the sandbox does */
    readonly tokenSecretId?: string;
    /** The sender's address. */
    readonly from: string;
    /** How long an e-mail may be under way to whose search is strong. @default the search is Postmark's own */
    readonly maxLagMs?: number;
  };
  /** The table of what was sent. */
  readonly registryTable: string;
  readonly deadLettersQueueUrl: string;
}

const partiesEnvironment = z.object({
  [PartiesEnvironment.shopUrl]: baseUrl,
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
 * Reads whom orders need, once, at start.
 *
 * @returns undefined when none of it is set: this deployment takes no orders
 * @throws Error naming the variable that is missing or wrong
 */
export function readPartiesConfig(environment: Variables): PartiesConfig | undefined {
  if (Object.values(PartiesEnvironment).every((variable) => environment[variable] === undefined)) return undefined;
  const data = readVariables(partiesEnvironment, environment);
  const tokenSecretId = data[PartiesEnvironment.postmarkTokenSecretId];
  const lagSeconds = data[PartiesEnvironment.postmarkLagSeconds];
  return {
    shopUrl: data[PartiesEnvironment.shopUrl],
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
