import { Duration, Validations } from 'aws-cdk-lib';
import { Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { ITable } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { FilterCriteria, FilterRule, StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { DynamoEventSource, SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue, QueueEncryption } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { REPUBLISH_TIMEOUT_SECONDS } from '../../lambdas/events/contract.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { EventMetric } from '../../lambdas/kernel/contract/events.ts';
import { METRIC_NAMESPACE } from '../../lambdas/kernel/contract/metrics.ts';
import { LedgerRow } from '../../lambdas/kernel/contract/rows.ts';
import { KeyAttribute, LedgerTable } from '../../lambdas/kernel/contract/tables.ts';
import type { DataStack } from '../data-stack.ts';
import type { Settings } from '../settings.ts';
import { PayonceFunction, type PayonceFunctionProps } from './payonce-function.ts';
import { RunbookAlarm } from './runbook-alarm.ts';

export interface EventRelayProps {
  readonly settings: Settings;
  readonly data: DataStack;
}

/** Ten calls of the bus with ten entries each. */
const BATCH = 100;
/** Three tries of ten calls, each a second or two when the bus stumbles. */
const TIMEOUT = Duration.minutes(1);
/** A batch that kills the function is halved until the culprit is alone; then it has so many tries. */
const RETRIES = 20;
/** The Stream forgets after 24 hours: before that, what is stuck must be known by its place. */
const LONGEST_TRIED = Duration.hours(20);
/** From the commit to the bus it takes a second: a minute is trouble. */
const LATE = Duration.minutes(1);
/** Lambda waits longer and longer between tries of a batch: minutes of silence in between are no recovery. */
const MINUTES_OF_TROUBLE = { evaluationPeriods: 15, datapointsToAlarm: 3 };

/** The outbox: every outcome of the Ledger goes to the bus, and what cannot go is set aside, whole. */
export class EventRelay extends Construct {
  readonly relay: PayonceFunction;
  /** Publishes a range of the Ledger again. */
  readonly republisher: PayonceFunction;
  readonly parked: Queue;

  constructor(scope: Construct, id: string, props: EventRelayProps) {
    super(scope, id);
    this.parked = new Queue(this, 'Parked', {
      encryption: QueueEncryption.SQS_MANAGED,
      enforceSSL: true,
      retentionPeriod: Duration.days(14),
    });
    const reason = 'It is where records are set aside: there is no further place.';
    Validations.of(this.parked).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-SQS3', reason },
      { id: 'Serverless::Serverless-SQSRedrivePolicy', reason },
    );
    this.relay = publisher(this, 'Relay', props, {
      folder: 'outbox-relay',
      timeout: TIMEOUT,
      environment: { [Environment.parkingQueueUrl]: this.parked.queueUrl },
    });
    this.relay.role.addToPrincipalPolicy(
      new PolicyStatement({ sid: 'ParkRecords', actions: ['sqs:SendMessage'], resources: [this.parked.queueArn] }),
    );
    this.#readStream(props.data);
    this.republisher = publisher(this, 'Republisher', props, {
      folder: 'republish-range',
      timeout: Duration.seconds(REPUBLISH_TIMEOUT_SECONDS),
      environment: {},
    });
    this.republisher.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'FindRecentOutcomes',
        actions: ['dynamodb:Query'],
        resources: [`${props.data.ledger.table.tableArn}/index/${LedgerTable.recentOutcomesIndex.name}`],
      }),
    );
    this.#watch();
  }

  #readStream({ ledger }: DataStack): void {
    this.relay.function.addEventSource(
      // The class and its interface differ in an optional property.
      new DynamoEventSource(ledger.table as unknown as ITable, {
        // A relay that is deployed anew misses nothing that the Stream still has.
        startingPosition: StartingPosition.TRIM_HORIZON,
        batchSize: BATCH,
        reportBatchItemFailures: true,
        bisectBatchOnError: true,
        retryAttempts: RETRIES,
        maxRecordAge: LONGEST_TRIED,
        // A pointer into the Stream, no more: the redrive publishes its time range again.
        onFailure: new SqsDlq(this.parked),
        filters: [
          FilterCriteria.filter({
            eventName: FilterRule.isEqual('INSERT') as readonly string[],
            dynamodb: {
              Keys: { [KeyAttribute.partition]: { S: FilterRule.beginsWith(LedgerRow.payment) } },
              // Only outcomes are in this index.
              NewImage: { [LedgerTable.recentOutcomesIndex.partitionKey]: { S: FilterRule.exists() } },
            },
          }),
          // Rows are only ever put: whoever changes or removes one is told of.
          FilterCriteria.filter({ eventName: FilterRule.notEquals('INSERT') as readonly object[] }),
        ],
      }),
    );
  }

  #watch(): void {
    new RunbookAlarm(this, 'RecordsParked', {
      description: 'Ledger records could not be published and were parked.',
      entry: 'parked-records',
      metric: this.parked.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(1),
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'PublishingFails', {
      description: 'The event bus has accepted no events for several minutes.',
      entry: 'the-relay-is-behind',
      metric: this.#metric(EventMetric.publishFailed, 'Sum'),
      threshold: 1,
      ...MINUTES_OF_TROUBLE,
    });
    new RunbookAlarm(this, 'EventsLate', {
      description: 'Events reach the event bus late.',
      entry: 'the-relay-is-behind',
      metric: this.#metric(EventMetric.age, 'Maximum'),
      threshold: LATE.toMilliseconds(),
      ...MINUTES_OF_TROUBLE,
    });
    new RunbookAlarm(this, 'StreamLate', {
      description: 'The relay reads the Ledger’s Stream late or not at all.',
      entry: 'the-relay-is-behind',
      metric: this.relay.function.metric('IteratorAge', { period: Duration.minutes(1), statistic: 'Maximum' }),
      threshold: LATE.toMilliseconds(),
      ...MINUTES_OF_TROUBLE,
    });
  }

  #metric(metricName: string, statistic: string): Metric {
    return new Metric({
      namespace: METRIC_NAMESPACE,
      metricName,
      dimensionsMap: { service: 'outbox-relay' },
      statistic,
      period: Duration.minutes(1),
    });
  }
}

/** A function that reads transitions and puts events on the bus, and writes nothing. */
function publisher(
  scope: Construct,
  id: string,
  { settings, data }: EventRelayProps,
  own: Pick<PayonceFunctionProps, 'folder' | 'timeout' | 'environment'>,
): PayonceFunction {
  const { ledger, events } = data;
  const made = new PayonceFunction(scope, id, {
    folder: own.folder,
    timeout: own.timeout,
    memoryMb: 256,
    logRetentionDays: settings.logRetentionDays,
    retainLogs: settings.retainData,
    environment: {
      [Environment.ledgerTable]: ledger.table.tableName,
      [Environment.eventBus]: events.bus.eventBusName,
      ...own.environment,
    },
  });
  made.role.addToPrincipalPolicy(
    new PolicyStatement({ sid: 'PutEvents', actions: ['events:PutEvents'], resources: [events.bus.eventBusArn] }),
  );
  made.role.addToPrincipalPolicy(
    new PolicyStatement({ sid: 'ReadTransitions', actions: ['dynamodb:GetItem'], resources: [ledger.table.tableArn] }),
  );
  return made;
}
