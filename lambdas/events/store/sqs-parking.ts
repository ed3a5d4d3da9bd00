import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import type { Parking } from '../use/ledger-stream.ts';

/** The length of the attribute `detail`. Characters. */
const LONGEST_DETAIL = 256;

/** Parks messages in a queue. When it throws, the source message is not acknowledged and is delivered again. */
export class SqsParking implements Parking {
  readonly #client: SQSClient;
  readonly #queueUrl: string;

  constructor(client: SQSClient, queueUrl: string) {
    this.#client = client;
    this.#queueUrl = queueUrl;
  }

  async park({ body, reason, detail }: Parameters<Parking['park']>[0]): Promise<void> {
    const text = (value: string) => ({ DataType: 'String', StringValue: value });
    await this.#client.send(
      new SendMessageCommand({
        QueueUrl: this.#queueUrl,
        MessageBody: body,
        MessageAttributes: { reason: text(reason), detail: text(printable(detail)) },
      }),
    );
  }
}

/** Retries are off: a message that cannot be parked is delivered again. */
export function configuredParking({ sqs }: Queues, queueUrl: string): Parking {
  return new SqsParking(sqs({ maxAttempts: 1 }), queueUrl);
}

/** SQS refuses most control characters, and an empty value. */
function printable(detail: string): string {
  return detail.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_DETAIL) || '-';
}
