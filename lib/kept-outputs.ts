import { ArnFormat, CfnOutput, type Stack } from 'aws-cdk-lib';
import type { DataTable } from './constructs/data-table.ts';
import type { RestoredTables } from './restored-tables.ts';

/** Value of outputs whose resources are not deployed with these settings. */
const NOT_DEPLOYED = 'not-deployed';

/**
 * CDK names of the outputs that contain the ARNs of secrets, by the secret's construct id. Lists only secrets that are
 * not deployed with all settings.
 */
const SECRETS: Readonly<Record<string, string>> = {
  BigCommerceToken: 'BigCommerceToken1D77AA9AIdAE2BBC59',
  PostmarkToken: 'PostmarkTokenF70DB93DId4D4034F8',
  ProcessorCallbackSecret: 'ProcessorCallbackSecret68E401E4Id61A72EC4',
  ProcessorSigningKey: 'ProcessorSigningKeyB6285AD4IdD43129E9',
  ShopSigningKey: 'ShopSigningKey0953C692IdED859C5F',
  StripeCallbackSecret: 'StripeCallbackSecret9F89229AIdF393D7B4',
  StripeKey: 'StripeKeyF1DDFBE2IdE888DFA6',
  TestCallbackSecret: 'TestCallbackSecretB07AD019IdC170774F',
  TestProcessorCallbackSecret: 'TestProcessorCallbackSecretEB3D0F3DId53C9A3B1',
  TestProcessorSigningKey: 'TestProcessorSigningKey472C6486Id027C9E4F',
  TestSandboxSecret: 'TestSandboxSecretDD6877C0IdF320CEEB',
  TestStripeCallbackSecret: 'TestStripeCallbackSecret52B24205Id857FE899',
  TestStripeKey: 'TestStripeKey723BA9EFId34438A1E',
};

/** The CDK names of each table's outputs: ARN, name and Stream. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  idempotency: ['FnGetAttIdempotencyC15CBC33Arn21F5AE60', 'RefIdempotencyC15CBC33D18B5CD2'],
  ledger: [
    'FnGetAttLedgerTable9343E4AAArn8A104D73',
    'RefLedgerTable9343E4AA1381E625',
    'FnGetAttLedgerTable9343E4AAStreamArn71D6E909',
  ],
  registry: ['FnGetAttRegistry4DB9CCA5Arn111E4F28', 'RefRegistry4DB9CCA51BD1BB2C'],
  views: ['FnGetAttViewsC0DDE3FEArn3D1A1DF1', 'RefViewsC0DDE3FE1134927E'],
};

interface Tables extends Readonly<Record<'idempotency' | 'registry' | 'views', DataTable>> {
  readonly ledger: { readonly table: DataTable };
}

/**
 * Declares the outputs that the service stack does not read with the current settings, but reads with other settings.
 * Without them, a change of settings would remove outputs of this stack. If the update of the service stack then
 * failed, its rollback would read the removed outputs and fail, too.
 */
export function keepOutputs(stack: Stack & Tables, restored: RestoredTables = {}): void {
  const keep = (name: string, value: string) =>
    new CfnOutput(stack, `Kept${name}`, { value }).overrideLogicalId(`PublishOutput${name}`);
  const arnOf = (service: string, resource: string) =>
    stack.formatArn({ service, resource, arnFormat: ArnFormat.NO_RESOURCE_NAME });
  for (const [id, name] of Object.entries(SECRETS))
    if (stack.node.tryFindChild(id) === undefined)
      keep(`FnGetAtt${name}`, arnOf('secretsmanager', `secret:${NOT_DEPLOYED}`));
  if (stack.node.tryFindChild('DeadLetters') === undefined) {
    keep('FnGetAttDeadLettersBBF8BAABArnDD853029', arnOf('sqs', NOT_DEPLOYED));
    keep('FnGetAttDeadLettersBBF8BAABQueueNameEA293C96', NOT_DEPLOYED);
    keep(
      'RefDeadLettersBBF8BAAB89221DA9',
      `https://sqs.${stack.region}.${stack.urlSuffix}/${stack.account}/${NOT_DEPLOYED}`,
    );
  }
  const { idempotency, ledger, registry, views } = stack;
  for (const [name, { declared }] of Object.entries({ idempotency, ledger: ledger.table, registry, views })) {
    if (!(name in restored)) continue;
    const [arn = '', ref = '', stream] = TABLES[name] ?? [];
    keep(arn, declared.attrArn);
    keep(ref, declared.ref);
    if (stream !== undefined) keep(stream, declared.attrStreamArn);
  }
}
