import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { Stage } from 'aws-cdk-lib/aws-apigateway';
import { CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { explanationOf } from '../../lambdas/kernel/contract/api.ts';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import type { Settings } from '../settings.ts';
import { rootPathOf, STAGE } from './http-api.ts';
import { RetainedLogGroup } from './retained-log-group.ts';

export interface RequestFirewallProps {
  readonly stage: Stage;
  readonly settings: Pick<Settings, 'logRetentionDays' | 'domainName' | 'basePath'>;
}

/**
 * Maximum number of requests from one IP address in five minutes. The limit is high, because all servers of a shop
 * share few addresses.
 */
const REQUESTS_PER_ADDRESS = 20_000;

/** AWS WAF counts the requests of the last five minutes, so a blocked address stays blocked for a while. */
const RETRY_AFTER_SECONDS = 60;

/**
 * Headers that contain a credential, an idempotency key, or a signature. AWS WAF can only redact headers that are
 * listed by name.
 */
const REDACTED_HEADERS = [
  'authorization',
  'cookie',
  'idempotency-key',
  'payonce-signature',
  'proxy-authorization',
  'stripe-signature',
  'webhook-signature',
  'x-api-key',
];

/**
 * Blocks requests that are too large or too frequent before they cost an invocation. The functions also check the size
 * of requests.
 */
export class RequestFirewall extends Construct {
  constructor(scope: Construct, id: string, props: RequestFirewallProps) {
    super(scope, id);
    const root = rootPathOf(props.settings);
    const acl = new CfnWebACL(this, 'Acl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visibility('Acl'),
      // By default, AWS WAF inspects only 16 KB, and would treat a larger body as too large.
      associationConfig: { requestBody: { API_GATEWAY: { defaultSizeInspectionLimit: 'KB_32' } } },
      customResponseBodies: {
        BodySize: problem(root, 413, 'body_too_large', 'Content too large'),
        RatePerAddress: problem(root, 429, 'rate_limited', 'Too many requests'),
      },
      rules: [
        {
          name: 'BodySize',
          priority: 0,
          action: { block: { customResponse: { responseCode: 413, customResponseBodyKey: 'BodySize' } } },
          visibilityConfig: visibility('BodySize'),
          statement: {
            andStatement: { statements: [TOO_LARGE, { notStatement: { statement: isCallback(props.settings) } }] },
          },
        },
        {
          name: 'RatePerAddress',
          priority: 1,
          action: {
            block: {
              customResponse: {
                responseCode: 429,
                customResponseBodyKey: 'RatePerAddress',
                responseHeaders: [{ name: 'Retry-After', value: String(RETRY_AFTER_SECONDS) }],
              },
            },
          },
          visibilityConfig: visibility('RatePerAddress'),
          statement: { rateBasedStatement: { aggregateKeyType: 'IP', limit: REQUESTS_PER_ADDRESS } },
        },
      ],
    });
    new CfnWebACLAssociation(this, 'Association', { resourceArn: props.stage.stageArn, webAclArn: acl.attrArn });
    this.#logRefusals(acl, props.settings);
  }

  #logRefusals(acl: CfnWebACL, settings: RequestFirewallProps['settings']): void {
    const stack = Stack.of(this);
    const log = new RetainedLogGroup(this, 'Log', {
      // AWS WAF requires this prefix.
      name: `aws-waf-logs-${stack.stackName}`,
      retentionDays: settings.logRetentionDays,
      // The name is fixed, so a retained log group would make the next deployment fail.
      retain: false,
    });
    new CfnLoggingConfiguration(this, 'Logging', {
      resourceArn: acl.attrArn,
      logDestinationConfigs: [
        stack.formatArn({
          service: 'logs',
          resource: 'log-group',
          resourceName: log.logGroupName,
          arnFormat: ArnFormat.COLON_RESOURCE_NAME,
        }),
      ],
      // Without these entries, the log would contain the path, the query and all headers of a request.
      redactedFields: [
        { uriPath: {} },
        { queryString: {} },
        ...REDACTED_HEADERS.map((Name) => ({ singleHeader: { Name } })),
      ],
      loggingFilter: {
        DefaultBehavior: 'DROP',
        Filters: [
          { Behavior: 'KEEP', Requirement: 'MEETS_ANY', Conditions: [{ ActionCondition: { Action: 'BLOCK' } }] },
        ],
      },
    });
  }
}

const AS_IT_IS = [{ priority: 0, type: 'NONE' }];

const TOO_LARGE: CfnWebACL.StatementProperty = {
  sizeConstraintStatement: {
    comparisonOperator: 'GT',
    size: MAX_BODY_BYTES,
    fieldToMatch: { body: { oversizeHandling: 'MATCH' } },
    textTransformations: AS_IT_IS,
  },
};

/**
 * Returns a statement that matches only the path of a callback, not other paths that contain the same text. Processors'
 * events may be larger than requests, and the callbacks function has its own limit. At addresses that AWS assigns, the
 * path contains the stage; at a domain, it can contain a base path.
 */
function isCallback({ basePath }: RequestFirewallProps['settings']): CfnWebACL.StatementProperty {
  const before = [STAGE, ...(basePath === undefined ? [] : [basePath])].join('|');
  return {
    regexMatchStatement: {
      regexString: `^(/(${before}))?/callbacks/[a-z-]+/(test|live)$`,
      fieldToMatch: { uriPath: {} },
      textTransformations: AS_IT_IS,
    },
  };
}

/**
 * The firewall responds before the gateway, without a request id, and does not support the media type of problem
 * documents.
 */
function problem(root: string, status: number, code: string, title: string): CfnWebACL.CustomResponseBodyProperty {
  const detail = `${title}. The request had no effect.`;
  return {
    contentType: 'APPLICATION_JSON',
    content: JSON.stringify({ type: `${root}/${explanationOf(code)}`, title, status, code, detail }),
  };
}

function visibility(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { cloudWatchMetricsEnabled: true, metricName, sampledRequestsEnabled: false };
}
