import { Size, Stack, Validations } from 'aws-cdk-lib';
import {
  AccessLogField,
  AccessLogFormat,
  CfnBasePathMapping,
  type CfnRestApi,
  EndpointType,
  LambdaIntegration,
  LogGroupLogDestination,
  RestApi,
} from 'aws-cdk-lib/aws-apigateway';
import type { Function } from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import { defined } from '../../lambdas/kernel/defined.ts';
import { type Settings, tracingOf } from '../settings.ts';
import { answerWithProblems } from './gateway-problems.ts';
import { RetainedLogGroup } from './retained-log-group.ts';

export interface HttpApiProps {
  readonly description: string;
  /** Whether the API serves documents, with an explanation of each problem. @default true */
  readonly isDocumented?: boolean;
  readonly settings: Pick<
    Settings,
    'throttlingRate' | 'throttlingBurst' | 'logRetentionDays' | 'retainData' | 'domainName' | 'basePath'
  >;
  /** Handles every path and method without its own route. */
  readonly fallback: Function;
}

/**
 * Minimum size of responses that are compressed for callers that accept gzip: lists and the API documents. A response
 * with one payment is smaller and is not compressed. The gateway compresses, because compression in a function needs
 * binary media types for the whole API, and every request body would then arrive in base64.
 */
const COMPRESSED_FROM = Size.kibibytes(8);

/**
 * Methods that API Gateway throttles separately. Therefore, a flood of payments cannot exhaust the limits of the
 * processors' callbacks and the jobs, and requests for the documents cannot exhaust the limit of the payments. An `ANY`
 * method is listed by the verbs that it accepts, because API Gateway rejects a setting for `ANY`.
 */
const OWN_THROTTLES = [
  '/callbacks/{proxy+}/POST',
  '/v1/admin/jobs/GET',
  '/v1/admin/jobs/{proxy+}/GET',
  '/v1/admin/jobs/{proxy+}/POST',
  '/docs/GET',
  '/docs/{proxy+}/GET',
  '/console/GET',
  '/console/{proxy+}/GET',
  '/v1/openapi.json/GET',
  '/llms.txt/GET',
];

/** Route that matches every path without a route of its own. */
export const OTHER_PATHS = '/{proxy+}';

/** The first path segment of every request to the address that AWS assigns. */
export const STAGE = 'live';

/**
 * Returns the path of the API's root at the address that callers use, without a trailing slash. Only for text that the
 * gateway and the firewall send unchanged: functions read the path from the request.
 */
export function rootPathOf({ domainName, basePath }: Pick<Settings, 'domainName' | 'basePath'>): string {
  if (domainName === undefined) return `/${STAGE}`;
  return basePath === undefined ? '' : `/${basePath}`;
}

/**
 * A policy for TLS 1.2 and 1.3 (Amazon API Gateway developer guide, "Supported security policies"). The default policy
 * of a regional API accepts TLS 1.0.
 */
const SECURITY_POLICY = 'SecurityPolicy_TLS13_1_2_PFS_PQ_2025_09';

