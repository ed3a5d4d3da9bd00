import type { SendMessageCommand, SQSClient } from '@aws-sdk/client-sqs';
import type { MSKEvent, SQSRecord } from 'aws-lambda';
import { senderName } from '../../lambdas/intake/contract.ts';
import { paymentRequests, type TransportTools } from '../../lambdas/intake/http/transports.ts';
import { SqsRequestQueue } from '../../lambdas/intake/store/request-queue.ts';
import { type Mode, tenantId } from '../../lambdas/kernel/ids.ts';
import { invariant } from '../../lambdas/kernel/invariant.ts';
import { systemDigest } from '../../lambdas/kernel/platform/platform.ts';
import { ProcessReplayCache } from '../../lambdas/once/process-records.ts';
import { paymentOfEvent } from '../../lambdas/payments/ids.ts';
import type { TenantLimits } from '../../lambdas/tenants/limits.ts';
import { hashesUnder } from '../views/email-tools.ts';
import { isAnyTenant, UNKNOWN_TENANT } from '../world/api.ts';
import { World } from '../world/world.ts';

interface Queued {
  readonly body: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly visibleAtMs: number;
}

export const SHOP = { tenantId: tenantId('ten_shop'), mode: 'test' as Mode };
export const EVENT_ID = '0b9c2f60-7d5a-4a7e-9a53-0d6f2f7c1e11';
const QUEUE_OF_SHOP = 'arn:aws:sqs:eu-west-1:111122223333:requests-of-shop';
const OWN_QUEUE = 'arn:aws:sqs:eu-west-1:111122223333:requests';

export class SimulatedIntake<Of extends World = World> {
  readonly world: Of;
  readonly queues = { requests: [] as Queued[], parked: [] as Queued[] };
  readonly faults: unknown[] = [];
  readonly runs: Readonly<Record<string, unknown>>[] = [];
  readonly batches: (readonly string[])[] = [];
  /** The function itself deleted these messages. */
  readonly acknowledged: string[] = [];
  /** @default admits each request */
  limits: Pick<TenantLimits, 'admit'> = { admit: async () => ({ kind: 'admitted' }) };
  /** @default SQS succeeds */
  outage: Error | undefined;
  #messages = 0;

  constructor(world: Of = new World() as Of) {
    this.world = world;
  }

