import { LambdaClient } from '@aws-sdk/client-lambda';
import { expect, test } from '@jest/globals';
import { startRedrives } from '../../lambdas/operators/store/sqs-queues.ts';

test('a parked message that Lambda wrapped after a failed redrive is unwrapped and redriven', async () => {
  const parked = JSON.stringify({ eventName: 'INSERT', dynamodb: { SequenceNumber: '1' } });
  let payload = '';
  const client = new LambdaClient({ region: 'eu-west-1' });
  client.middlewareStack.add(
    () =>
      async ({ input }) => {
        payload = String((input as { readonly Payload?: unknown }).Payload);
        return { response: {}, output: { $metadata: {} } as never };
      },
    { step: 'initialize' },
  );
  const start = startRedrives({ lambda: () => client });
  let message = parked;
  for (let outages = 0; outages < 3; outages += 1) {
    await start('republisher', message);
    expect(JSON.parse(payload)).toEqual({ parked });
    const requestPayload: unknown = JSON.parse(payload);
    message = JSON.stringify({ version: '1.0', requestContext: { condition: 'RetriesExhausted' }, requestPayload });
  }
});
