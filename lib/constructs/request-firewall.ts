import { ArnFormat, Stack } from 'aws-cdk-lib';
import type { Stage } from 'aws-cdk-lib/aws-apigateway';
import { CfnLoggingConfiguration, CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { MAX_BODY_BYTES } from '../../lambdas/kernel/contract/limits.ts';
import type { Settings } from '../settings.ts';
import { RetainedLogGroup } from './retained-log-group.ts';

export interface RequestFirewallProps {
  readonly stage: Stage;
  readonly settings: Pick<Settings, 'logRetentionDays'>;
}

/** Requests of one address within five minutes; a shop's servers share few addresses, so it is generous. */
const REQUESTS_PER_ADDRESS = 20_000;

/** Stops what is too large or too much before it costs an invocation. The functions judge size by themselves as well. */
export class RequestFirewall extends Construct {
  constructor(scope: Construct, id: string, props: RequestFirewallProps) {
    super(scope, id);
    const acl = new CfnWebACL(this, 'Acl', {
      scope: 'REGIONAL',
      defaultAction: { allow: {} },
      visibilityConfig: visibility('Acl'),
      // By default only 16 KB are looked at, and a body that is not seen to its end counts as too large.
      associationConfig: { requestBody: { API_GATEWAY: { defaultSizeInspectionLimit: 'KB_32' } } },
      customResponseBodies: {
        BodySize: problem(413, 'body_too_large', 'Content too large'),
        RatePerAddress: problem(429, 'rate_limited', 'Too many requests'),
      },
      rules: [
        {
          name: 'BodySize',
          priority: 0,
          action: { block: { customResponse: { responseCode: 413, customResponseBodyKey: 'BodySize' } } },
          visibilityConfig: visibility('BodySize'),
          statement: { andStatement: { statements: [TOO_LARGE, { notStatement: { statement: IS_CALLBACK } }] } },
        },
        {
          name: 'RatePerAddress',
          priority: 1,
          action: { block: { customResponse: { responseCode: 429, customResponseBodyKey: 'RatePerAddress' } } },
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
      // The prefix is the service's rule.
      name: `aws-waf-logs-${stack.stackName}`,
      retentionDays: settings.logRetentionDays,
      // Its name is fixed: one that was kept would stand in the way of the next stack.
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
      // Headers and queries are logged unless named here.
      redactedFields: [
        { singleHeader: { Name: 'authorization' } },
        { singleHeader: { Name: 'idempotency-key' } },
        { singleHeader: { Name: 'cookie' } },
        { queryString: {} },
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

/** Processors' events may be larger; the function that takes them has a limit of its own. */
const IS_CALLBACK: CfnWebACL.StatementProperty = {
  byteMatchStatement: {
    searchString: '/callbacks/',
    positionalConstraint: 'CONTAINS',
    fieldToMatch: { uriPath: {} },
    textTransformations: AS_IT_IS,
  },
};

/** A firewall's answer goes before the gateway's; it knows no request id, and no media type of problems. */
function problem(status: number, code: string, title: string): CfnWebACL.CustomResponseBodyProperty {
  const detail = `${title}. Nothing was done.`;
  return {
    contentType: 'APPLICATION_JSON',
    content: JSON.stringify({ type: 'about:blank', title, status, code, detail }),
  };
}

function visibility(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { cloudWatchMetricsEnabled: true, metricName, sampledRequestsEnabled: false };
}
