import * as z from 'zod';
import {
  type CallbackSource,
  Environment,
  POWERTOOLS_IDEMPOTENCY_DISABLED,
  SIGNATURE_SCHEMES,
} from '../contract/environment.ts';

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

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the payments function's environment, once, at start.
 *
 * @throws Error naming the variable that is missing or wrong, or the one that would switch idempotency off: rather no
 *   function than one that charges twice
 */
export function readPaymentsConfig(environment: Variables): PaymentsConfig {
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

/** What the ledger function was deployed with: it writes where payments do, and asks the same processor. @throws Error as {@link readPaymentsConfig} */
export function readLedgerConfig(environment: Variables): PaymentsConfig {
  return readPaymentsConfig(environment);
}

/** What the callbacks function was deployed with. */
export interface CallbacksConfig extends PaymentsConfig {
  readonly sources: readonly CallbackSource[];
}

const callbackSources = z
  .string('is not set')
  .transform((text, context): unknown => {
    try {
      return JSON.parse(text);
    } catch {
      context.addIssue({ code: 'custom', message: 'must be JSON' });
      return z.NEVER;
    }
  })
  .pipe(
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
