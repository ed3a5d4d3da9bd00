import type { Duration } from 'aws-cdk-lib';
import { Stack, Validations } from 'aws-cdk-lib';
import { type IGrantable, type IPrincipal, PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, Function, LoggingFormat, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import {
  Environment,
  type NODE_THREADS,
  type SandboxEnvironment,
  TRACING,
} from '../../lambdas/kernel/contract/environment.ts';
import { defined } from '../../lambdas/kernel/defined.ts';
import { lambdaCode } from '../lambda-code.ts';
import { peakRatesOf, retentionOf, tracingOf } from '../settings.ts';
import { refuseLargeEnvironment } from './environment-size.ts';
import { metricNamespace } from './payonce-metric.ts';
import { RetainedLogGroup } from './retained-log-group.ts';

type ValueOf<Names> = Names[keyof Names];
type EnvironmentName = ValueOf<typeof Environment> | typeof NODE_THREADS | ValueOf<typeof SandboxEnvironment>;

export type FunctionLogs = Pick<PayonceFunctionProps, 'logRetentionDays' | 'retainLogs'>;

export interface PayonceFunctionProps {
  /** The file of `lambdas/functions` that exports the handler, without `.ts`. */
  readonly folder: string;
  readonly timeout: Duration;
  /** Lambda assigns CPU in proportion. */
  readonly memoryMb: number;
  /** @default no reservation */
  readonly reservedConcurrency?: number;
  readonly logRetentionDays: number;
  readonly retainLogs: boolean;
  readonly environment: Partial<Record<EnvironmentName, string>>;
}

/**
 * The base construct of all functions. Each function uses Node 24 on arm64 and has its own log group and its own role.
 * By default, the role may only write to this log group.
 */
export class PayonceFunction extends Construct implements IGrantable {
  readonly folder: string;
  readonly function: Function;
  readonly role: Role;
  readonly grantPrincipal: IPrincipal;

  constructor(scope: Construct, id: string, props: PayonceFunctionProps) {
    super(scope, id);
    this.folder = props.folder;
    const logGroup = new RetainedLogGroup(this, 'Logs', {
      retentionDays: props.logRetentionDays,
      retain: props.retainLogs,
    });
    this.role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    this.grantPrincipal = this.role;
    this.role.addToPrincipalPolicy(
      new PolicyStatement({
        sid: 'OwnLog',
        actions: ['logs:CreateLogStream', 'logs:PutLogEvents'],
        resources: [logGroup.logGroupArn],
      }),
    );
    const isTraced = tracingOf(this.node);
    const retention = Environment.idempotencyTable in props.environment ? retentionOf(this.node) : undefined;
    const peakRates = peakRatesOf(this.node);
    this.function = new Function(this, 'Function', {
      code: lambdaCode(Stack.of(this).node, props.folder),
      handler: 'index.handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      role: this.role,
      logGroup,
      loggingFormat: LoggingFormat.JSON,
      ...(isTraced ? { tracing: Tracing.ACTIVE } : {}),
      timeout: props.timeout,
      memorySize: props.memoryMb,
      ...defined({ reservedConcurrentExecutions: props.reservedConcurrency }),
      environment: {
        ...props.environment,
        POWERTOOLS_METRICS_NAMESPACE: metricNamespace(this.node),
        ...(isTraced ? { [TRACING]: 'true' } : {}),
        ...(retention === undefined ? {} : { [Environment.retention]: JSON.stringify(retention) }),
        ...(peakRates === undefined ? {} : { [Environment.peakRates]: JSON.stringify(peakRates) }),
      },
    });
    refuseLargeEnvironment(this.function);
    this.#acknowledge();
  }

  allow(sid: string, action: string, ...resources: string[]): void {
    this.role.addToPrincipalPolicy(new PolicyStatement({ sid, actions: [action], resources }));
  }

  setEnvironment(variables: Readonly<Record<string, string>>): void {
    for (const [name, value] of Object.entries(variables)) this.function.addEnvironment(name, value);
  }

  #acknowledge(): void {
    Validations.of(this).acknowledge(
      {
        id: 'AwsSolutions::AwsSolutions-IAM5[Resource::*]',
        reason:
          'X-Ray actions and the attachment to a VPC do not support resource-level permissions (Service Authorization Reference).',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-IAMNoInlinePolicy',
        reason:
          'The role of a single function has an inline policy: a managed policy could be attached elsewhere or changed separately.',
      },
      {
        id: 'PCI.DSS.321::PCI.DSS.321-LambdaInsideVPC',
        reason:
          'The function calls AWS and processors over TLS and uses no network resource. A VPC would add a NAT gateway and no protection.',
      },
      {
        id: 'Serverless::Serverless-LambdaTracing',
        reason: 'Traces cost money. The setting payonce:tracing enables them.',
      },
      {
        id: 'Serverless::Serverless-LambdaDLQ',
        reason: 'Most functions are invoked synchronously, and a dead-letter queue receives only asynchronous events.',
      },
    );
  }
}
