import * as z from 'zod';
import {
  type CallbackSource,
  Environment,
  type RoutingRule,
  SIGNATURE_SCHEMES,
} from '../kernel/contract/environment.ts';
import { readVariables, tableName, type Variables } from '../kernel/platform/variables.ts';

/** What every function that appends to the Ledger was deployed with. */
export interface PaymentsConfig {
  /** By their names. */
  readonly tables: { readonly idempotency: string; readonly ledger: string; readonly registry: string };
  readonly processorUrl: string;
  readonly stripe?: { readonly keySecretId: string; readonly account: string; readonly returnUrl?: string };
  readonly routes: readonly RoutingRule[];
}

const baseUrl = z
  .string('is not set')
  .refine((text) => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol), 'must be an http or https address')
  .refine((text) => !text.endsWith('/'), 'must not end with a slash');

/** Text that holds JSON of this shape. */
const json = <Value>(schema: z.ZodType<Value>) =>
  z
    .string('is not set')
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.addIssue({ code: 'custom', message: 'must be JSON' });
        return z.NEVER;
      }
    })
    .pipe(schema);

const routingRules = json(
  z.array(
    z.strictObject({
      tenant: z.string().min(1).exactOptional(),
      currency: z
        .string()
        .regex(/^[A-Z]{3}$/)
        .exactOptional(),
      processor: z.string().min(1),
    }),
    'must be a list of routing rules',
  ),
);

const paymentsEnvironment = z.object({
  [Environment.idempotencyTable]: tableName,
  [Environment.ledgerTable]: tableName,
  [Environment.registryTable]: tableName,
  [Environment.processorUrl]: baseUrl,
  [Environment.stripeKeySecretId]: z.string().min(1).exactOptional(),
  [Environment.stripeAccount]: z.string().min(1).exactOptional(),
  [Environment.stripeReturnUrl]: z.url().exactOptional(),
  [Environment.processorRoutes]: routingRules.exactOptional(),
});

/**
 * Reads the payments function's environment, once, at start.
 *
 * @throws Error naming the variable that is missing or wrong
 */
export function readPaymentsConfig(environment: Variables): PaymentsConfig {
  const data = readVariables(paymentsEnvironment, environment);
  return {
    tables: {
      idempotency: data[Environment.idempotencyTable],
      ledger: data[Environment.ledgerTable],
      registry: data[Environment.registryTable],
    },
    processorUrl: data[Environment.processorUrl],
    ...stripeOf(data),
    routes: data[Environment.processorRoutes] ?? [],
  };
}

function stripeOf(data: z.infer<typeof paymentsEnvironment>): Pick<PaymentsConfig, 'stripe'> {
  const keySecretId = data[Environment.stripeKeySecretId];
  if (keySecretId === undefined) return {};
  const account = data[Environment.stripeAccount];
  if (account === undefined) throw new Error(`the environment variable ${Environment.stripeAccount} is not set`);
  const returnUrl = data[Environment.stripeReturnUrl];
  return { stripe: { keySecretId, account, ...(returnUrl === undefined ? {} : { returnUrl }) } };
}

/** What the ledger function was deployed with: it writes where payments do, and asks the same processor. @throws Error as {@link readPaymentsConfig} */
export function readLedgerConfig(environment: Variables): PaymentsConfig {
  return readPaymentsConfig(environment);
}

/** What the callbacks function was deployed with. */
export interface CallbacksConfig extends PaymentsConfig {
  readonly sources: readonly CallbackSource[];
}

const callbackSources = json(
  z.array(
    z.strictObject({
      name: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/),
      scheme: z.enum(SIGNATURE_SCHEMES),
      secretId: z.string().min(1),
    }),
    'must be a list of callback sources',
  ),
);

/** @throws Error as {@link readPaymentsConfig} */
export function readCallbacksConfig(environment: Readonly<Record<string, string | undefined>>): CallbacksConfig {
  const config = readPaymentsConfig(environment);
  const parsed = callbackSources.safeParse(environment[Environment.callbackSources]);
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new Error(`the environment variable ${Environment.callbackSources} ${issue?.message ?? 'is wrong'}`);
  }
  return { ...config, sources: parsed.data };
}
