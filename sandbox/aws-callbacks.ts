import { GetSecretValueCommand, type SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { GetParameterCommand, ParameterNotFound, type SSMClient } from '@aws-sdk/client-ssm';
import * as z from 'zod';
import type { Callbacks } from './world.ts';

/** A new address or secret takes effect within this time; most deliveries cost no look-up. */
const BELIEVED_FOR_MS = 30_000;

export interface AwsCallbacksOptions {
  readonly ssm: SSMClient;
  readonly secrets: SecretsManagerClient;
  readonly addressParameter: string;
  readonly secretId: string;
  readonly nowMs: () => number;
}

/** The address from a parameter, which may not be there yet, and the secret from Secrets Manager. */
export function createAwsCallbacks(options: AwsCallbacksOptions): Callbacks {
  const { ssm, secrets, addressParameter, secretId, nowMs } = options;
  return {
    address: kept(nowMs, async () => {
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
    secret: kept(nowMs, async () => {
      const { SecretString } = await secrets.send(new GetSecretValueCommand({ SecretId: secretId }));
      return signingSecret(SecretString ?? '');
    }),
  };
}

const activeSecrets = z.record(z.string(), z.string().min(1));

/** Of a JSON object the value under `current`, or else its first; other text is the secret itself. */
function signingSecret(text: string): string {
  const parsed = activeSecrets.safeParse(parsedJson(text));
  const secret = parsed.success ? (parsed.data['current'] ?? Object.values(parsed.data)[0]) : text;
  if (secret === undefined || secret === '') {
    throw new Error('the secret with which callbacks are signed is empty');
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

/** Keeps what was found. What was not found is looked for each time, so that the first delivery needs no luck. */
function kept<T>(nowMs: () => number, look: () => Promise<T>): () => Promise<T> {
  let found: { readonly value: T; readonly untilMs: number } | undefined;
  return async () => {
    if (found !== undefined && found.untilMs > nowMs()) {
      return found.value;
    }
    const value = await look();
    found = value === undefined ? undefined : { value, untilMs: nowMs() + BELIEVED_FOR_MS };
    return value;
  };
}
