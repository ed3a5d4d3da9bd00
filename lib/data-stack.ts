import type { StackProps } from 'aws-cdk-lib';
import { CfnOutput, CfnWaitConditionHandle, Stack } from 'aws-cdk-lib';
import { DomainName, EndpointType, SecurityPolicy } from 'aws-cdk-lib/aws-apigateway';
import { Certificate } from 'aws-cdk-lib/aws-certificatemanager';
import { CfnTable } from 'aws-cdk-lib/aws-dynamodb';
import type { Construct } from 'constructs';
import { StackOutput } from '../lambdas/kernel/contract/api.ts';
import { KeyAttribute, ViewsTable } from '../lambdas/kernel/contract/tables.ts';
import { defined } from '../lambdas/kernel/defined.ts';
import { AccountLogRole } from './constructs/account-log-role.ts';
import type { ArchiveBucket } from './constructs/archive-bucket.ts';
import { AuditingRole, RowRestoreRole } from './constructs/auditing-role.ts';
import { DataTable, text } from './constructs/data-table.ts';
import { DeadLetterQueue } from './constructs/dead-letter-queue.ts';
import { DsqlCluster } from './constructs/dsql-cluster.ts';
import { EventBus } from './constructs/event-bus.ts';
import { ExportsBucket } from './constructs/exports-bucket.ts';
import { Idempotency } from './constructs/idempotency.ts';
import { Ledger } from './constructs/ledger.ts';
import { ProcessorSecret } from './constructs/processor-secret.ts';
import { Registry, type RegistryProps } from './constructs/registry.ts';
import { keepOutputs } from './kept-outputs.ts';
import { processorSecrets, type SecretsOfProcessors } from './processors.ts';
import { restoredOf } from './restored-tables.ts';
import { peakRatesOf, type Settings } from './settings.ts';

export interface DataStackProps extends StackProps {
  /**
   * Bucket of the archive.
   * @default there is no archive
   */
  readonly archiveBucket?: ArchiveBucket;
  readonly settings: Pick<
    Settings,
    | 'retainData'
    | 'authority'
    | 'dsqlWitnessRegion'
    | 'dsqlLinkedClusterArn'
    | 'accountLogRole'
    | 'jobTargets'
    | 'warmWriteUnits'
    | 'restoredTables'
    | 'eventArchive'
    | 'archiveKeyArn'
    | 'operatorAudience'
    | 'operatorIssuer'
    | 'operatorRoleClaim'
    | 'operatorRoles'
    | 'tenantRate'
    | 'tenantBurst'
    | 'processors'
    | 'sandbox'
    | 'shopUrl'
    | 'shop'
    | 'domainName'
    | 'certificateArn'
  >;
}

/**
 * The stateful resources: four tables with different lifetimes, the cluster of Aurora DSQL if there is one, the event
 * bus, the exports, the secrets, the dead letters of vendor calls, and the domain name of the API. A deployment of the
 * service never replaces them. The stack also contains the roles of operators and auditors who work with the Ledger
 * directly.
 */
export class DataStack extends Stack {
  readonly idempotency: Idempotency;
  readonly ledger: Ledger;
  readonly registry: Registry;
  readonly views: DataTable;
  /** The Aurora DSQL cluster that is the system of record. Undefined unless the setting `authority` is `dsql`. */
  readonly cluster?: DsqlCluster;
  readonly events: EventBus;
  /** The bucket with the files of exports. */
  readonly exports: ExportsBucket;
  /**
   * The root keys from which the secrets of merchants' webhook endpoints are derived. The derived secrets are not
   * stored.
   */
  readonly webhookRoot: ProcessorSecret;
  /** The keys for hashing e-mail addresses. Payments and orders are indexed by the hashes. */
  readonly emailKeys: ProcessorSecret;
  /** The secret with which the executor signs its credentials for the job routes. */
  readonly jobCredential: ProcessorSecret;
  /** Secrets by target name. Each secret signs the calls to one target, and is shared with that target. */
  readonly jobTargetCredentials: Readonly<Record<string, ProcessorSecret>>;
  /** The processors' signing secrets and API keys. The operator sets the values that a processor issues. */
  readonly processors: SecretsOfProcessors;
  /** The dead letters of calls to the parties of orders. Undefined without parties. */
  readonly deadLetters?: DeadLetterQueue;
  /** The token of the Postmark server. The operator sets the value that Postmark issues. Undefined without e-mails. */
  readonly postmarkToken?: ProcessorSecret;
  /** The secret that signs the calls to the shop. Undefined when no shop is configured. */
  readonly shopSigningKey?: ProcessorSecret;
  /** The token of the BigCommerce store, if the shop is a BigCommerce store. The operator sets the value. */
  readonly bigcommerceToken?: ProcessorSecret;

