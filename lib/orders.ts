import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { RegistryRow } from '../lambdas/kernel/contract/rows.ts';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { EngineFunction } from './constructs/engine-function.ts';
import type { HttpApi } from './constructs/http-api.ts';
import type { FunctionLogs } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import type { Parties } from './parties.ts';
import type { Processors } from './processors.ts';

export interface OrdersProps {
  readonly data: Pick<DataStack, 'idempotency' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly parties: Parties;
  readonly http: HttpApi;
  readonly logs: FunctionLogs;
  /** Memory of the function in MB, 128 to 10240. */
  readonly memoryMb: number;
}

/**
 * The orders API. It claims operations and appends transitions like the payments API, and calls the external services
 * of orders: stock, referrals and e-mail.
 */
export class Orders extends Construct {
  readonly api: EngineFunction;

  constructor(scope: Construct, id: string, props: OrdersProps) {
    super(scope, id);
    const { data, processors, parties, http, logs, memoryMb } = props;
    this.api = new EngineFunction(this, 'Default', {
      ...logs,
      folder: 'orders',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb,
      data,
      processors,
      appends: ['payment', 'order'],
      changes: true,
    });
    data.idempotency.grantClaim(this.api, ['order', 'charge', 'cancel', 'refund']);
    data.idempotency.grantCommit(this.api, ['inquiry']);
    data.registry.grantAuthenticate(this.api);
    const { details, return: giveBack, inquiry, openOrder, hold } = RegistryRow;
    data.registry.grantRows(this.api, 'Queue', ['dynamodb:PutItem'], [details, giveBack, inquiry, openOrder, hold]);
    parties.grantSend(this.api);
    http.route(['/v1/orders', '/v1/orders/{proxy+}'], this.api.function);
  }
}
