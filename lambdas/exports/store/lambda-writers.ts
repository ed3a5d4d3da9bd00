import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import type { WakeWriter } from '../use/exports.ts';

/** The part of the platform by which functions are invoked. */
export interface Functions {
  readonly lambda: () => LambdaClient;
}

const TIMEOUT_MS = 3_000;

export function lambdaClient(): LambdaClient {
  return new LambdaClient({
    maxAttempts: 2,
    requestHandler: { requestTimeout: TIMEOUT_MS, throwOnRequestTimeout: true, connectionTimeout: TIMEOUT_MS },
  });
}

/** Starts writers by asynchronous invocations. Lambda tries one that fails twice more. */
export function lambdaWriters(client: LambdaClient, functionName: string): WakeWriter {
  return async ({ tenantId, mode, id }) => {
    const Payload = JSON.stringify({ tenantId, mode, id });
    await client.send(new InvokeCommand({ FunctionName: functionName, InvocationType: 'Event', Payload }));
  };
}
