import { readFileSync } from 'node:fs';
import type { IPolicyValidationContext, IPolicyValidationPlugin, PolicyValidationPluginReport } from 'aws-cdk-lib';
import { POWERTOOLS_IDEMPOTENCY_DISABLED } from '../../lambdas/kernel/contract/environment.ts';
import { LEDGER_FORBIDDEN_ACTIONS } from '../constructs/ledger.ts';

interface Resource {
  readonly Type: string;
  readonly Properties?: Record<string, unknown>;
}

interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action?: string | readonly string[];
  readonly NotAction?: string | readonly string[];
  readonly Resource?: unknown;
  readonly NotResource?: unknown;
  readonly Condition?: unknown;
}

interface PolicyDocument {
  readonly Statement?: readonly Statement[];
}

interface PolicyHolder {
  readonly PolicyDocument?: PolicyDocument;
  readonly Policies?: readonly { readonly PolicyDocument?: PolicyDocument }[];
  readonly ResourcePolicy?: { readonly PolicyDocument?: PolicyDocument };
}

interface Template {
  readonly Resources: Readonly<Record<string, Resource>>;
}

interface Rule {
  readonly name: string;
  readonly description: string;
  readonly violates: (resource: Resource) => boolean;
}

const IN_TRANSACTION = '"ForAnyValue:StringEquals":{"dynamodb:EnclosingOperation":["TransactWriteItems"]}';

/** Payonce's own guarantees, which no rule pack checks. */
const RULES: readonly Rule[] = [
  {
    name: 'LedgerIsAppendOnly',
    description: 'No policy may allow a change or removal of a Ledger row, or a put outside a transaction.',
    violates: (resource) => statementsOf(resource).some(allowsLedgerChange),
  },
  {
    name: 'NoWildcardOnData',
    description: 'A policy on a table must name each action, without wildcards.',
    violates: (resource) =>
      statementsOf(resource).some(({ Effect, Action }) => Effect === 'Allow' && listOf(Action).some(isWildcardOnData)),
  },
  {
    name: 'StatementIdsAreUnique',
    description:
      'The statements of a policy must have different ids. IAM refuses duplicates, but the AWS CDK allows them.',
    violates: (resource) => documentsOf(resource).some(repeatsId),
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
    description:
      'Every log group has a retention, and every function has a log group in the stack, because a log group that Lambda creates has no retention.',
    violates: ({ Type, Properties = {} }) =>
      (Type === 'AWS::Logs::LogGroup' && Properties['RetentionInDays'] === undefined) ||
      (Type === 'AWS::Lambda::Function' && !JSON.stringify(Properties['LoggingConfig'] ?? {}).includes('"LogGroup":')),
  },
];

/** The rules check the synthesized templates and therefore cover all constructs. */
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

export function findViolations(template: Template): readonly { readonly rule: Rule; readonly logicalId: string }[] {
  return Object.entries(template.Resources).flatMap(([logicalId, resource]) =>
    RULES.filter((rule) => rule.violates(resource)).map((rule) => ({ rule, logicalId })),
  );
}

function documentsOf({ Properties = {} }: Resource): readonly (readonly Statement[])[] {
  const { PolicyDocument, Policies = [], ResourcePolicy } = Properties as PolicyHolder;
  const documents = [
    PolicyDocument,
    ...Policies.map((policy) => policy.PolicyDocument),
    ResourcePolicy?.PolicyDocument,
  ];
  return documents.map((document) => document?.Statement ?? []);
}

function statementsOf(resource: Resource): readonly Statement[] {
  return documentsOf(resource).flat();
}

function repeatsId(statements: readonly Statement[]): boolean {
  const ids = statements.flatMap(({ Sid }) => Sid ?? []);
  return new Set(ids).size < ids.length;
}

function allowsLedgerChange(statement: Statement): boolean {
  if (statement.Effect !== 'Allow' || !mayCoverLedger(statement)) return false;
  const actions = listOf(statement.Action);
  // A statement with `NotAction` allows all actions that it does not list.
  if (statement.NotAction !== undefined) return true;
  if (actions.some((action) => LEDGER_FORBIDDEN_ACTIONS.includes(action) || isWildcardOnData(action))) return true;
  return actions.includes('dynamodb:PutItem') && !JSON.stringify(statement.Condition ?? {}).includes(IN_TRANSACTION);
}

function mayCoverLedger({ Resource, NotResource }: Statement): boolean {
  if (NotResource !== undefined) return true;
  const text = JSON.stringify(Resource ?? '*');
  return text.includes('Ledger') || text.includes('"*"') || text.includes('table/*');
}

function isWildcardOnData(action: string): boolean {
  return action === '*' || /^dynamodb:.*[*?]/i.test(action);
}

function listOf(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}
