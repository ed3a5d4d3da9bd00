import * as z from 'zod';
import { Environment } from '../contract/environment.ts';
import type { Retention } from '../contract/retention.ts';
import { webUrl } from './web-url.ts';

/* Functions read their settings once, at startup, and fail if a setting is missing or invalid. */

export type Variables = Readonly<Record<string, string | undefined>>;

/** The form of a table name (Amazon DynamoDB developer guide, "Naming rules"). */
export const tableName = z
  .string('is not set')
  .regex(/^[A-Za-z0-9_.-]{3,255}$/, 'must be the name of a DynamoDB table');
export const queueUrl = z
  .string('is not set')
  .refine((text) => webUrl(text) !== undefined, 'must be the address of an SQS queue');
export const baseUrl = z
  .string('is not set')
  .refine((text) => webUrl(text) !== undefined, 'must be an http or https address')
  .refine((text) => !text.endsWith('/'), 'must not end with a slash');
export const secretId = z.string('is not set').min(1, 'must be the id of a secret');

export const jsonOf = <Value>(schema: z.ZodType<Value>) =>
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

/** @throws Error naming the variable that is missing or wrong */
export function readVariables<Value>(schema: z.ZodType<Value>, environment: Variables): Value {
  // Generate no code for the schema: it is used only once, so generating code would take longer than it saves at a cold
  // start.
  const parsed = schema.safeParse(environment, { jitless: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new Error(`the environment variable ${issue?.path.join('.') ?? ''} ${issue?.message ?? 'is wrong'}`);
}

/**
 * Needs no object schema, whose creation would cost more than the read.
 *
 * @throws Error as {@link readVariables}
 */
export function readVariable<Value>(name: string, schema: z.ZodType<Value>, environment: Variables): Value {
  const parsed = schema.safeParse(environment[name], { jitless: true });
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const path = [name, ...(issue?.path ?? [])].join('.');
  throw new Error(`the environment variable ${path} ${issue?.message ?? 'is wrong'}`);
}

/**
 * Undefined for the default retention.
 *
 * @throws Error as {@link readVariables}
 */
export function readRetention(environment: Variables): Retention | undefined {
  const { retention } = Environment;
  if (environment[retention] === undefined) return undefined;
  return readVariable(retention, jsonOf(z.record(z.string(), z.int().positive())), environment);
}
