import { ProjectionType } from 'aws-cdk-lib/aws-dynamodb';
import type { IGrantable } from 'aws-cdk-lib/aws-iam';
import type { Construct } from 'constructs';
import { Environment, type IdentityProviderSettings } from '../../lambdas/kernel/contract/environment.ts';
import type { RateLimit } from '../../lambdas/kernel/contract/limits.ts';
import { type EmailRow, QueueRow, RegistryRow } from '../../lambdas/kernel/contract/rows.ts';
import { IdempotencyTable, KeyAttribute, RegistryTable } from '../../lambdas/kernel/contract/tables.ts';
import type { RestoredTable } from '../restored-tables.ts';
import { DataTable, number, text } from './data-table.ts';
import type { PayonceFunction } from './payonce-function.ts';

export interface RegistryProps {
  readonly retain: boolean;
  /** @default the declared table is used */
  readonly restored?: RestoredTable | undefined;
  /** Rate limit of payments and reads for every tenant without its own limit. */
  readonly tenantLimit: RateLimit;
  /** @default operators use keys */
  readonly identityProvider?: IdentityProviderSettings;
}

/** The table of mutable data, for example API keys, references, queues of unfinished work, endpoints and job runs. */
export class Registry extends DataTable {
  readonly #limit: RateLimit;
  readonly #identityProvider: IdentityProviderSettings | undefined;

  constructor(scope: Construct, id: string, { retain, restored, tenantLimit, identityProvider }: RegistryProps) {
    super(scope, id, {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      // Only a few kinds of rows expire, such as deliveries.
      timeToLiveAttribute: IdempotencyTable.timeToLiveAttribute,
      retain,
      restored,
    });
    this.#limit = tenantLimit;
    this.#identityProvider = identityProvider;
    const { dueIndex, queuesIndex, emailIndex } = RegistryTable;
    this.addIndex({
      indexName: dueIndex.name,
      partitionKey: text(dueIndex.partitionKey),
      sortKey: number(dueIndex.sortKey),
      projectionType: ProjectionType.KEYS_ONLY,
    });
    this.addIndex({
      indexName: queuesIndex.name,
      partitionKey: text(queuesIndex.partitionKey),
      sortKey: number(queuesIndex.sortKey),
      projectionType: ProjectionType.ALL,
    });
    this.addIndex({
      indexName: emailIndex.name,
      partitionKey: text(emailIndex.partitionKey),
      sortKey: text(emailIndex.sortKey),
      projectionType: ProjectionType.KEYS_ONLY,
    });
  }

  grantFindByEmail(grantee: IGrantable, kind: (typeof EmailRow)[keyof typeof EmailRow]): void {
    this.grantRowsOfIndex(grantee, 'FindByEmail', RegistryTable.emailIndex.name, [kind]);
  }

  grantReadQueues(grantee: IGrantable): void {
    this.grantRowsOfIndex(grantee, 'ReadQueues', RegistryTable.queuesIndex.name, Object.values(QueueRow));
  }

  grantAuthenticate(api: PayonceFunction): void {
    this.grantRows(api, 'ReadApiKeys', ['dynamodb:GetItem'], [RegistryRow.apiKey]);
    this.grantRows(api, 'NoteUseOfKeys', ['dynamodb:UpdateItem'], [RegistryRow.apiKeyUse]);
    this.grantCountRequests(api);
  }

  grantCountRequests(grantee: PayonceFunction): void {
    this.grantRows(grantee, 'CountRequests', ['dynamodb:UpdateItem'], [RegistryRow.limit]);
    grantee.setEnvironment({ [Environment.tenantLimit]: JSON.stringify(this.#limit) });
  }

  grantIdentifyOperators(api: PayonceFunction): void {
    this.grantRows(api, 'ReadOperatorKeys', ['dynamodb:GetItem'], [RegistryRow.operatorKey]);
    this.grantRows(api, 'NoteUseOfKeys', ['dynamodb:UpdateItem'], [RegistryRow.apiKeyUse]);
    if (this.#identityProvider !== undefined)
      api.setEnvironment({ [Environment.identityProvider]: JSON.stringify(this.#identityProvider) });
  }

  grantReadTenants(grantee: IGrantable): void {
    this.grantRows(grantee, 'ReadTenants', ['dynamodb:GetItem'], [RegistryRow.tenants]);
  }

  /** Allows `grantee` to read the personal data of payments and orders. */
  grantReadDetails(grantee: IGrantable): void {
    this.grantRows(grantee, 'ReadDetails', ['dynamodb:GetItem', 'dynamodb:Query'], [RegistryRow.details]);
  }
}
