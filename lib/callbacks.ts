import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { CALLBACKS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import type { HttpApi } from './constructs/http-api.ts';
import type { FunctionLogs } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';

export interface CallbacksProps {
  readonly data: Pick<DataStack, 'idempotency' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  /** Memory of the function in MB, 128 to 10240. */
  readonly memoryMb: number;
}

/**
 * Receives the processors' callbacks. The function reads payments, records callbacks, appends transitions and puts
 * queue entries. If DynamoDB is the authority, the function may neither update nor delete a row.
 */
export class Callbacks extends Construct {
  readonly api: EngineFunction;

  constructor(scope: Construct, id: string, { data, processors, http, logs, memoryMb }: CallbacksProps) {
    super(scope, id);
    this.api = new EngineFunction(this, 'Default', {
      ...logs,
      folder: 'callbacks',
      timeout: Duration.seconds(CALLBACKS_TIMEOUT_SECONDS),
      memoryMb,
      data,
      processors,
    });
    processors.grantVerifyCallbacks(this.api);
    data.idempotency.grantCommit(this.api, ['callback', 'inquiry']);
    const { orphan, return: giveBack, inquiry, openOrder, hold } = RegistryRow;
    const queues = [orphan, giveBack, inquiry, openOrder, hold];
    data.registry.grantRows(this.api, 'ShelveOrphans', ['dynamodb:PutItem'], queues);
    http.route(['/callbacks/{proxy+}'], this.api.function);
  }
}
