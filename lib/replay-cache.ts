import { CfnOutput, Duration, RemovalPolicy, Validations } from 'aws-cdk-lib';
import { MathExpression } from 'aws-cdk-lib/aws-cloudwatch';
import { BillingMode, Table } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { Construct } from 'constructs';
import { REPLAY_CACHE_SERVICE, REPLAY_CACHE_TABLE, ReplayCacheMetric } from '../lambdas/authority/contract.ts';
import { StackOutput } from '../lambdas/kernel/contract/api.ts';
import { IdempotencyTable } from '../lambdas/kernel/contract/tables.ts';
import { tableEncryption } from './constructs/data-key.ts';
import { text } from './constructs/data-table.ts';
import type { PayonceFunction } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';

/** An alarm is raised when at least this share of the replays misses the table, in percent. */
const MISSED_PERCENT = 20;
/** If a period of the alarm has fewer replays than this, the alarm is not raised. */
const COUNTED_REPLAYS = 50;

/**
 * A cache of final responses in front of PostgreSQL. PostgreSQL has all of its data, so the table is not backed up and
 * is deleted with the stack.
 */
export class ReplayCache extends Construct {
  readonly #table: Table;

  constructor(scope: Construct, id: string) {
    super(scope, id);
    this.#table = new Table(this, 'Table', {
      partitionKey: text(IdempotencyTable.partitionKey),
      timeToLiveAttribute: IdempotencyTable.timeToLiveAttribute,
      billingMode: BillingMode.PAY_PER_REQUEST,
      removalPolicy: RemovalPolicy.DESTROY,
      ...tableEncryption(this),
    });
    Validations.of(this.#table).acknowledge({
      id: 'AwsSolutions::AwsSolutions-DDB3',
      reason: 'PostgreSQL has everything that this table has.',
    });
    new CfnOutput(this, 'Name', { value: this.#table.tableName }).overrideLogicalId(StackOutput.replayCacheTable);
    const counted = (name: string) =>
      payonceMetric({ service: REPLAY_CACHE_SERVICE, name, period: Duration.minutes(15) });
    new RunbookAlarm(this, 'ReplaysMissed', {
      description: `At least ${MISSED_PERCENT} percent of the replays in 15 minutes were read from PostgreSQL.`,
      entry: 'data.md#replays-miss-the-cache',
      metric: new MathExpression({
        expression: `IF(hits + missed >= ${COUNTED_REPLAYS}, 100 * missed / (hits + missed), 0)`,
        usingMetrics: { hits: counted(ReplayCacheMetric.hits), missed: counted(ReplayCacheMetric.missed) },
        period: Duration.minutes(15),
      }),
      threshold: MISSED_PERCENT,
    });
    new RunbookAlarm(this, 'ReplaysNotCached', {
      description: 'Responses could not be written to the table ReplayCache.',
      entry: 'data.md#replays-miss-the-cache',
      metric: counted(ReplayCacheMetric.notStored),
      threshold: 1,
    });
  }

  grantUse(to: PayonceFunction): void {
    to.setEnvironment({ [REPLAY_CACHE_TABLE]: this.#table.tableName });
    to.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'CacheReplays',
        actions: ['dynamodb:GetItem', 'dynamodb:PutItem'],
        resources: [this.#table.tableArn],
      }),
    );
  }
}
