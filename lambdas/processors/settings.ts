import * as z from 'zod';
import { Environment } from '../kernel/contract/environment.ts';
import type { Mode } from '../kernel/ids.ts';
import {
  baseUrl,
  jsonOf,
  readVariable,
  readVariables,
  secretId,
  tableName,
  type Variables,
} from '../kernel/platform/variables.ts';
import type { ConfiguredProcessor, ProcessorsConfig } from './configured-processors.ts';
import { type CallbackSource, inMode, type ProcessorContract, type ProcessorSetting, schemeNames } from './contract.ts';
import type { ProcessorDescriptor } from './descriptor.ts';

/** Settings of a function that appends to the Ledger. */
export interface PaymentsConfig extends ProcessorsConfig {
  readonly tables: { readonly idempotency: string; readonly ledger: string; readonly registry: string };
}

const mode = z.enum(['test', 'live']);

const routingRules = jsonOf(
  z.array(
    z.strictObject({
      mode,
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
  [Environment.processorRoutes]: routingRules.exactOptional(),
});

/**
 * Called once, at startup.
 *
 * @throws Error that names the missing or invalid variable
 */
export function readPaymentsConfig(environment: Variables, processors: readonly ProcessorDescriptor[]): PaymentsConfig {
  const data = readVariables(paymentsEnvironment, environment);
  return {
    tables: {
      idempotency: data[Environment.idempotencyTable],
      ledger: data[Environment.ledgerTable],
      registry: data[Environment.registryTable],
    },
    processors: processors.flatMap((processor) =>
      processor.modes.flatMap((each) => {
        const isCalled = variablesOf(processor, each).some((name) => environment[name] !== undefined);
        return isCalled ? [readProcessor(processor, each, environment)] : [];
      }),
    ),
    routes: data[Environment.processorRoutes] ?? [],
    claimsLost: Environment.claimsLost in environment,
  };
}

function variablesOf({ settings, secrets }: ProcessorContract, ofMode: Mode): readonly string[] {
  return [...Object.values(settings), ...Object.values(secrets)].map(({ variable }) => inMode(variable, ofMode));
}

/**
 * Called only if at least one of the processor's variables is set; in this case, all required variables must be set.
 */
function readProcessor(processor: ProcessorDescriptor, ofMode: Mode, environment: Variables): ConfiguredProcessor {
  const settings = Object.entries(processor.settings).flatMap(([name, setting]) => {
    const variable = inMode(setting.variable, ofMode);
    if (setting.optional === true && environment[variable] === undefined) return [];
    return [[name, readVariable(variable, valueOf(setting), environment)] as const];
  });
  const secrets = Object.entries(processor.secrets).map(
    ([name, { variable }]) => [name, readVariable(inMode(variable, ofMode), secretId, environment)] as const,
  );
  return { processor, mode: ofMode, settings: Object.fromEntries(settings), secretIds: Object.fromEntries(secrets) };
}

function valueOf({ form }: ProcessorSetting): z.ZodType<string> {
  return typeof form === 'string' ? baseUrl : z.string('is not set').regex(form.pattern, `must be ${form.allowed}`);
}

export interface CallbacksConfig extends PaymentsConfig {
  readonly sources: readonly CallbackSource[];
}

const callbackSources = (processors: readonly ProcessorDescriptor[]) =>
  jsonOf(
    z.array(
      z.strictObject({
        name: z.string().regex(/^[a-z][a-z0-9-]{0,30}$/),
        mode,
        scheme: z.enum(schemeNames(processors)),
        secretId: z.string().min(1),
      }),
      'must be a list of callback sources',
    ),
  );

/** @throws Error as {@link readPaymentsConfig} */
export function readCallbacksConfig(
  environment: Variables,
  processors: readonly ProcessorDescriptor[],
): CallbacksConfig {
  const config = readPaymentsConfig(environment, processors);
  return { ...config, sources: readVariable(Environment.callbackSources, callbackSources(processors), environment) };
}
