import { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { Parking } from '../../payments/use/transition-stream.ts';

/** An attribute is there to be read at a glance. Characters. */
const LONGEST_DETAIL = 256;

/** Sets things aside in a queue; whatever fails here is not acknowledged, and so is tried again. */
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

/** Retries are off: what cannot be set aside now comes again with its message. */
export function configuredParking(queueUrl: string): Parking {
  return new SqsParking(new SQSClient({ maxAttempts: 1 }), queueUrl);
}

/** SQS refuses most control characters, and an empty value. */
function printable(detail: string): string {
  return detail.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_DETAIL) || '-';
}
