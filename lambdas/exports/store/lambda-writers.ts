import { InvokeCommand, type LambdaClient } from '@aws-sdk/client-lambda';
import type { StartWriter } from '../use/exports.ts';

/** Lambda retries a failed invocation twice. */
export function lambdaWriters(client: LambdaClient, functionName: string): StartWriter {
  return async ({ tenantId, mode, id }) => {
    const Payload = JSON.stringify({ tenantId, mode, id });
    await client.send(new InvokeCommand({ FunctionName: functionName, InvocationType: 'Event', Payload }));
  };
}
