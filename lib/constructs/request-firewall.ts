import type { Stage } from 'aws-cdk-lib/aws-apigateway';
import { CfnWebACL, CfnWebACLAssociation } from 'aws-cdk-lib/aws-wafv2';
import { Construct } from 'constructs';
import { MAX_BODY_BYTES } from '../../lambdas/contract/limits.ts';

export interface RequestFirewallProps {
  readonly stage: Stage;
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
      rules: [
        {
          name: 'BodySize',
          priority: 0,
          action: { block: { customResponse: { responseCode: 413 } } },
          visibilityConfig: visibility('BodySize'),
          statement: {
            sizeConstraintStatement: {
              comparisonOperator: 'GT',
              size: MAX_BODY_BYTES,
              fieldToMatch: { body: { oversizeHandling: 'MATCH' } },
              textTransformations: [{ priority: 0, type: 'NONE' }],
            },
          },
        },
        {
          name: 'RatePerAddress',
          priority: 1,
          action: { block: { customResponse: { responseCode: 429 } } },
          visibilityConfig: visibility('RatePerAddress'),
          statement: { rateBasedStatement: { aggregateKeyType: 'IP', limit: REQUESTS_PER_ADDRESS } },
        },
      ],
    });
    new CfnWebACLAssociation(this, 'Association', { resourceArn: props.stage.stageArn, webAclArn: acl.attrArn });
  }
}

function visibility(metricName: string): CfnWebACL.VisibilityConfigProperty {
  return { cloudWatchMetricsEnabled: true, metricName, sampledRequestsEnabled: false };
}
