import { InvokeCommand, LambdaClient } from '@aws-sdk/client-lambda';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { RepublishAnswer } from '../../lambdas/contract/republish-api.ts';
import { readEvent } from '../../lambdas/runtime/event-schemas.ts';
import { CREDENTIALS } from '../../local/emulator-environment.ts';
import { ApiClient } from '../support/api-client.ts';
import { EventListener, stackOutput } from '../support/event-listener.ts';
import { localAws } from '../support/local-aws.ts';

const MINUTE_MS = 60_000;
const listener = new EventListener();
beforeAll(() => listener.start(), 30_000);
afterAll(() => listener.stop());

describe('events on the deployed stack', () => {
  const aws = localAws();
  const api = new ApiClient(aws, aws.apiKey);
  let paymentId: unknown;

  test('a payment’s outcome reaches a subscriber of the bus, readable and whole', async () => {
    const body = { description: 'two shirts', metadata: { order: '6735' } };
    ({ id: paymentId } = (await api.pay({ key: `events-${Date.now()}`, body })).json);
    const [event] = await listener.heard(paymentId, 1);
    expect(event).toMatchObject({
      version: 1,
      tenant: aws.tenantId,
      event: { type: 'payment.completed', sequence: 2, data: { object: { id: paymentId, ...body } } },
    });
    expect(readEvent(event)).toMatchObject({ kind: 'event' });
  }, 30_000);

  test('published again, it is the same event', async () => {
    const { awsEndpoint: endpoint, region } = aws;
    const lambda = new LambdaClient({ endpoint, region, credentials: CREDENTIALS });
    const range = { sinceMs: Date.now() - 5 * MINUTE_MS, untilMs: Date.now() + MINUTE_MS };
    const { Payload } = await lambda.send(
      new InvokeCommand({
        FunctionName: await stackOutput('service', 'republishFunction'),
        Payload: JSON.stringify(range),
      }),
    );
    const answer = JSON.parse(Buffer.from(Payload ?? []).toString('utf8')) as RepublishAnswer;
    expect(answer.published).toBeGreaterThan(0);
    expect(answer).toEqual({ found: answer.published, published: answer.published });
    const [first, again] = await listener.heard(paymentId, 2);
    expect(again).toEqual(first);
  }, 30_000);
});
