import { readFileSync } from 'node:fs';
import type { IPolicyValidationContext, IPolicyValidationPlugin, PolicyValidationPluginReport } from 'aws-cdk-lib';
import { POWERTOOLS_IDEMPOTENCY_DISABLED } from '../../lambdas/contract/environment.ts';
import { LEDGER_FORBIDDEN_ACTIONS } from '../constructs/ledger.ts';

interface Resource {
  readonly Type: string;
  readonly Properties?: Record<string, unknown>;
}

interface Statement {
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource?: unknown;
  readonly Condition?: unknown;
}

interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}

interface Rule {
  readonly name: string;
  readonly description: string;
  readonly violates: (resource: Resource) => boolean;
}

/** What no rule pack knows: the promises of this system that a template could break. */
const RULES: readonly Rule[] = [
  {
    name: 'LedgerIsAppendOnly',
    description: 'No policy may allow a change or removal of a Ledger row, or a put outside a transaction.',
    violates: (resource) => statementsOf(resource).some(allowsLedgerChange),
  },
  {
    name: 'NoWildcardOnData',
    description: 'A policy on a table names its actions one by one.',
    violates: (resource) =>
      statementsOf(resource).some(
        ({ Effect, Action }) =>
          Effect === 'Allow' && listOf(Action).some((action) => /^(\*|dynamodb:.*\*)/.test(action)),
      ),
  },
  {
    name: 'IdempotencyStaysOn',
    description: `No function may be deployed with ${POWERTOOLS_IDEMPOTENCY_DISABLED}.`,
    violates: (resource) =>
      resource.Type === 'AWS::Lambda::Function' &&
      JSON.stringify(resource.Properties?.['Environment'] ?? {}).includes(POWERTOOLS_IDEMPOTENCY_DISABLED),
  },
  {
    name: 'LogsEnd',
    description: 'Every log group has a retention.',
    violates: (resource) =>
      resource.Type === 'AWS::Logs::LogGroup' && resource.Properties?.['RetentionInDays'] === undefined,
  },
];

/** Our own rules, judged on the synthesized templates, so that it does not matter which construct wrote them. */
export class PayonceRules implements IPolicyValidationPlugin {
  readonly name = 'Payonce';

  validate(context: IPolicyValidationContext): PolicyValidationPluginReport {
    const violations = context.templatePaths.flatMap((templatePath) => {
      const template = JSON.parse(readFileSync(templatePath, 'utf8')) as Template;
      return findViolations(template).map(({ rule, logicalId }) => ({
        ruleName: rule.name,
        description: rule.description,
        violatingResources: [{ resourceLogicalId: logicalId, templatePath, locations: [] }],
      }));
    });
    return { success: violations.length === 0, violations };
  }
}

/** All resources of a template that break one of our rules. */
export function findViolations(template: Template): readonly { readonly rule: Rule; readonly logicalId: string }[] {
  return Object.entries(template.Resources).flatMap(([logicalId, resource]) =>
    RULES.filter((rule) => rule.violates(resource)).map((rule) => ({ rule, logicalId })),
  );
}

function statementsOf(resource: Resource): readonly Statement[] {
  const { Properties = {} } = resource;
  const inline =
    (Properties['Policies'] as readonly { PolicyDocument: { Statement: Statement[] } }[] | undefined) ?? [];
  const own = Properties['PolicyDocument'] as { Statement?: Statement[] } | undefined;
  if (!resource.Type.startsWith('AWS::IAM::')) return [];
  return [...(own?.Statement ?? []), ...inline.flatMap(({ PolicyDocument }) => PolicyDocument.Statement)];
}

function allowsLedgerChange({ Effect, Action, Resource, Condition }: Statement): boolean {
  const text = JSON.stringify(Resource ?? '');
  if (Effect !== 'Allow' || !(text.includes('Ledger') || text === '"*"')) return false;
  const actions = listOf(Action);
  if (actions.some((action) => LEDGER_FORBIDDEN_ACTIONS.includes(action) || action === 'dynamodb:*')) return true;
  const onlyInTransaction = JSON.stringify(Condition ?? {}).includes(
    '"dynamodb:EnclosingOperation":["TransactWriteItems"]',
  );
  return actions.includes('dynamodb:PutItem') && !onlyInTransaction;
}

function listOf(value: string | readonly string[]): readonly string[] {
  return typeof value === 'string' ? [value] : value;
}
