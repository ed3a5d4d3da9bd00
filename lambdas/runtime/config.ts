import * as z from 'zod';
import { Environment, POWERTOOLS_IDEMPOTENCY_DISABLED } from '../contract/environment.ts';

/** What the payments function was deployed with. */
export interface PaymentsConfig {
  readonly idempotency: string;
  readonly ledger: string;
  readonly registry: string;
  readonly processorUrl: string;
}

/** Amazon DynamoDB developer guide, "Naming rules". */
const tableName = z.string('is not set').regex(/^[A-Za-z0-9_.-]{3,255}$/, 'must be the name of a DynamoDB table');
const baseUrl = z
  .string('is not set')
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http or https address')
  .refine((text) => !text.endsWith('/'), 'must not end with a slash');

const paymentsEnvironment = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.processorUrl]: baseUrl,
});

/**
 * Reads the payments function's environment, once, at start.
 *
 * @throws Error naming the variable that is missing or wrong, or the one that would switch idempotency off: rather no
 *   function than one that charges twice
 */
export function readPaymentsConfig(environment: Readonly<Record<string, string | undefined>>): PaymentsConfig {
  if (environment[POWERTOOLS_IDEMPOTENCY_DISABLED] !== undefined) {
    throw new Error(
      `${POWERTOOLS_IDEMPOTENCY_DISABLED} is set: remove it, this function never runs without idempotency`,
    );
  }
  const parsed = paymentsEnvironment.safeParse(environment);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`the environment variable ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is wrong'}`);
  }
  const { data } = parsed;
  return {
    idempotency: data[Environment.idempotencyTable],
    ledger: data[Environment.ledgerTable],
    registry: data[Environment.registryTable],
    processorUrl: data[Environment.processorUrl],
  };
}
