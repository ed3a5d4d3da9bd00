import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetParameterCommand, ParameterNotFound, type SSMClient } from '@aws-sdk/client-ssm';
import * as z from 'zod';
import type { Callbacks } from './world.ts';

/** A new value takes effect within this time. */
const CACHED_FOR_MS = 30_000;

export interface AwsCallbacksOptions {
  readonly ssm: SSMClient;
  readonly secrets: SecretsManagerClient;
  readonly addressParameter: string;
  readonly secretId: string;
  readonly nowMs: () => number;
}

/** The SSM parameter of the address may not exist yet. */
export function createAwsCallbacks(options: AwsCallbacksOptions): Callbacks {
  const { ssm, secrets, addressParameter, secretId, nowMs } = options;
  return {
    address: cached(nowMs, async () => {
      try {
        const { Parameter } = await ssm.send(new GetParameterCommand({ Name: addressParameter }));
        return Parameter?.Value;
      } catch (error) {
        if (error instanceof ParameterNotFound) {
          return undefined;
        }
        throw error;
      }
    }),
    secret: cached(nowMs, async () => {
      const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
      return signingSecret(SecretString ?? '');
    }),
  };
}

const activeSecrets = z.record(z.string(), z.string().min(1));

function signingSecret(text: string): string {
  const parsed = activeSecrets.safeParse(parsedJson(text));
  const secret = parsed.success ? (parsed.data['current'] ?? Object.values(parsed.data)[0]) : text;
  if (secret === undefined || secret === '') {
    throw new Error('the signing secret of callbacks is empty');
  }
  return secret;
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A missing value is looked up each time, so that a new value takes effect immediately. */
function cached<T>(nowMs: () => number, look: () => Promise<T>): () => Promise<T> {
  let found: { readonly value: T; readonly untilMs: number } | undefined;
  return async () => {
    if (found !== undefined && found.untilMs > nowMs()) {
      return found.value;
    }
    const value = await look();
    found = value === undefined ? undefined : { value, untilMs: nowMs() + CACHED_FOR_MS };
    return value;
  };
}
