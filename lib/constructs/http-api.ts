import { RemovalPolicy, Size, Validations } from 'aws-cdk-lib';
import {
  AccessLogField,
  AccessLogFormat,
  CfnBasePathMapping,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { Settings } from '../settings.ts';
import { answerWithProblems } from './gateway-problems.ts';
import { RetainedLogGroup } from './retained-log-group.ts';

export interface HttpApiProps {
  readonly description: string;
  readonly settings: Pick<
    Settings,
    'throttlingRate' | 'throttlingBurst' | 'logRetentionDays' | 'retainData' | 'accountLogRole'
  >;
  /** Answers every path and method that has no route of its own. */
  readonly fallback: Function;
}

/**
 * Answers from this size are compressed for callers that accept gzip: lists and the API's documents. An answer about one
 * payment is smaller and does not wait for the compression.
 */
const COMPRESSED_FROM = Size.kibibytes(8);

/** A REST API in front of functions: throttled, its access logged, and its own refusals in the form of the API's errors. */
export class HttpApi extends Construct {
  readonly api: RestApi;

  constructor(scope: Construct, id: string, props: HttpApiProps) {
    super(scope, id);
    const { settings, fallback, description } = props;
    const accessLog = new RetainedLogGroup(this, 'AccessLog', {
      retentionDays: settings.logRetentionDays,
      retain: settings.retainData,
    });
    const api = new RestApi(this, 'Api', {
      description,
      endpointTypes: [EndpointType.REGIONAL],
      minCompressionSize: COMPRESSED_FROM,
      // A stage that logs is refused until its account has such a role (Amazon API Gateway, "Set up CloudWatch logging").
      cloudWatchRole: settings.accountLogRole,
      // It is the account's, not the stack's: one that went with its stack would leave all other APIs without logs.
      ...(settings.accountLogRole ? { cloudWatchRoleRemovalPolicy: RemovalPolicy.RETAIN } : {}),
      defaultIntegration: integrationOf(fallback),
      deployOptions: {
        stageName: 'live',
        throttlingRateLimit: settings.throttlingRate,
        throttlingBurstLimit: settings.throttlingBurst,
        // Metrics per method cost money for each method; those of the stage are there without.
        metricsEnabled: false,
        tracingEnabled: true,
        accessLogDestination: new LogGroupLogDestination(accessLog),
        accessLogFormat: accessLogFormat(),
      },
    });
    this.api = api;
    // The construct's own output of the address; the stacks have theirs, without a trailing slash.
    this.api.node.tryRemoveChild('Endpoint');
    this.api.root.addMethod('ANY');
    // What matches no route falls through to this one, whatever lies between (Amazon API Gateway, greedy path variables).
    this.api.root.addProxy({ anyMethod: true });
    answerWithProblems(this.api);
    acknowledge(this.api);
  }

  /**
   * Serves the API under a domain of the data stack as well, where there is one. By name: an export of the data stack could not be
   * removed while it is used here.
   *
   * @returns the base address for callers, without a trailing slash
   */
  serve({ domainName, basePath }: Pick<Settings, 'domainName' | 'basePath'>): string {
    if (domainName === undefined) return this.url;
    new CfnBasePathMapping(this, 'Mapping', {
      domainName,
      restApiId: this.api.restApiId,
      stage: this.api.deploymentStage.stageName,
      ...(basePath === undefined ? {} : { basePath }),
    });
    return `https://${domainName}${basePath === undefined ? '' : `/${basePath}`}`;
  }

  /** The base address that AWS gives, without a trailing slash. */
  get url(): string {
    return `https://${this.api.restApiId}.execute-api.${this.api.env.region}.${this.api.stack.urlSuffix}/${this.api.deploymentStage.stageName}`;
  }

  /**
   * Sends paths, with any method, to a function. Its router answers 404 and 405.
   *
   * @param paths `/v1/orders` for itself only, `/v1/orders/{proxy+}` for everything below it. The most specific path applies
   */
  route(paths: readonly string[], handler: Function): void {
    const integration = integrationOf(handler);
    for (const path of paths) this.api.root.resourceForPath(path).addMethod('ANY', integration);
  }
}

/** One permission for each function: the default is one for each method, up to the limit of a function's policy. */
function integrationOf(handler: Function): LambdaIntegration {
  return new LambdaIntegration(handler, { scopePermissionToMethod: false });
}

/** The caller, the resource and the result, without query, header and body. The path is not logged: it may contain any text. */
function accessLogFormat(): AccessLogFormat {
  return AccessLogFormat.custom(
    JSON.stringify({
      requestId: AccessLogField.contextRequestId(),
      time: AccessLogField.contextRequestTimeEpoch(),
      ip: AccessLogField.contextIdentitySourceIp(),
      method: AccessLogField.contextHttpMethod(),
      resource: AccessLogField.contextResourcePath(),
      status: AccessLogField.contextStatus(),
      responseLength: AccessLogField.contextResponseLength(),
      latencyMs: AccessLogField.contextResponseLatency(),
      integrationError: AccessLogField.contextIntegrationErrorMessage(),
    }),
  );
}

/** Findings that hold for every API of ours; each with its reason, in the synthesized validation report. */
function acknowledge(api: RestApi): void {
  Validations.of(api).acknowledge(
    {
      id: 'AwsSolutions::AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/AmazonAPIGatewayPushToCloudWatchLogs]',
      reason:
        'The role is for every API of the account, and API Gateway refuses one that lacks what this policy holds.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG2',
      reason:
        'The functions check every request, with errors that name the field: the gateway could only say that it is wrong.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG3',
      reason: 'A web ACL costs money every month: the setting payonce:firewall adds one to the API that takes money.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG4',
      reason:
        'API keys are checked in the function, against their hashes, so that all refusals have one form and one body.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-COG4',
      reason: 'The callers are servers with API keys, not people with passwords.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG6',
      reason: 'Execution logs hold bodies and headers, keys among them; the access log holds neither and is on.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWExecutionLoggingEnabled',
      reason: 'Execution logs hold bodies and headers, keys among them; the access log holds neither and is on.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWAssociatedWithWAF',
      reason: 'A web ACL costs money every month: the setting payonce:firewall adds one to the API that takes money.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWCacheEnabledAndEncrypted',
      reason: 'Nothing is cached, so nothing cached is readable: a cache would serve one tenant’s answer to another.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWSSLEnabled',
      reason:
        'The finding is about certificates towards HTTP backends; a Lambda integration is called with signed requests.',
    },
  );
}
