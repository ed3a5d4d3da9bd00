import { LambdaClient } from '@aws-sdk/client-lambda';

const TIMEOUT_MS = 3_000;

/** Lambda acknowledges an asynchronous invocation before the invocation begins. */
export function lambdaClient(): LambdaClient {
  return new LambdaClient({
    maxAttempts: 2,
    requestHandler: { requestTimeout: TIMEOUT_MS, throwOnRequestTimeout: true, connectionTimeout: TIMEOUT_MS },
  });
}
