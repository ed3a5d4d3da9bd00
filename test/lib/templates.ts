import type { Template } from 'aws-cdk-lib/assertions';

/** Settings that enable most optional resources, but not the sandbox. */
export const EVERYTHING = {
  'payonce:sandbox': 'false',
  'payonce:processorUrl': 'https://processor.example',
  'payonce:routes': '[{"currency":"USD","processor":"external"},{"processor":"stripe"}]',
  'payonce:shopUrl': 'https://shop.example',
  'payonce:emailSender': 'shop@shop.example',
  'payonce:stripeAccount': 'acct_1',
  'payonce:alarmEmail': 'on-call@shop.example',
  'payonce:firewall': 'true',
  'payonce:archive': 'true',
  'payonce:natsBridge': 'true',
  'payonce:jobTargets': JSON.stringify({
    membership: {
      url: 'https://members.shop.example',
      jobs: [
        {
          id: 'release-commission-locks',
          why: 'Releases commission locks whose time has come.',
          schedule: 'cron(20 * * * ? *)',
          every: 3_600,
          path: '/v1/admin/commission-locks/release-expired',
          scopes: ['membership:admin'],
        },
      ],
    },
  }),
  'payonce:paymentRequests': JSON.stringify({
    senders: [
      { tenant: 'ten_shop', mode: 'test' },
      { source: 'checkout', account: '444455556666', tenant: 'ten_shop', mode: 'live' },
      { queue: 'shop', tenant: 'ten_shop', mode: 'test' },
      { topic: 'payments', tenant: 'ten_shop', mode: 'test' },
      { subject: 'payments.shop', tenant: 'ten_shop', mode: 'test' },
    ],
    kafka: { cluster: 'arn:aws:kafka:eu-west-1:111122223333:cluster/shop/1' },
  }),
};

/** Settings that affect different resources, so that their tests can share one deployment. */
export const CONFIGURED = {
  'payonce:warmWriteUnits': '8000',
  'payonce:tracing': 'true',
  'payonce:tenantRate': '7',
  'payonce:tenantBurst': '9',
  'payonce:domainName': 'pay.shop.example',
  'payonce:certificateArn': 'arn:aws:acm:eu-central-1:123456789012:certificate/0a1b',
  'payonce:basePath': 'money',
  'payonce:operatorIssuer': 'https://id.example',
  'payonce:operatorAudience': 'payonce',
  'payonce:operatorClientId': 'console',
  'payonce:accountLogRole': 'false',
  'payonce:firewall': 'true',
  'payonce:reservedConcurrency': '50',
  'payonce:retention': '{"payments":24}',
  'payonce:peakRates': '[{"from":"2026-03-01","payments":20000,"tenantPayments":5000}]',
  'payonce:alarmTopicArn': 'arn:aws:sns:eu-central-1:123456789012:pager',
  'payonce:allowLoopbackWebhooks': 'true',
  'payonce:eventArchive': 'false',
};

export const WITH_STRIPE = {
  'payonce:stripeAccount': 'acct_1',
  'payonce:routes': '[{"currency":"USD","processor":"stripe"}]',
  'payonce:alarmEmail': 'ops@shop.example',
};

export function present(template: Template | undefined): Template {
  if (template === undefined) throw new Error('the stack was not synthesized');
  return template;
}

export interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: Readonly<Record<string, Readonly<Record<string, string | readonly string[]>>>>;
}

/**
 * Keyed by the construct that owns the role of the policy. The AWS CDK moves statements that do not fit into an inline
 * policy into managed policies.
 */
export function statementsByOwner(template: Template): ReadonlyMap<string, readonly Statement[]> {
  const policies = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy'].flatMap(
    (type) =>
      Object.entries(template.findResources(type)) as [
        string,
        { Properties: { PolicyDocument: { Statement: readonly Statement[] }; Roles?: readonly unknown[] } },
      ][],
  );
  const found = new Map<string, readonly Statement[]>();
  for (const [id, { Properties }] of policies) {
    // A policy without roles is for a program outside the stack.
    if (Properties.Roles === undefined) continue;
    const owner = id.replace(/Role.*$/, '');
    found.set(owner, [...(found.get(owner) ?? []), ...Properties.PolicyDocument.Statement]);
  }
  return found;
}

/** Maps each path of an API, after its method unless it serves all methods, to the construct of its function. */
export function routesOf(template: Template): Readonly<Record<string, string>> {
  const resources = template.findResources('AWS::ApiGateway::Resource') as Record<
    string,
    { Properties: { ParentId: { Ref?: string }; PathPart: string } }
  >;
  const pathOf = (id: string): string => {
    const found = resources[id]?.Properties;
    return found === undefined ? '' : `${pathOf(found.ParentId.Ref ?? '')}/${found.PathPart}`;
  };
  const methods = Object.values(template.findResources('AWS::ApiGateway::Method')) as {
    Properties: { HttpMethod: string; ResourceId: { Ref?: string }; Integration: { Uri: unknown } };
  }[];
  return Object.fromEntries(
    methods.map(({ Properties: { HttpMethod, ResourceId, Integration } }) => {
      const [, owner = 'none'] = /"(\w+)Function[0-9A-F]{8}"/.exec(JSON.stringify(Integration.Uri)) ?? [];
      const path = pathOf(ResourceId.Ref ?? '') || '/';
      return [HttpMethod === 'ANY' ? path : `${HttpMethod} ${path}`, owner];
    }),
  );
}
