import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { Environment } from '../lambdas/kernel/contract/environment.ts';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import type { FunctionLogs } from './constructs/payonce-function.ts';
import { payonceMetric } from './constructs/payonce-metric.ts';
import { RunbookAlarm } from './constructs/runbook-alarm.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';

export interface PaymentsProps {
  readonly data: Pick<DataStack, 'emailKeys' | 'idempotency' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly logs: FunctionLogs;
  /** Memory of the function in MB, 128 to 10240. */
  readonly memoryMb: number;
  /**
   * Reserved concurrency, 1 to 10000, taken from the account's limit.
   * @default no reservation
   */
  readonly reservedConcurrency?: number;
}

/**
 * Number of repeated requests without a stored response in five minutes. Two consecutive periods with this many raise
 * an alarm. A client that mistakenly retries last week's requests causes fewer.
 */
const MISSED_REPLAYS = 20;

/** API for requests that change payments. Its function claims the request, calls the processor and commits. */
export class Payments extends Construct {
  readonly api: EngineFunction;

  constructor(scope: Construct, id: string, props: PaymentsProps) {
    super(scope, id);
    const { data, processors, logs, memoryMb, reservedConcurrency } = props;
    this.api = new EngineFunction(this, 'Default', {
      ...logs,
      folder: 'payments',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb,
      ...defined({ reservedConcurrency }),
      data,
      processors,
      changes: true,
    });
    data.idempotency.grantClaim(this.api, ['charge', 'capture', 'cancel', 'refund']);
    data.idempotency.grantCommit(this.api, ['inquiry']);
    new RunbookAlarm(this, 'ReplaysMissed', {
      description: 'Repeated requests do not find their stored responses.',
      entry: 'payments.md#replays-are-missed',
      metric: payonceMetric({ service: 'payments', name: 'replay_missed', period: Duration.minutes(5) }),
      threshold: MISSED_REPLAYS,
      evaluationPeriods: 2,
    });
    data.registry.grantAuthenticate(this.api);
    this.api.setEnvironment({ [Environment.emailKeysSecretId]: data.emailKeys.arn });
    data.emailKeys.grantReadTo(this.api);
    const { reference, details, hold, inquiry, openOrder, return: giveBack } = RegistryRow;
    data.registry.grantRows(
      this.api,
      'WriteReferences',
      ['dynamodb:PutItem'],
      [reference, details, giveBack, inquiry, openOrder, hold],
    );
  }
}
