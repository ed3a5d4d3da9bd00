import { PAYMENT_REQUESTED, REQUESTS_SOURCE, RequestAttribute } from '../../../lambdas/intake/contract.ts';
import type { Account } from './account.ts';
import type { PaymentRequest } from './contract.ts';
import { REQUESTS } from './functions.ts';
import type { Simulation } from './simulation.ts';

/** Wait before Lambda redelivers a failed Kafka batch, in milliseconds. */
const TOPIC_AGAIN_MS = 30_000;

/** Each transport delivers an event at least once. */
export class RequestTransports {
  readonly #simulation: Simulation;
  readonly #account: Account;
  /** Oldest first. */
  readonly taken: PaymentRequest[] = [];

  readonly #isBusUp: () => boolean;

  constructor(account: Account, isBusUp: () => boolean) {
    this.#simulation = account.simulation;
    this.#account = account;
    this.#isBusUp = isBusUp;
  }

  get parked(): readonly string[] {
    return this.#account.queues.bodies('payment-requests-parked');
  }

  take(via: PaymentRequest['via'], detail: string, name: string): boolean {
    if (via === 'bus' && !this.#isBusUp()) return false;
    const { nowMs } = this.#simulation;
    this.taken.push({ via, detail, sentAtMs: nowMs });
    const copies = this.#simulation.strikes('ambiguous_applied', `${name} twice`, 'delivery of a request') ? 2 : 1;
    for (let copy = 1; copy <= copies; copy += 1) this.#deliver(via, detail, `${name} copy ${copy}`);
    return true;
  }

  #deliver(via: PaymentRequest['via'], detail: string, name: string): void {
    const { queues } = this.#account;
    const { nowMs } = this.#simulation;
    const attributes = { [RequestAttribute.subject]: { stringValue: REQUESTS, dataType: 'String' as const } };
    switch (via) {
      case 'bus':
        return queues.put('payment-requests', onBus(detail, name, nowMs), name);
      case 'queue':
        return queues.put('requests-of-shop', detail, name);
      case 'subject':
        return queues.put('payment-requests', detail, name, 0, { attributes });
      case 'topic':
        return void this.#read(inTopic(detail, nowMs), name, 1);
    }
  }

  async #read(event: object, name: string, attempt: number): Promise<void> {
    const ended = await this.#account.invoke('payment-requests', `${name} ${attempt}`, event);
    if (ended.kind === 'returned') return;
    const order = Math.floor(this.#simulation.decide(`${name} order ${attempt}`) * 2 ** 32);
    this.#simulation.plan(this.#simulation.nowMs + TOPIC_AGAIN_MS, order, () => {
      void this.#read(event, name, attempt + 1);
    });
  }
}

function onBus(detail: string, id: string, atMs: number): string {
  const envelope = {
    version: '0',
    id,
    'detail-type': PAYMENT_REQUESTED,
    source: REQUESTS_SOURCE,
    account: '000000000000',
    time: new Date(atMs).toISOString(),
    region: 'eu-west-1',
    resources: [],
  };
  return JSON.stringify({ ...envelope, detail: JSON.parse(detail) as unknown });
}

function inTopic(detail: string, timestamp: number): object {
  const value = Buffer.from(detail).toString('base64');
  const record = {
    topic: REQUESTS,
    partition: 0,
    offset: 0,
    timestamp,
    timestampType: 'CREATE_TIME',
    value,
    headers: [],
  };
  return { eventSource: 'aws:kafka', records: { [`${REQUESTS}-0`]: [record] } };
}
