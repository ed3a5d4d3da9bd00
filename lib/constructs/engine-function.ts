import type { Construct } from 'constructs';
import { Environment } from '../../lambdas/kernel/contract/environment.ts';
import type { DataStack } from '../data-stack.ts';
import type { Processors } from '../processors.ts';
import type { LedgerKind } from './ledger.ts';
import { PayonceFunction, type PayonceFunctionProps } from './payonce-function.ts';

export interface EngineFunctionProps extends Omit<PayonceFunctionProps, 'environment'> {
  readonly data: Pick<DataStack, 'idempotency' | 'ledger' | 'registry'>;
  /** @default none */
  readonly processors?: Processors;
  /** @default payments */
  readonly appends?: readonly LedgerKind[];
  /** @default the kinds in `appends` */
  readonly reads?: readonly LedgerKind[];
  /**
   * Whether the function captures, cancels or refunds payments. Such a function may read rows of the Ledger in batches.
   * @default false
   */
  readonly changes?: boolean;
}

/** A function that appends to the Ledger. Permissions to claim or to write to queues are granted separately. */
export class EngineFunction extends PayonceFunction {
  constructor(
    scope: Construct,
    id: string,
    { data, processors, appends = ['payment'], reads = appends, changes = false, ...own }: EngineFunctionProps,
  ) {
    super(scope, id, { ...own, environment: engineTables(data) });
    data.ledger.grantAppend(this, appends);
    // A capture, cancellation or refund reads the payment's first transition and an earlier change in one call.
    data.ledger.grantRead(this, reads, changes ? ['dynamodb:BatchGetItem'] : []);
    data.registry.grantReadDetails(this);
    processors?.grantCall(this);
  }
}

export function engineTables({ idempotency, ledger, registry }: EngineFunctionProps['data']) {
  return {
    [Environment.idempotencyTable]: idempotency.tableName,
    [Environment.ledgerTable]: ledger.table.tableName,
    [Environment.registryTable]: registry.tableName,
  };
}
