import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';

/** Something that nobody here can work on, whole, with the reason why. */
interface Parked {
  readonly body: string;
  readonly reason: string;
  readonly detail: string;
}

/** An attribute is there to be read at a glance. Characters. */
const LONGEST_DETAIL = 256;

/** Sets messages aside in a queue where people look; whatever fails here is not acknowledged, and so is tried again. */
export function sqsParking(client: SQSClient, queueUrl: string): (parked: Parked) => Promise<void> {
  return async ({ body, reason, detail }) => {
    const text = (value: string) => ({ DataType: 'String', StringValue: value });
    await client.send(
      new SendMessageCommand({
        QueueUrl: queueUrl,
        MessageBody: body,
        MessageAttributes: { reason: text(reason), detail: text(printable(detail)) },
      }),
    );
  };
}

/** SQS refuses most control characters, and an empty value. */
function printable(detail: string): string {
  return detail.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_DETAIL) || '-';
}
