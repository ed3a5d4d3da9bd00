import { DeleteMessageCommand, GetQueueUrlCommand, SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { FAILURES_ATTRIBUTE, RETRY_DELAY_SECONDS } from '../../kernel/contract/events.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import type { MessageParking, Parking, QueuedMessage } from '../use/ledger-stream.ts';

const LONGEST_DETAIL = 256;

/** If a call throws, the source message is not acknowledged and is delivered again. */
export class SqsParking implements MessageParking {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(client: SQSClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  async park({ body, reason, detail }: Parameters<Parking['park']>[0]): Promise<void> {
    await this.#client.send(
      new SendMessageCommand({
        QueueUrl: this.#queueUrl,
        MessageBody: body,
        MessageAttributes: { reason: text(reason), detail: text(printable(detail)) },
      }),
    );
  }

  async requeue({ body, eventSourceARN, attributes }: QueuedMessage, failures: number): Promise<void> {
    await this.#client.send(
      new SendMessageCommand({
        QueueUrl: await this.#urlOf(eventSourceARN),
        MessageBody: body,
        MessageGroupId: attributes?.MessageGroupId,
        MessageAttributes: { [FAILURES_ATTRIBUTE]: text(String(failures)) },
        DelaySeconds: RETRY_DELAY_SECONDS,
      }),
    );
  }

  async acknowledge({ eventSourceARN, receiptHandle }: QueuedMessage): Promise<void> {
    const QueueUrl = await this.#urlOf(eventSourceARN);
    await this.#client.send(new DeleteMessageCommand({ QueueUrl, ReceiptHandle: receiptHandle }));
  }

  /** Called only for messages that fail or are redelivered often. */
  async #urlOf(arn: string): Promise<string | undefined> {
    const [QueueName, QueueOwnerAWSAccountId] = arn.split(':').toReversed();
    return (await this.#client.send(new GetQueueUrlCommand({ QueueName, QueueOwnerAWSAccountId }))).QueueUrl;
  }
}

const text = (value: string) => ({ DataType: 'String', StringValue: value });

/** The client does not retry, because a message that cannot be parked is delivered again. */
export function configuredParking({ sqs }: Queues, queueUrl: string): MessageParking {
  return new SqsParking(sqs(), queueUrl);
}

/**
 * Replaces all but printable ASCII, because SQS refuses most control characters. An empty value, which SQS also
 * refuses, becomes `-`.
 */
function printable(detail: string): string {
  return detail.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_DETAIL) || '-';
}