  constructor(scope: Construct, id: string, props: DataStackProps) {
    super(scope, id, { ...props, terminationProtection: props.settings.retainData });
    const retain = props.settings.retainData;
    const { idempotency, ledger, registry, views } = restoredOf(props.settings.restoredTables);
    // Adds one placeholder resource per restored table. If no resource changed, CloudFormation might skip the
    // deployment, and the outputs would keep their old values.
    for (const { name } of [idempotency, ledger, registry, views].flatMap((table) => table ?? []))
      new CfnWaitConditionHandle(this, `Restored${name.replaceAll(/[^A-Za-z0-9]/g, '')}`);
    this.idempotency = new Idempotency(this, 'Idempotency', { retain, restored: idempotency });
    this.ledger = new Ledger(this, 'Ledger', { retain, restored: ledger });
    this.registry = new Registry(this, 'Registry', {
      retain,
      restored: registry,
      ...identityProviderOf(props.settings),
      tenantLimit: { rate: props.settings.tenantRate, burst: props.settings.tenantBurst },
    });
    this.views = new DataTable(this, 'Views', {
      partitionKey: KeyAttribute.partition,
      sortKey: KeyAttribute.sort,
      retain,
      restored: views,
    });
    this.views.addIndex({
      indexName: ViewsTable.listsIndex.name,
      partitionKey: text(ViewsTable.listsIndex.partitionKey),
      sortKey: text(KeyAttribute.sort),
    });
    if (props.settings.authority === 'dsql')
      this.cluster = new DsqlCluster(this, 'Cluster', { retain, settings: props.settings });
    if (props.settings.warmWriteUnits !== undefined) this.#warm(props.settings.warmWriteUnits);
    this.events = new EventBus(this, 'Events', { retain, archive: props.settings.eventArchive });
    this.exports = new ExportsBucket(this, 'Exports');
    this.processors = processorSecrets(this, props.settings.processors, retain);
    this.webhookRoot = new ProcessorSecret(this, 'WebhookRoot', {
      description: 'Root keys from which webhook secrets are derived. Append new keys at the end; never remove a key.',
      retain,
    });
    this.emailKeys = new ProcessorSecret(this, 'EmailKeys', {
      description:
        'Keys that hash e-mail addresses, so that payments and orders can be found by address. The first key hashes the addresses in new rows; searches use every key.',
      retain,
    });
    this.jobCredential = new ProcessorSecret(this, 'JobCredential', {
      description: 'Keys that sign requests for job runs. The first key signs; signatures of every key are accepted.',
      retain,
    });
    this.jobTargetCredentials = targetCredentials(this, Object.keys(props.settings.jobTargets ?? {}), retain);
    const { sandbox, shopUrl, shop } = props.settings;
    const isBigCommerce = shop === 'bigcommerce';
    if (sandbox || shopUrl !== undefined || isBigCommerce) {
      this.deadLetters = new DeadLetterQueue(this, 'DeadLetters', { retain });
      new CfnOutput(this, StackOutput.deadLettersQueue, { value: this.deadLetters.queueUrl });
    }
    Object.assign(this, partySecrets(this, props.settings, retain));
    // This role is deployed before the API stages, whose logs need the role.
    if (props.settings.accountLogRole) new AccountLogRole(this, 'AccountLogRole');
    this.#makeDomain(props.settings);
    keepOutputs(this, props.settings.restoredTables);

    const { archiveBucket } = props;
    const audited = {
      ledger: this.ledger,
      restored: ledger,
      registry: this.registry,
      archive: archiveBucket,
      archiveKeyArn: props.settings.archiveKeyArn,
    };
    if (archiveBucket !== undefined) new CfnOutput(this, StackOutput.archiveBucket, { value: archiveBucket.name });
    const { role } = new RowRestoreRole(this, 'RowRestore', audited);
    new CfnOutput(this, StackOutput.rowRestoreRole, { value: role.roleArn });
    new CfnOutput(this, StackOutput.auditingRole, { value: new AuditingRole(this, 'Auditing', audited).role.roleArn });
    this.#outputTables();
    new CfnOutput(this, StackOutput.eventBus, { value: this.events.bus.eventBusName });
  }