/**
 * A REST API in front of functions, with throttling, access logs, and gateway errors in the format of the API's errors.
 */
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
      // The name must be unique in the account, because the gateway's metrics have it as a dimension.
      restApiName: Stack.of(this).stackName,
      description,
      endpointTypes: [EndpointType.REGIONAL],
      minCompressionSize: COMPRESSED_FROM,
      // The data stack creates the log role, if the settings require it.
      cloudWatchRole: false,
      defaultIntegration: integrationOf(fallback),
      deployOptions: {
        stageName: STAGE,
        throttlingRateLimit: settings.throttlingRate,
        throttlingBurstLimit: settings.throttlingBurst,
        methodOptions: Object.fromEntries(
          OWN_THROTTLES.map((method) => [
            method,
            { throttlingRateLimit: settings.throttlingRate, throttlingBurstLimit: settings.throttlingBurst },
          ]),
        ),
        // AWS charges separately for metrics per method. The metrics of the stage are free.
        metricsEnabled: false,
        tracingEnabled: tracingOf(this.node),
        accessLogDestination: new LogGroupLogDestination(accessLog),
        accessLogFormat: accessLogFormat(),
      },
    });
    this.api = api;
    const resource = api.node.defaultChild as CfnRestApi;
    resource.securityPolicy = SECURITY_POLICY;
    resource.endpointAccessMode = 'BASIC';
    // Removes the address output that CDK adds. The stacks declare an output without a trailing slash instead.
    this.api.node.tryRemoveChild('Endpoint');
    this.api.root.addMethod('ANY');
    // Requests that match no other route match this route, at any depth (Amazon API Gateway, greedy path variables).
    this.api.root.addProxy({ anyMethod: true });
    answerWithProblems(this.api, props.isDocumented === false ? undefined : rootPathOf(settings));
    acknowledge(this.api);
  }

  /**
   * Serves the API also under the domain of the data stack, if there is one. The domain is referenced by name: an
   * export could not be removed from the data stack while this stack imports it.
   *
   * @returns the base address for callers, without a trailing slash
   */
  serve({ domainName, basePath }: Pick<Settings, 'domainName' | 'basePath'>): string {
    if (domainName === undefined) return this.url;
    new CfnBasePathMapping(this, 'Mapping', {
      domainName,
      restApiId: this.api.restApiId,
      stage: this.api.deploymentStage.stageName,
      ...defined({ basePath }),
    });
    return `https://${domainName}${basePath === undefined ? '' : `/${basePath}`}`;
  }

  /** The base address assigned by AWS, without a trailing slash. */
  get url(): string {
    return `https://${this.api.restApiId}.execute-api.${this.api.env.region}.${this.api.stack.urlSuffix}/${this.api.deploymentStage.stageName}`;
  }

  /**
   * Routes paths to a function, whose router responds with 404 and 405.
   *
   * @param paths `/v1/orders` matches only this path, `/v1/orders/{proxy+}` matches everything below it; the most
   * specific path takes precedence
   * @param method a specific method takes precedence over `ANY`
   */
  route(paths: readonly string[], handler: Function, method: 'ANY' | 'POST' = 'ANY'): void {
    const integration = integrationOf(handler);
    for (const path of paths) this.api.root.resourceForPath(path).addMethod(method, integration);
  }
}

/** CDK's default, one permission per method, can exceed the size limit of a function's policy. */
function integrationOf(handler: Function): LambdaIntegration {
  return new LambdaIntegration(handler, { scopePermissionToMethod: false });
}

/** The path is not logged, because it may contain arbitrary text. */
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

/** The reasons appear in the synthesized validation report. */
function acknowledge(api: RestApi): void {
  Validations.of(api).acknowledge(
    {
      id: 'AwsSolutions::AwsSolutions-APIG2',
      reason:
        'The functions validate every request, with errors that name the field. The gateway could only report that a request is invalid.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG3',
      reason: 'A web ACL has a monthly cost. The setting payonce:firewall adds a web ACL to the payments API.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG4',
      reason: 'The functions check API keys against their hashes, so that all refusals have the same format.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-COG4',
      reason: 'The callers are servers with API keys, not users with passwords.',
    },
    {
      id: 'AwsSolutions::AwsSolutions-APIG6',
      reason:
        'Execution logs contain bodies and headers, including API keys. The access log is enabled and contains neither.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWExecutionLoggingEnabled',
      reason:
        'Execution logs contain bodies and headers, including API keys. The access log is enabled and contains neither.',
    },
    {
      id: 'Serverless::Serverless-APIGWXrayEnabled',
      reason: 'Traces cost money. The setting payonce:tracing enables them.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWAssociatedWithWAF',
      reason: 'A web ACL has a monthly cost. The setting payonce:firewall adds a web ACL to the payments API.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWCacheEnabledAndEncrypted',
      reason: 'Caching is disabled: a cache could serve one tenant’s response to another.',
    },
    {
      id: 'PCI.DSS.321::PCI.DSS.321-APIGWSSLEnabled',
      reason:
        'The finding is about client certificates for HTTP backends. Lambda integrations are called with signed requests.',
    },
  );
}