  process(changes: Partial<TransportTools> = {}) {
    const { world } = this;
    const sender = (name: string) => [name, SHOP] as const;
    return paymentRequests({
      ...world.tools,
      replays: new ProcessReplayCache(),
      senders: new Map([
        sender(senderName.bus('payonce.requests', '111122223333')),
        sender(senderName.queue('shop')),
        sender(senderName.topic('payments')),
        sender(senderName.subject('payments.shop')),
        [senderName.subject('payments.desk'), { ...SHOP, tenantId: tenantId('ten_desk') }],
        [senderName.subject('payments.unknown'), { ...SHOP, tenantId: tenantId(UNKNOWN_TENANT) }],
        [senderName.subject('payments.other'), { ...SHOP, tenantId: tenantId('ten_other') }],
      ]),
      isTenant: isAnyTenant,
      queues: new Map([[QUEUE_OF_SHOP, senderName.queue('shop')]]),
      oldestMs: 24 * 60 * 60 * 1000,
      limits: this.limits,
      emailHashes: hashesUnder({ current: 'a-key-of-the-deployment-000000001' }),
      acknowledge: async ({ receiptHandle }) => void this.acknowledged.push(receiptHandle),
      requests: new SqsRequestQueue(this.#client, { queueUrl: 'requests', parkingQueueUrl: 'parked' }),
      telemetry: {
        fault: (_id, error) => void this.faults.push(error),
        run: (_name, counts, details) => void this.runs.push({ ...details, ...counts }),
        batch: (messages) => void this.batches.push(messages.map(({ result }) => result)),
      },
      ...changes,
    });
  }

  request(changes: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, unknown>> {
    return {
      event_id: EVENT_ID,
      account_from: 'tok_ok',
      account_to: SHOP.tenantId,
      amount: 1000,
      currency: 'EUR',
      timestamp: new Date(this.world.clock.nowMs()).toISOString(),
      ...changes,
    };
  }

  onBus(detail: unknown, changes: Readonly<Record<string, unknown>> = {}): SQSRecord {
    const time = new Date(this.world.clock.nowMs()).toISOString().replace(/\.\d+/, '');
    const about = { version: '0', id: 'x', account: '111122223333', region: 'eu-west-1', resources: [], time };
    const envelope = { ...about, 'detail-type': 'payment.requested.v1', source: 'payonce.requests', detail };
    return this.record({ body: JSON.stringify({ ...envelope, ...changes }) });
  }

  inQueue(body: string): SQSRecord {
    return { ...this.record({ body }), eventSourceARN: QUEUE_OF_SHOP };
  }

  onSubject(payload: string | Uint8Array, subject = 'payments.shop'): SQSRecord {
    const isText = typeof payload === 'string';
    const body = isText ? payload : Buffer.from(payload).toString('base64') || '=';
    return this.record({ body, attributes: { subject, ...(isText ? {} : { encoding: 'base64' }) } });
  }

  /**
   * Returns a Kafka batch as Lambda delivers it (AWS Lambda developer guide, "Using Lambda with Amazon MSK", example
   * event).
   */
  inTopic(...values: readonly (string | undefined)[]): MSKEvent {
    const records = values.map((value, offset) => ({
      topic: 'payments',
      partition: 0,
      offset,
      timestamp: this.world.clock.nowMs(),
      timestampType: 'CREATE_TIME' as const,
      key: '',
      headers: [],
      ...(value === undefined ? {} : { value: Buffer.from(value).toString('base64') }),
    }));
    return {
      eventSource: 'aws:kafka',
      eventSourceArn: 'arn:aws:kafka:eu-west-1:111122223333:cluster/shop/1',
      bootstrapServers: 'b-1.shop.kafka.eu-west-1.amazonaws.com:9098',
      records: { 'payments-0': records },
    } as unknown as MSKEvent;
  }

  record({ body, attributes = {} }: Pick<Queued, 'body'> & Partial<Queued>, receives = 1): SQSRecord {
    this.#messages += 1;
    const texts = Object.entries(attributes).map(
      ([name, stringValue]) => [name, { stringValue, dataType: 'String' }] as const,
    );
    return {
      messageId: `m${this.#messages}`,
      receiptHandle: '',
      body,
      attributes: {
        ApproximateReceiveCount: String(receives),
        SentTimestamp: String(this.world.clock.nowMs()),
        SenderId: '',
        ApproximateFirstReceiveTimestamp: '',
      },
      messageAttributes: Object.fromEntries(texts),
      md5OfBody: '',
      eventSource: 'aws:sqs',
      eventSourceARN: OWN_QUEUE,
      awsRegion: 'eu-west-1',
    };
  }

  /** Returns the ids of the messages that the queue must redeliver. */
  async deliver(records: SQSRecord | readonly SQSRecord[], changes: Partial<TransportTools> = {}) {
    const answer = await this.process(changes)({ Records: [records].flat() });
    return answer?.batchItemFailures.map(({ itemIdentifier }) => itemIdentifier);
  }

  /** Returns the number of messages. */
  async takeDue(changes: Partial<TransportTools> = {}): Promise<number> {
    const { requests } = this.queues;
    const due = requests.filter(({ visibleAtMs }) => visibleAtMs <= this.world.clock.nowMs());
    this.queues.requests = requests.filter((each) => !due.includes(each));
    if (due.length > 0)
      await this.deliver(
        due.map((each) => this.record(each)),
        changes,
      );
    return due.length;
  }

  get parkedReasons(): readonly (string | undefined)[] {
    return this.queues.parked.map(({ attributes }) => attributes['reason']);
  }

  paymentOf(eventId = EVENT_ID, owner = SHOP) {
    return paymentOfEvent(systemDigest, owner, eventId);
  }

  charged(eventId = EVENT_ID, owner = SHOP): number {
    const charges = this.world.processor.charges(this.paymentOf(eventId, owner));
    return charges.filter(({ status }) => status === 'succeeded').length;
  }

  get #client(): SQSClient {
    const send = async ({ input }: SendMessageCommand) => {
      if (this.outage !== undefined) throw this.outage;
      const { QueueUrl, MessageBody: body, MessageAttributes = {}, DelaySeconds = 0 } = input;
      invariant(body !== undefined && body !== '', 'the message body is missing or empty, which SQS refuses');
      const attributes = Object.entries(MessageAttributes).map(
        ([name, { StringValue = '' }]) => [name, StringValue] as const,
      );
      const visibleAtMs = this.world.clock.nowMs() + DelaySeconds * 1000;
      this.queues[QueueUrl as 'requests'].push({ body, attributes: Object.fromEntries(attributes), visibleAtMs });
      return {};
    };
    return { send } as unknown as SQSClient;
  }
}