  /** The peak rates determine the number of partitions of hot rows. */
  #outputTables(): void {
    new CfnOutput(this, StackOutput.idempotencyTable, { value: this.idempotency.tableName });
    new CfnOutput(this, StackOutput.ledgerTable, { value: this.ledger.table.tableName });
    new CfnOutput(this, StackOutput.registryTable, { value: this.registry.tableName });
    new CfnOutput(this, StackOutput.viewsTable, { value: this.views.tableName });
    const peakRates = peakRatesOf(this.node);
    if (peakRates !== undefined) new CfnOutput(this, StackOutput.peakRates, { value: JSON.stringify(peakRates) });
  }

  /** An index has its own throughput, and writes to a table are throttled if one of its indexes is throttled. */
  #warm(WriteUnitsPerSecond: number): void {
    for (const table of this.node.findAll().filter((node) => node instanceof CfnTable)) {
      table.addPropertyOverride('WarmThroughput', { WriteUnitsPerSecond });
      const indexes = this.resolve(table.globalSecondaryIndexes) as readonly unknown[] | undefined;
      for (const index of (indexes ?? []).keys())
        table.addPropertyOverride(`GlobalSecondaryIndexes.${index}.WarmThroughput`, { WriteUnitsPerSecond });
    }
  }

  /** The operator's DNS record points to the domain name's target, which does not change while this stack exists. */
  #makeDomain({ domainName, certificateArn }: DataStackProps['settings']): void {
    if (domainName === undefined || certificateArn === undefined) return;
    const domain = new DomainName(this, 'Domain', {
      domainName,
      certificate: Certificate.fromCertificateArn(this, 'Certificate', certificateArn),
      endpointType: EndpointType.REGIONAL,
      securityPolicy: SecurityPolicy.TLS_1_2,
    });
    new CfnOutput(this, StackOutput.domainTarget, { value: domain.domainNameAliasDomainName });
  }
}

function identityProviderOf({
  operatorIssuer: issuer,
  operatorAudience: audience,
  operatorRoleClaim: roleClaim,
  operatorRoles: roles,
}: DataStackProps['settings']): Pick<RegistryProps, 'identityProvider'> {
  if (issuer === undefined || audience === undefined) return {};
  return { identityProvider: { issuer, audience, roleClaim, ...defined({ roles }) } };
}

/** The credential for one target is useless at another. */
function targetCredentials(
  scope: Construct,
  targets: readonly string[],
  retain: boolean,
): Readonly<Record<string, ProcessorSecret>> {
  const secretOf = (target: string): [string, ProcessorSecret] => [
    target,
    new ProcessorSecret(scope, `JobTarget-${target}`, {
      description: `Signing key for job calls to the target ${target}. Payonce signs with the first value.`,
      retain,
    }),
  ];
  return Object.fromEntries(targets.map(secretOf));
}

/** Creates the secrets of the shop and the e-mail service of orders. The sandbox needs neither. */
function partySecrets(
  scope: Construct,
  { shopUrl, shop }: DataStackProps['settings'],
  retain: boolean,
): Pick<DataStack, 'shopSigningKey' | 'bigcommerceToken' | 'postmarkToken'> {
  if (shopUrl === undefined && shop !== 'bigcommerce') return {};
  const issued = (id: string, of: string) =>
    new ProcessorSecret(scope, id, {
      description: `The token of ${of}. The operator sets the value.`,
      retain,
      issued: true,
    });
  const ofShop =
    shopUrl === undefined
      ? { bigcommerceToken: issued('BigCommerceToken', 'the BigCommerce store') }
      : {
          shopSigningKey: new ProcessorSecret(scope, 'ShopSigningKey', {
            description:
              'Signing key for the calls to the shop (Standard Webhooks). Payonce signs with the first value.',
            retain,
          }),
        };
  return { ...ofShop, postmarkToken: issued('PostmarkToken', 'the Postmark server') };
}
