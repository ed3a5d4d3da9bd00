import { SendMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { FAILURES_ATTRIBUTE } from '../../kernel/contract/events.ts';
import { delayOf } from '../../kernel/platform/sqs.ts';
import type { Queues } from '../../kernel/platform/system-platform.ts';
import { RequestAttribute } from '../contract.ts';
import type { RequestMessage, RequestQueue } from '../use/request-queue.ts';

/** Maximum length of an attribute's value, in characters. A longer value, such as a long `detail`, is truncated. */
const LONGEST_DETAIL = 256;

/**
 * Messages contain everything that a redelivery or redrive needs: a parked message is read again after it is moved
 * back.
 */
export class SqsRequestQueue implements RequestQueue {
  readonly #client: SQSClient;
  readonly #queueUrl: string;
  readonly #parkingQueueUrl: string;

  constructor(client: SQSClient, urls: { readonly queueUrl: string; readonly parkingQueueUrl: string }) {
    this.#client = client;
    this.#queueUrl = urls.queueUrl;
    this.#parkingQueueUrl = urls.parkingQueueUrl;
  }

  async later(message: RequestMessage, delaySeconds: number): Promise<void> {
    const DelaySeconds = delayOf(delaySeconds);
    await this.#client.send(
      new SendMessageCommand({ QueueUrl: this.#queueUrl, DelaySeconds, ...contentOf(message, failuresOf(message)) }),
    );
  }

  async park(message: RequestMessage, reason: string, detail: string): Promise<void> {
    await this.#client.send(
      new SendMessageCommand({ QueueUrl: this.#parkingQueueUrl, ...contentOf(message, { reason, detail }) }),
    );
  }
}

export function configuredRequestQueue(
  { sqs }: Queues,
  urls: { readonly queueUrl: string; readonly parkingQueueUrl: string },
): RequestQueue {
  return new SqsRequestQueue(sqs(), urls);
}

/** A parked message has no such attribute, so that the count starts at 0 again when the message is redriven. */
function failuresOf({ failures = 0 }: RequestMessage): Readonly<Record<string, string>> {
  return failures === 0 ? {} : { [FAILURES_ATTRIBUTE]: String(failures) };
}

/** Characters that a message may contain (Amazon SQS API reference, "SendMessage"). */
const SENDABLE = /^[\t\n\r\x20-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]+$/u;

function contentOf({ sender, payload, sentAtMs }: RequestMessage, more: Readonly<Record<string, string>>) {
  const text = utf8(payload);
  const isText = text !== undefined && SENDABLE.test(text);
  const attributes = {
    ...more,
    [RequestAttribute.sender]: sender,
    [RequestAttribute.sentAt]: String(sentAtMs),
    ...(isText ? {} : { [RequestAttribute.encoding]: 'base64' }),
  };
  return {
    // SQS refuses an empty body. Base64 decoders ignore the `=`.
    MessageBody: isText ? text : Buffer.from(payload).toString('base64') || '=',
    MessageAttributes: Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [name, { DataType: 'String', StringValue: printable(value) }]),
    ),
  };
}

function utf8(payload: Uint8Array): string | undefined {
  try {
    // Keeps the byte-order mark, so that it is refused rather than lost.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(payload);
  } catch {
    return undefined;
  }
}

/**
 * Replaces all but printable ASCII, because SQS refuses most control characters, and truncates a long value. An empty
 * value, which SQS also refuses, becomes `-`.
 */
function printable(value: string): string {
  return value.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, LONGEST_DETAIL) || '-';
}
