import { Aws, Duration, Validations } from 'aws-cdk-lib';
import { StartingPosition } from 'aws-cdk-lib/aws-lambda';
import { DynamoEventSource, SqsDlq } from 'aws-cdk-lib/aws-lambda-event-sources';
import { Queue } from 'aws-cdk-lib/aws-sqs';
import { Construct } from 'constructs';
import { ARCHIVER_WAITS_SECONDS } from '../lambdas/archive/contract.ts';
import { storesOf } from '../lambdas/authority/contract.ts';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { ArchiveAuditor } from './constructs/archive-auditor.ts';
import type { ArchiveBucket } from './constructs/archive-bucket.ts';
import { queueEncryption } from './constructs/data-key.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { DataStack } from './data-stack.ts';
import type { Settings } from './settings.ts';

export interface ArchiveProps {
  readonly data: Pick<DataStack, 'ledger' | 'registry'>;
  readonly logs: FunctionLogs;
  readonly bucket: ArchiveBucket;
  readonly settings: Pick<Settings, 'archiveBatchSeconds' | 'archiveKeyArn' | 'archiveSigningKeyArn' | 'authority'>;
}

/** Maximum number of rows per batch. A row has a few kilobytes, and Lambda also ends a batch at 6 MB. */
const BATCH = 5_000;
/**
 * Age at which Lambda stops retrying a record and parks its position in the Stream. The Stream deletes records after 24
 * hours, and a record that cannot be archived must be reported earlier.
 */
const MAX_RECORD_AGE = Duration.hours(20);
/** Retention of the queue of parked records. */
export const ARCHIVE_PARKED = Duration.days(14);
/**
 * Age of the oldest record at which an alarm is raised. A batch normally waits only for the batching window and is then
 * processed within seconds.
 */
const LATE = Duration.hours(1);

/** Archives the Ledger: a second reader of its Stream writes every record to a bucket whose objects never change. */
export class Archive extends Construct {
  readonly archiver: PayonceFunction;
  readonly auditor: PayonceFunction;
  readonly parked: Queue;

  constructor(scope: Construct, id: string, { data, logs, bucket, settings }: ArchiveProps) {
    super(scope, id);
    this.parked = new Queue(this, 'Parked', {
      ...queueEncryption(this),
      enforceSSL: true,
      retentionPeriod: ARCHIVE_PARKED,
    });
    const reason = 'This queue is itself the dead-letter queue for parked records.';
    Validations.of(this.parked).acknowledge(
      { id: 'AwsSolutions::AwsSolutions-SQS3', reason },
      { id: 'Serverless::Serverless-SQSRedrivePolicy', reason },
    );
    this.archiver = new PayonceFunction(this, 'Archiver', {
      ...logs,
      folder: 'archiver',
      timeout: Duration.seconds(ARCHIVER_WAITS_SECONDS + 60),
      memoryMb: 512,
      environment: { [Environment.archiveBucket]: bucket.name, [Environment.parkingQueueUrl]: this.parked.queueUrl },
    });
    this.archiver.allow('WriteArchive', 's3:PutObject', `arn:${Aws.PARTITION}:s3:::${bucket.name}/ledger/*`);
    Validations.of(this.archiver.role).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::${bucket.shown}/ledger/*]`,
      reason: 'The archiver may write every object of this folder, and no other function may.',
    });
    this.archiver.allow('ParkRecords', 'sqs:SendMessage', this.parked.queueArn);
    if (settings.archiveKeyArn !== undefined)
      this.archiver.allow('EncryptArchive', 'kms:GenerateDataKey', settings.archiveKeyArn);
    this.archiver.function.addEventSource(
      new DynamoEventSource(data.ledger.table.table, {
        // A new archiver archives everything that the Stream still contains.
        startingPosition: StartingPosition.TRIM_HORIZON,
        batchSize: BATCH,
        maxBatchingWindow: Duration.seconds(settings.archiveBatchSeconds),
        // There is no filter, because every record is archived. The number of attempts is unlimited: only the maximum
        // record age ends the retries.
        bisectBatchOnError: true,
        retryAttempts: -1,
        maxRecordAge: MAX_RECORD_AGE,
        // The message contains only a position in the Stream.
        onFailure: new SqsDlq(this.parked),
      }),
    );
    this.auditor = new ArchiveAuditor(this, 'Auditor', {
      data,
      logs,
      bucket,
      settings,
      authority: storesOf(settings.authority),
    }).auditor;
    new RunbookAlarm(this, 'RecordsParked', {
      description: 'Records of the Ledger could not be archived and were parked.',
      entry: 'data.md#the-archive-is-behind',
      metric: this.parked.metricApproximateNumberOfMessagesVisible({
        period: Duration.minutes(1),
        statistic: 'Maximum',
      }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'ArchiveLate', {
      description: 'The archiver is behind in the Ledger’s Stream: it fails, or the archive rejects its objects.',
      entry: 'data.md#the-archive-is-behind',
      metric: this.archiver.function.metric('IteratorAge', { period: Duration.minutes(5), statistic: 'Maximum' }),
      threshold: LATE.toMilliseconds(),
    });
  }
}
