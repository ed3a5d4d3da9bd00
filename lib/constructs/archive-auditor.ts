import { Aws, Duration, TimeZone, Validations } from 'aws-cdk-lib';
import { Schedule, ScheduleExpression } from 'aws-cdk-lib/aws-scheduler';
import { LambdaInvoke } from 'aws-cdk-lib/aws-scheduler-targets';
import { Construct } from 'constructs';
import { AUDITOR_SERVICE, AUDITOR_WORKS_SECONDS, MANIFESTS_LATE_HOURS } from '../../lambdas/archive/contract.ts';
import type { Authority } from '../../lambdas/jobs/contract/jobs.ts';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { CARRIED_UNTIL_ROW } from '../carrying.ts';
import type { DataStack } from '../data-stack.ts';
import type { Settings } from '../settings.ts';
import { type ArchiveBucket, grantVerify } from './archive-bucket.ts';
import { type FunctionLogs, PayonceFunction } from './payonce-function.ts';
import { payonceMetric } from './payonce-metric.ts';
import { RunbookAlarm } from './runbook-alarm.ts';
import { schedulerRole } from './scheduler-role.ts';

export interface ArchiveAuditorProps {
  readonly data: Pick<DataStack, 'ledger' | 'registry'>;
  readonly logs: FunctionLogs;
  readonly bucket: ArchiveBucket;
  readonly settings: Pick<Settings, 'archiveKeyArn' | 'archiveSigningKeyArn'>;
  /** @default dynamodb */
  readonly authority?: Authority;
}

/**
 * Each hour, runs a function that lists the new objects of the archive in a manifest and verifies a slice of the
 * archive. The function may write manifests and records of verifications, but no archived rows.
 */
export class ArchiveAuditor extends Construct {
  readonly auditor: PayonceFunction;

  constructor(
    scope: Construct,
    id: string,
    { data, logs, bucket, settings, authority = 'dynamodb' }: ArchiveAuditorProps,
  ) {
    super(scope, id);
    const { archiveKeyArn, archiveSigningKeyArn } = settings;
    this.auditor = new PayonceFunction(this, 'Function', {
      ...logs,
      folder: 'archive-auditor',
      timeout: Duration.seconds(AUDITOR_WORKS_SECONDS + 120),
      memoryMb: 1_024,
      environment: {
        [Environment.archiveBucket]: bucket.name,
        [Environment.ledgerTable]: data.ledger.table.tableName,
        [Environment.registryTable]: data.registry.tableName,
        ...defined({ [Environment.archiveSigningKey]: archiveSigningKeyArn }),
      },
    });
    grantVerify(bucket, this.auditor.role);
    const written = ['manifests', 'verifications'].map((to) => `arn:${Aws.PARTITION}:s3:::${bucket.name}/${to}/*`);
    this.auditor.allow('WriteManifests', 's3:PutObject', ...written);
    Validations.of(this.auditor.role).acknowledge({
      id: `AwsSolutions::AwsSolutions-IAM5[Resource::arn:<AWS::Partition>:s3:::${bucket.shown}/verifications/*]`,
      reason: 'Each verification writes its own record.',
    });
    data.ledger.grantRead(this.auditor, ['payment', 'order', 'activity']);
    data.ledger.grantFindOutcomes(this.auditor);
    data.registry.grantRows(this.auditor, 'FindOwners', ['dynamodb:Query'], [RegistryRow.owners]);
    if (authority !== 'dynamodb') {
      this.auditor.setEnvironment({ [Environment.authority]: authority });
      data.registry.grantRows(this.auditor, 'CarriedUntil', ['dynamodb:GetItem'], [CARRIED_UNTIL_ROW]);
    }
    if (archiveSigningKeyArn !== undefined) this.auditor.allow('SignManifests', 'kms:Sign', archiveSigningKeyArn);
    if (archiveKeyArn !== undefined) {
      this.auditor.allow('EncryptManifests', 'kms:GenerateDataKey', archiveKeyArn);
      this.auditor.allow('DecryptArchive', 'kms:Decrypt', archiveKeyArn);
    }
    this.#everyHour();
    new RunbookAlarm(this, 'ManifestsLate', {
      description: 'No manifest was written for the new objects of the archive.',
      entry: 'data.md#the-archive-is-behind',
      metric: payonceMetric({ service: AUDITOR_SERVICE, name: 'archive_listed', period: Duration.hours(1) }),
      threshold: 1,
      evaluationPeriods: MANIFESTS_LATE_HOURS,
      isHeartbeat: true,
    });
    new RunbookAlarm(this, 'ArchiveStopped', {
      description: 'Payments have outcomes, but nothing was archived for an hour.',
      entry: 'data.md#the-archive-is-behind',
      metric: payonceMetric({ service: AUDITOR_SERVICE, name: 'archive_stopped', period: Duration.hours(1) }),
      threshold: 1,
    });
    new RunbookAlarm(this, 'ArchiveDiffers', {
      description: 'A verification found a violation in the Ledger, its archive or the bucket.',
      entry: 'data.md#the-archive-differs',
      metric: payonceMetric({ service: AUDITOR_SERVICE, name: 'archive_differs', period: Duration.hours(1) }),
      threshold: 1,
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
      description: 'Lists the new objects of the archive in a manifest, and verifies a part of the archive.',
      schedule: ScheduleExpression.expression('cron(5 * * * ? *)', TimeZone.ETC_UTC),
      // If all attempts fail, the next hourly run does the work.
      target: new LambdaInvoke(invoked, { role, retryAttempts: 2, maxEventAge: Duration.minutes(30) }),
    });
  }
}
