import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { COMMISSION_EVENTS, RECEIPT_EVENTS } from '../lambdas/follow-ups/contract.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { CONSUMER_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/events.ts';
import { MetadataName } from '../lambdas/kernel/contract/metadata.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { EventConsumer } from './constructs/event-consumer.ts';
import { type FunctionLogs, PayonceFunction, type PayonceFunctionProps } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import type { Parties } from './parties.ts';

export interface FollowUpsProps {
  readonly data: Pick<DataStack, 'events' | 'idempotency' | 'ledger' | 'registry'>;
  /**
   * The external services. The e-mail service sends the receipts.
   * @default no receipts are sent
   */
  readonly parties?: Parties;
  readonly logs: FunctionLogs;
}

const { commission: COMMISSION, commissionOfOrder: COMMISSION_OF_ORDER, commissionDue: COMMISSION_DUE } = RegistryRow;

/**
 * Consumers of events: one for the commissions of affiliates who referred customers and, with an e-mail service, one
 * for receipts.
 */
export class FollowUps extends Construct {
  readonly #props: FollowUpsProps;

  constructor(scope: Construct, id: string, props: FollowUpsProps) {
    super(scope, id);
    this.#props = props;
    this.#commissions();
    if (props.parties !== undefined) this.#receipts(props.parties);
  }

  /** Allows a jobs worker to release commissions after the refund period. */
  grantRelease(worker: PayonceFunction): void {
    const { idempotency, registry } = this.#props.data;
    idempotency.grantCommit(worker, ['businessKey']);
    const actions = ['dynamodb:Query', 'dynamodb:DeleteItem'];
    registry.grantRows(worker, 'TakeDueCommissions', actions, [COMMISSION_DUE]);
    registry.grantRows(worker, 'ReadCommissions', ['dynamodb:GetItem'], [COMMISSION]);
    registry.grantRows(worker, 'KeepCommissions', ['dynamodb:PutItem'], [COMMISSION, COMMISSION_OF_ORDER]);
  }

  /** The consumer reads no payment and makes no payout. */
  #commissions(): void {
    const { events, idempotency, registry } = this.#props.data;
    const consumer = this.#consumer('CommissionConsumer', {
      folder: 'commission-consumer',
      environment: { [Environment.registryTable]: registry.tableName },
    });
    idempotency.grantCommit(consumer, ['businessKey']);
    registry.grantRows(consumer, 'KeepCommissions', ['dynamodb:PutItem'], [COMMISSION, COMMISSION_OF_ORDER]);
    registry.grantRows(consumer, 'QueueCommissions', ['dynamodb:PutItem', 'dynamodb:DeleteItem'], [COMMISSION_DUE]);
    new EventConsumer(this, 'CommissionEvents', {
      bus: events.bus,
      consumer,
      events: COMMISSION_EVENTS,
      metadata: MetadataName.affiliate,
    });
  }

  #receipts(parties: Parties): void {
    const { events, idempotency, ledger, registry } = this.#props.data;
    const consumer = this.#consumer('ReceiptConsumer', {
      folder: 'receipt-consumer',
      environment: { [Environment.ledgerTable]: ledger.table.tableName },
    });
    idempotency.grantClaimOf(consumer, 'businessKey');
    ledger.grantRead(consumer, ['payment']);
    registry.grantReadDetails(consumer);
    parties.grantSend(consumer);
    new EventConsumer(this, 'ReceiptEvents', {
      bus: events.bus,
      consumer,
      events: RECEIPT_EVENTS,
      metadata: MetadataName.receiptEmail,
    });
  }

  #consumer(
    id: string,
    { folder, environment = {} }: Pick<PayonceFunctionProps, 'folder'> & Partial<PayonceFunctionProps>,
  ): PayonceFunction {
    const { data, logs } = this.#props;
    return new PayonceFunction(this, id, {
      ...logs,
      folder,
      timeout: Duration.seconds(CONSUMER_TIMEOUT_SECONDS),
      memoryMb: 256,
      environment: { [Environment.idempotencyTable]: data.idempotency.tableName, ...environment },
    });
  }
}
