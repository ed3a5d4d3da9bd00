import { CreateQueueCommand, GetQueueAttributesCommand, SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import { expect, test } from '@jest/globals';
import { redrive } from '../../cli/redriving.ts';
import { SqsParking } from '../../lambdas/events/store/sqs-parking.ts';
import { CREDENTIALS, emulatedAws } from '../support/local-aws.ts';

test('a redrive processes each waiting message once, and removes only messages that were processed successfully', async () => {
  const { awsEndpoint: endpoint, region } = emulatedAws();
  const sqs = new SQSClient({ endpoint, region, credentials: CREDENTIALS });
  const { QueueUrl = '' } = await sqs.send(new CreateQueueCommand({ QueueName: `redriving-${process.pid}` }));
  const parking = new SqsParking(sqs, QueueUrl);
  for (const body of ['good 1', 'bad', 'good 2'])
    await parking.park({ body, reason: 'unreadable', detail: 'a\u0000b' });

  const seen: unknown[] = [];
  const reported: unknown[] = [];
  const redriven = await redrive(
    sqs,
    QueueUrl,
    async ({ Body, MessageAttributes }) => {
      seen.push([Body, MessageAttributes?.['reason']?.StringValue, MessageAttributes?.['detail']?.StringValue]);
      if (Body === 'bad') {
        // The relay parks the message again, but the redrive must still end.
        await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: 'parked again' }));
        throw new Error('still bad');
      }
    },
    (error) => void reported.push(error),
  );
  expect(redriven).toEqual({ done: 2, failed: 1 });
  expect(seen).toHaveLength(3);
  expect(seen).toContainEqual(['good 1', 'unreadable', 'a?b']);
  expect(reported).toHaveLength(1);
  const { Attributes } = await sqs.send(
    new GetQueueAttributesCommand({
      QueueUrl,
      AttributeNames: ['ApproximateNumberOfMessages', 'ApproximateNumberOfMessagesNotVisible'],
    }),
  );
  expect(Attributes).toMatchObject({ ApproximateNumberOfMessages: '1', ApproximateNumberOfMessagesNotVisible: '1' });
});
