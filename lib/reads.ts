import { Duration } from 'aws-cdk-lib';
import { Construct } from 'constructs';
import { PAYMENTS_TIMEOUT_SECONDS } from '../lambdas/kernel/contract/timing.ts';
import { engineTables } from './constructs/engine-function.ts';
import type { HttpApi } from './constructs/http-api.ts';
import { type FunctionLogs, PayonceFunction } from './constructs/payonce-function.ts';
import type { DataStack } from './data-stack.ts';
import type { Processors } from './processors.ts';

export interface ReadsProps {
  readonly data: Pick<DataStack, 'idempotency' | 'ledger' | 'registry'>;
  readonly processors: Processors;
  readonly logs: FunctionLogs;
  /** Memory of the function in MB, 128 to 10240. */
  readonly memoryMb: number;
}

/**
 * The function writes only request counts and the days on which keys were last used. The Views construct grants it
 * access to the lists.
 */
export class Reads extends Construct {
  readonly api: PayonceFunction;

  constructor(scope: Construct, id: string, { data, processors, logs, memoryMb }: ReadsProps) {
    super(scope, id);
    this.api = new PayonceFunction(this, 'Default', {
      ...logs,
      folder: 'reads',
      timeout: Duration.seconds(PAYMENTS_TIMEOUT_SECONDS),
      memoryMb,
      environment: engineTables(data),
    });
    data.ledger.grantRead(this.api, ['payment']);
    data.ledger.grantReadTransitions(this.api);
    // To show which event requested a payment, the API reads the payment's record.
    data.idempotency.grantReadClaims(this.api, ['charge']);
    data.registry.grantReadDetails(this.api);
    data.registry.grantAuthenticate(this.api);
    data.registry.grantIdentifyOperators(this.api);
    data.registry.grantReadTenants(this.api);
    processors.grantReadBooks(this.api);
  }

  /** The function also receives every request for which the API has no other route. */
  route(http: HttpApi): void {
    const below = ['/v1/events', '/v1/reports', '/v1/ledger'].map((path) => `${path}/{proxy+}`);
    http.route(['/v1/events', '/v1/balances', ...below], this.api.function);
  }
}
