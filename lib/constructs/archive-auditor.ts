import { Aws, Duration, TimeZone, Validations } from 'aws-cdk-lib';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import { AUDITOR_WORKS_SECONDS } from '../../lambdas/archive/contract.ts';
import { AUDITOR_SERVICE } from '../../lambdas/kernel/contract/archive.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import type { Settings } from '../settings.ts';
import type { ArchiveBucket } from './archive-bucket.ts';
import { type FunctionLogs, PayonceFunction } from './payonce-function.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';
import { schedulerRole } from './scheduler-role.ts';

export interface ArchiveAuditorProps {
  readonly logs: FunctionLogs;
  readonly bucket: ArchiveBucket;
  readonly settings: Pick<Settings, 'archiveKeyArn' | 'archiveSigningKeyArn'>;
}

/** Hours without a manifest after which the alarm starts: one run may fail. */
const LATE_HOURS = 3;

/** Each hour, a function lists what arrived in the archive in a manifest. It may write manifests, and no lines. */
export class ArchiveAuditor extends Construct {
  readonly auditor: PayonceFunction;

  constructor(scope: Construct, id: string, { logs, bucket, settings }: ArchiveAuditorProps) {
    super(scope, id);
    const { archiveKeyArn, archiveSigningKeyArn } = settings;
    this.auditor = new PayonceFunction(this, 'Function', {
      ...logs,
      folder: 'archive-auditor',
      timeout: Duration.seconds(AUDITOR_WORKS_SECONDS + 120),
      memoryMb: 1_024,
      environment: {
        [Environment.archiveBucket]: bucket.name,
        ...(archiveSigningKeyArn === undefined ? {} : { [Environment.archiveSigningKey]: archiveSigningKeyArn }),
      },
    });
    this.#grant(bucket);
    if (archiveSigningKeyArn !== undefined) this.auditor.allow('SignManifests', 'kms:Sign', archiveSigningKeyArn);
    if (archiveKeyArn !== undefined) {
      this.auditor.allow('EncryptManifests', 'kms:GenerateDataKey', archiveKeyArn);
      this.auditor.allow('DecryptArchive', 'kms:Decrypt', archiveKeyArn);
    }
    this.#everyHour();
    new RunbookAlarm(this, 'ManifestsLate', {
      description: 'No manifest lists what arrived in the archive.',
      entry: 'the-archive-is-behind',
      metric: payonceMetric({ service: AUDITOR_SERVICE, name: 'archive_listed', period: Duration.hours(1) }),
      threshold: 1,
      evaluationPeriods: LATE_HOURS,
      isSignOfLife: true,
    });
  }

  #grant({ name, shown }: ArchiveBucket): void {
    const bucket = `arn:${Aws.PARTITION}:s3:::${name}`;
    this.auditor.allow('ListArchive', 's3:ListBucket', bucket);
    this.auditor.allow('ReadArchive', 's3:GetObject', `${bucket}/ledger/*`, `${bucket}/manifests/*`);
    this.auditor.allow('WriteManifests', 's3:PutObject', `${bucket}/manifests/*`);
    const reason = 'It lists objects of any name, and writes manifests of any number.';
    for (const objects of ['ledger', 'manifests'])
      Validations.of(this.auditor.role).acknowledge({
        id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::${shown}/${objects}/*]`,
        reason,
      });
  }

  #everyHour(): void {
    const { function: invoked } = this.auditor;
    const role = schedulerRole(this);
    Validations.of(role).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::<${invoked.stack.getLogicalId(invoked.node.defaultChild as never)}.Arn>:*]`,
      reason: 'The wildcard covers versions and aliases of the function, which has none.',
    });
    new Schedule(this, 'EveryHour', {
      description: 'Lists what arrived in the archive in a manifest.',
      schedule: ScheduleExpression.expression('cron(5 * * * ? *)', TimeZone.ETC_UTC),
      // The next hour does what this one did not.
      target: new LambdaInvoke(invoked, { role, retryAttempts: 2, maxEventAge: Duration.minutes(30) }),
    });
  }
}
