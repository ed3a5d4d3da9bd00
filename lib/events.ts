import { Duration, Validations } from 'aws-cdk-lib';
import { FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { SqsDestination } from 'aws-cdk-lib/aws-lambda-destinations';
import { DynamoEventSource, SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import {
  RELAY_ATTEMPTS,
  RELAY_MAX_WAIT_SECONDS,
  RELAY_PARALLELIZATION,
  REPUBLISH_TIMEOUT_SECONDS,
} from '../lambdas/events/contract.ts';
import { Environment, RELAY_PARKING_QUEUE_URL } from '../lambdas/kernel/contract/environment.ts';
import { EventMetric } from '../lambdas/kernel/contract/events.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { LedgerTable } from '../lambdas/kernel/contract/tables.ts';
import { queueEncryption } from './constructs/data-key.ts';
import { type FunctionLogs, PayonceFunction, type PayonceFunctionProps } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { DataStack } from './data-stack.ts';

export interface EventsProps {
  readonly data: Pick<DataStack, 'events' | 'ledger' | 'registry'>;
  readonly logs: FunctionLogs;
  /**
   * Time after which an event that the projector has not processed is republished; 10 seconds to an hour.
   * @default 3 minutes
   */
  readonly lostAfter?: Duration;
}

/** Maximum number of records per batch: ten calls to the bus, with ten entries each. */
const BATCH = 100;
/**
 * Timeout of the relay. The relay retries for `RELAY_MAX_WAIT_SECONDS` while the bus is unavailable, and its last
 * attempt takes less than a minute.
 */
const TIMEOUT = Duration.seconds(RELAY_MAX_WAIT_SECONDS + 60);
/**
 * Age at which Lambda stops retrying a record and parks its position in the Stream. The Stream deletes records after 24
 * hours, and a record that cannot be published must be reported earlier.
 */
const MAX_RECORD_AGE = Duration.hours(20);
/**
 * Number of retries of a failed redrive. Lambda's maximum is two, after one and two minutes (AWS Lambda developer
 * guide, "Asynchronous invocation").
 */
const REDRIVE_RETRIES = 2;
/** Age of an event at which an alarm is raised. An event usually takes about a second from the commit to the bus. */
const LATE = Duration.minutes(1);
const SOON = Duration.minutes(5);
/**
 * Raises an alarm if three of the last 15 periods breach its threshold. Lambda waits longer before each retry of a
 * batch, so a few minutes without data do not mean that the relay has recovered.
 */
const MINUTES_OF_TROUBLE = { evaluationPeriods: 15, datapointsToAlarm: 3 };

/** The outbox: publishes every outcome in the Ledger to the bus, and parks records that cannot be published. */
export class Events extends Construct {
  readonly relay: PayonceFunction;
  /** Republishes a time range of the Ledger, and parked records that an operator redrives. */
  readonly republisher: PayonceFunction;
  readonly parked: Queue;
  readonly #props: EventsProps;

  constructor(scope: Construct, id: string, props: EventsProps) {
    super(scope, id);
    this.#props = props;
    const lostAfterSeconds = props.lostAfter?.toSeconds();
    if (lostAfterSeconds !== undefined && (lostAfterSeconds < 10 || lostAfterSeconds > 3_600)) {
      throw new Error(`${id}: lostAfter is ${lostAfterSeconds} s, but must be 10 s to an hour`);
    }
    this.parked = new Queue(this, 'Parked', {
      ...queueEncryption(this),
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    const reason = 'This queue is itself the dead-letter queue for parked records.';
    Validations.of(this.parked).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-SQS3', reason },
      { id: 'Serverless::Serverless-SQSRedrivePolicy', reason },
    );
    this.relay = this.#publisher('Relay', {
      folder: 'outbox-relay',
      timeout: TIMEOUT,
      // More than half a vCPU, because processing a batch is mostly CPU time (test/bench/event-rate.test.ts).
      memoryMb: 1_024,
    });
    props.data.registry.grantRows(this.relay, 'ReadMarks', ['dynamodb:GetItem'], [RegistryRow.jobMark]);
    this.#readStream(props.data);
    this.republisher = this.#publisher('Republisher', {
      folder: 'republish-range',
      memoryMb: 256,
      timeout: Duration.seconds(REPUBLISH_TIMEOUT_SECONDS),
    });
    props.data.ledger.grantFindOutcomes(this.republisher);
    // An operator redrives a parked record by an asynchronous invocation. If all attempts fail, the record is parked
    // again.
    const onFailure = new SqsDestination(this.parked);
    this.republisher.function.configureAsyncInvoke({ retryAttempts: REDRIVE_RETRIES, onFailure });
    this.#watch();
    this.#watchStates();
  }

  #readStream({ ledger }: EventsProps['data']): void {
    this.relay.function.addEventSource(
      new DynamoEventSource(ledger.table.table, {
        // A new relay processes everything that the Stream still contains.
        startingPosition: StartingPosition.TRIM_HORIZON,
        batchSize: BATCH,
        parallelizationFactor: RELAY_PARALLELIZATION,
        reportBatchItemFailures: true,
        bisectBatchOnError: true,
        retryAttempts: RELAY_ATTEMPTS,
        maxRecordAge: MAX_RECORD_AGE,
        // The message contains only a position in the Stream. The redrive publishes the time range again.
        onFailure: new SqsDlq(this.parked),
        filters: [
          FilterCriteria.filter({
            eventName: FilterRule.isEqual('INSERT') as readonly string[],
            dynamodb: {
              // Only rows of outcomes have the key of this index, so the filter matches only them.
              NewImage: { [LedgerTable.recentOutcomesIndex.partitionKey]: { S: FilterRule.exists() } },
            },
          }),
          // Payonce only inserts rows. The relay also receives every change or removal of a row, and reports it as a
          // violation.
          FilterCriteria.filter({ eventName: FilterRule.notEquals('INSERT') as readonly object[] }),
        ],
      }),
    );
  }

  #watch(): void {
    new RunbookAlarm(this, 'RecordsParked', {
      description: 'Ledger records could not be published and were parked.',
      entry: 'events.md#parked-records',
      metric: this.parked.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(1),
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'PublishingFails', {
      description: 'For several minutes, events could not be published to the event bus.',
      entry: 'events.md#the-relay-is-behind',
      metric: this.#metric(EventMetric.publishFailed, 'Sum'),
      threshold: 1,
      ...MINUTES_OF_TROUBLE,
    });
    new RunbookAlarm(this, 'EventsLate', {
      description: 'Events are published to the event bus late.',
      entry: 'events.md#the-relay-is-behind',
      metric: this.#metric(EventMetric.age, 'Maximum'),
      threshold: LATE.toMilliseconds(),
      ...MINUTES_OF_TROUBLE,
    });
    new RunbookAlarm(this, 'StreamLate', {
      description: 'The relay is behind in the Ledger’s Stream.',
      entry: 'events.md#the-relay-is-behind',
      metric: this.relay.function.metric('IteratorAge', { period: Duration.minutes(1), statistic: 'Maximum' }),
      threshold: LATE.toMilliseconds(),
      ...MINUTES_OF_TROUBLE,
    });
  }

  #watchStates(): void {
    const states = {
      PaymentToReview: {
        description: 'The outcome of a payment cannot be determined. An operator must decide it.',
        entry: 'payments.md#a-payment-needs-review',
        service: 'outbox-relay',
        name: EventMetric.toReview,
      },
      LedgerChanged: {
        description: 'A row of the Ledger was changed or removed.',
        entry: 'data.md#the-ledger-was-changed',
        service: 'outbox-relay',
        name: EventMetric.tampered,
      },
      EventsBeyondReach: {
        description: 'Events that are too old to be republished may be lost.',
        entry: 'events.md#events-beyond-reach',
        service: 'upkeep-jobs',
        name: EventMetric.beyondReach,
      },
    };
    for (const [id, { service, name, ...alarm }] of Object.entries(states)) {
      new RunbookAlarm(this, id, { ...alarm, metric: payonceMetric({ service, name, period: SOON }), threshold: 1 });
    }
  }

  /** Allows a worker of jobs to republish events that the projector has not processed. */
  grantRepublishLost(worker: PayonceFunction): void {
    const { data, lostAfter = Duration.minutes(3) } = this.#props;
    const { events, ledger, registry } = data;
    worker.setEnvironment({
      [Environment.eventBus]: events.bus.eventBusName,
      [Environment.lostAfterSeconds]: String(lostAfter.toSeconds()),
      [RELAY_PARKING_QUEUE_URL]: this.parked.queueUrl,
    });
    worker.allow('ParkLostEvents', 'sqs:SendMessage', this.parked.queueArn);
    events.grantPublish(worker);
    ledger.grantRead(worker, ['payment', 'order']);
    ledger.grantFindOutcomes(worker);
    registry.grantReadDetails(worker);
    registry.grantRows(worker, 'Marks', ['dynamodb:GetItem', 'dynamodb:PutItem'], [RegistryRow.jobMark]);
  }

  #metric(name: string, statistic: 'Sum' | 'Maximum') {
    return payonceMetric({ service: 'outbox-relay', name, statistic, period: Duration.minutes(1) });
  }

  /** The function writes to no table. */
  #publisher(id: string, own: Pick<PayonceFunctionProps, 'folder' | 'timeout' | 'memoryMb'>): PayonceFunction {
    const { data, logs } = this.#props;
    const made = new PayonceFunction(this, id, {
      ...logs,
      ...own,
      environment: {
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.registryTable]: data.registry.tableName,
        [Environment.eventBus]: data.events.bus.eventBusName,
        [Environment.parkingQueueUrl]: this.parked.queueUrl,
      },
    });
    made.allow('ParkRecords', 'sqs:SendMessage', this.parked.queueArn);
    data.events.grantPublish(made);
    data.ledger.grantReadTransitions(made);
    data.registry.grantReadDetails(made);
    return made;
  }
}
