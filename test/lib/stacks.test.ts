import { describe, expect, test } from '@jest/globals';
import { Match, type Template } from 'aws-cdk-lib/assertions';
import * as z from 'zod';
import { getAudit } from '../../lambdas/archive/http/audit-route.ts';
import { postCallback } from '../../lambdas/callbacks/callbacks-api.ts';
import { JOB_ROUTES } from '../../lambdas/jobs/http/job-routes.ts';
import { LEASE_SECONDS } from '../../lambdas/kernel/contract/timing.ts';
import { OPERATOR_EFFECT_ROUTES } from '../../lambdas/operators/http/operator-effects.ts';
import { ORDER_ROUTES } from '../../lambdas/orders/http/order-routes.ts';
import { PAYMENT_POST_ROUTES } from '../../lambdas/payments/http/payment-routes.ts';
import { getOrders } from '../../lambdas/views/http/order-list.ts';
import { READ_ROUTES } from '../../lambdas/views/http/read-routes.ts';
import { WEBHOOK_ROUTES } from '../../lambdas/webhooks/http/webhook-routes.ts';
import { DataStack } from '../../lib/data-stack.ts';
import { DEFAULTS } from '../../lib/settings.ts';
import { synthesize } from '../support/synth.ts';
import { CONFIGURED, EVERYTHING, present, routesOf, statementsByOwner } from './templates.ts';
import { testApp } from './test-app.ts';

const stacks = await synthesize();
const configured = await synthesize(CONFIGURED);
const everything = await synthesize(EVERYTHING);
const thrownAway = await synthesize({ 'payonce:retainData': 'false', 'payonce:archive': 'true' });
const data = present(stacks.data);
const service = present(stacks.service);
const sandbox = present(stacks.sandbox);

describe('the stacks', () => {
  test('have no exports: otherwise, a setting could remove an export that another stack imports', () => {
    for (const template of [data, service, sandbox]) {
      const text = JSON.stringify(template.toJSON());
      expect(text).not.toContain('"Export"');
      expect(text).not.toContain('Fn::ImportValue');
    }
    expect(JSON.stringify(service.toJSON())).toContain('Fn::GetStackOutput');
  });
});

interface Warm {
  readonly WarmThroughput?: { readonly WriteUnitsPerSecond: number };
}

describe('the tables', () => {
  test('are on-demand, restorable, encrypted, and retained when CloudFormation deletes or replaces them', () => {
    data.resourceCountIs('AWS::DynamoDB::Table', 4);
    data.allResources('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: Match.objectLike({
        BillingMode: 'PAY_PER_REQUEST',
        DeletionProtectionEnabled: true,
        PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        SSESpecification: { SSEEnabled: true },
      }),
    });
  });

  test('include Idempotency, with time to live and a sparse index of open claims', () => {
    data.hasResourceProperties('AWS::DynamoDB::Table', {
      KeySchema: [{ AttributeName: 'pk', KeyType: 'HASH' }],
      TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
      GlobalSecondaryIndexes: [
        {
          IndexName: 'open-claims',
          KeySchema: [
            { AttributeName: 'openShard', KeyType: 'HASH' },
            { AttributeName: 'dueAtMs', KeyType: 'RANGE' },
          ],
          Projection: { ProjectionType: 'ALL' },
        },
      ],
      AttributeDefinitions: Match.arrayWith([{ AttributeName: 'openShard', AttributeType: 'N' }]),
    });
  });

  test('include Ledger, which streams old and new images and has no TTL', () => {
    data.hasResourceProperties('AWS::DynamoDB::Table', {
      StreamSpecification: { StreamViewType: 'NEW_AND_OLD_IMAGES' },
      TimeToLiveSpecification: Match.absent(),
      GlobalSecondaryIndexes: [Match.objectLike({ IndexName: 'recent-outcomes' })],
    });
  });

  test('are in a stack with termination protection, unless data may be deleted', () => {
    const protectedBy = (retainData: boolean) =>
      new DataStack(testApp(), 'Data', { settings: { ...DEFAULTS, processors: [], retainData } }).terminationProtection;
    expect(protectedBy(true)).toBe(true);
    expect(protectedBy(false)).toBe(false);
  });

  test('have a warm write throughput that can be configured and also applies to their indexes', () => {
    data.allResourcesProperties('AWS::DynamoDB::Table', { WarmThroughput: Match.absent() });
    const tables = Object.values(present(configured.data).findResources('AWS::DynamoDB::Table')) as {
      readonly Properties: Warm & { readonly GlobalSecondaryIndexes: readonly (Warm & { IndexName: string })[] };
    }[];
    const warmed = tables.flatMap(({ Properties }) => [Properties, ...Properties.GlobalSecondaryIndexes]);
    expect(warmed).toHaveLength(10);
    expect(warmed.filter(({ WarmThroughput }) => WarmThroughput?.WriteUnitsPerSecond !== 8000)).toEqual([]);
  });

  test('are deleted with their stack if the setting retainData is false', () => {
    present(thrownAway.data).allResources('AWS::DynamoDB::Table', {
      DeletionPolicy: 'Delete',
      Properties: Match.objectLike({ DeletionProtectionEnabled: false }),
    });
  });
});

test('buckets outlive their stack, and objects in the export bucket expire', () => {
  const buckets = Object.values(thrownAway).flatMap((template) =>
    Object.values(template?.findResources('AWS::S3::Bucket') ?? {}),
  ) as { readonly DeletionPolicy: string; readonly UpdateReplacePolicy: string }[];
  expect(buckets).toHaveLength(2);
  for (const bucket of buckets)
    expect(bucket).toMatchObject({ DeletionPolicy: 'RetainExceptOnCreate', UpdateReplacePolicy: 'Retain' });
  present(thrownAway.data).hasResourceProperties('AWS::S3::Bucket', {
    LifecycleConfiguration: {
      Rules: [
        Match.objectLike({
          Status: 'Enabled',
          Prefix: Match.absent(),
          ExpirationInDays: 7,
          AbortIncompleteMultipartUpload: { DaysAfterInitiation: 7 },
        }),
      ],
    },
  });
});

describe('tracing', () => {
  const traced = (made: Template) => {
    const functions = Object.values(made.findResources('AWS::Lambda::Function')) as {
      readonly Properties: { readonly TracingConfig?: { readonly Mode: string } };
    }[];
    const [stage] = Object.values(made.findResources('AWS::ApiGateway::Stage')) as {
      readonly Properties: { readonly TracingEnabled?: boolean };
    }[];
    const modes = functions.map(({ Properties }) => Properties.TracingConfig?.Mode);
    return { modes: [...new Set(modes)], stage: stage?.Properties.TracingEnabled };
  };

  test('is off by default, and no role may write traces', () => {
    expect(traced(service)).toEqual({ modes: [undefined], stage: false });
    expect(JSON.stringify(service.findResources('AWS::IAM::Policy'))).not.toContain('xray');
  });

  test('covers all functions and the API when the setting enables it', () => {
    expect(traced(present(configured.service))).toEqual({ modes: ['Active'], stage: true });
  });
});

describe('the API', () => {
  test('is throttled, and its access log has no query, header, body or path', () => {
    service.hasResourceProperties('AWS::ApiGateway::Stage', {
      StageName: 'live',
      MethodSettings: Match.arrayWith([
        Match.objectLike({ ResourcePath: '/*', ThrottlingRateLimit: 200, ThrottlingBurstLimit: 400 }),
      ]),
      AccessLogSetting: { Format: Match.not(Match.stringLikeRegexp('querystring|header|body|context.path')) },
    });
  });

  test.each([
    ['/~1callbacks~1{proxy+}', 'POST'],
    ['/~1v1~1admin~1jobs~1{proxy+}', 'POST'],
    ['/~1docs', 'GET'],
    ['/~1v1~1openapi.json', 'GET'],
    ['/~1llms.txt', 'GET'],
  ])('throttles %s separately', (ResourcePath, HttpMethod) => {
    const limits = { ThrottlingRateLimit: 200, ThrottlingBurstLimit: 400 };
    service.hasResourceProperties('AWS::ApiGateway::Stage', {
      MethodSettings: Match.arrayWith([Match.objectLike({ ResourcePath, HttpMethod, ...limits })]),
    });
  });

  test('passes the tenant rate limit to the functions that count requests', () => {
    const functions = present(configured.service).findResources('AWS::Lambda::Function', {
      Properties: { Environment: { Variables: Match.objectLike({ TENANT_LIMIT: '{"rate":7,"burst":9}' }) } },
    });
    expect(Object.keys(functions)).toHaveLength(6);
  });

  test.each([
    ['THROTTLED', '429', 'rate_limited'],
    ['REQUEST_TOO_LARGE', '413', 'body_too_large'],
    ['MISSING_AUTHENTICATION_TOKEN', '404', 'not_found'],
    ['DEFAULT_4XX', '400', 'invalid_request'],
    ['DEFAULT_5XX', '500', 'internal_error'],
  ])('returns %s as a problem document that has the same status as the response', (type, status, code) => {
    service.hasResourceProperties('AWS::ApiGateway::GatewayResponse', {
      ResponseType: type,
      StatusCode: status,
      ResponseParameters: Match.objectLike({
        'gatewayresponse.header.Content-Type': "'application/problem+json'",
        'gatewayresponse.header.Request-Id': 'context.requestId',
        'gatewayresponse.header.Link': `'</live/v1/openapi.json>; rel="service-desc", </live/docs>; rel="service-doc"'`,
      }),
      ResponseTemplates: {
        'application/json': Match.serializedJson({
          type: `/live/docs/problems#${code}`,
          title: Match.anyValue(),
          status: Number(status),
          code,
          detail: Match.anyValue(),
          request_id: '$context.requestId',
        }),
      },
    });
  });

  test('sends every path and method to a function, so that all errors have one form', () => {
    service.hasResourceProperties('AWS::ApiGateway::Resource', { PathPart: '{proxy+}' });
    const methods = Object.values(service.findResources('AWS::ApiGateway::Method')) as {
      Properties: { HttpMethod: string; ResourceId: unknown };
    }[];
    const onResource = Map.groupBy(methods, ({ Properties }) => JSON.stringify(Properties.ResourceId));
    for (const each of onResource.values())
      expect(each.map(({ Properties }) => Properties.HttpMethod)).toContain('ANY');
  });

  test('routes paths to functions by prefix; the most specific prefix takes precedence', () => {
    expect(routesOf(service)).toEqual({
      '/': 'Reads',
      'POST /': 'Payments',
      '/{proxy+}': 'Reads',
      'POST /{proxy+}': 'Payments',
      '/docs': 'ApiDocuments',
      '/docs/{proxy+}': 'ApiDocuments',
      '/console': 'ApiDocuments',
      '/console/{proxy+}': 'ApiDocuments',
      '/v1/openapi.json': 'ApiDocuments',
      '/llms.txt': 'ApiDocuments',
      '/v1/orders': 'Orders',
      '/v1/orders/{proxy+}': 'Orders',
      '/v1/ledger/{proxy+}': 'Reads',
      '/v1/balances': 'Reads',
      '/v1/corrections': 'OperatorsApi',
      '/v1/corrections/{proxy+}': 'OperatorsApi',
      '/v1/decisions': 'OperatorsApi',
      '/v1/decisions/{proxy+}': 'OperatorsApi',
      '/v1/annotations': 'OperatorsApi',
      '/v1/annotations/{proxy+}': 'OperatorsApi',
      '/v1/exports': 'ExportsApi',
      '/v1/exports/{proxy+}': 'ExportsApi',
      '/v1/events': 'Reads',
      '/v1/events/{proxy+}': 'Reads',
      '/v1/reports/{proxy+}': 'Reads',
      '/v1/admin/{proxy+}': 'OperatorsApi',
      '/v1/admin/audit': 'AuditApi',
      '/v1/admin/jobs': 'JobsApi',
      '/v1/admin/jobs/{proxy+}': 'JobsApi',
      '/v1/webhook_endpoints': 'WebhooksApi',
      '/v1/webhook_endpoints/{proxy+}': 'WebhooksApi',
      '/callbacks/{proxy+}': 'Callbacks',
    });
  });

  test.each([
    ['Payments', PAYMENT_POST_ROUTES],
    ['Reads', READ_ROUTES],
    ['Orders', [...ORDER_ROUTES, getOrders]],
    ['OperatorsApi', OPERATOR_EFFECT_ROUTES],
    ['AuditApi', [getAudit]],
    ['JobsApi', JOB_ROUTES],
    ['WebhooksApi', WEBHOOK_ROUTES],
    ['Callbacks', [postCallback]],
  ])('sends each route of %s to its function', (owner, routes) => {
    const answered = routesOf(service);
    for (const { method, path } of routes) {
      const greedy = path.split('/').map((_, index, pieces) => `${pieces.slice(0, index + 1).join('/')}/{proxy+}`);
      const resource = [path, ...greedy.toReversed()].find((each) => each in answered) ?? '';
      expect([path, answered[`${method} ${resource}`] ?? answered[resource]]).toEqual([path, owner]);
    }
  });

  test('compresses large responses, and passes every request body on as unmodified text', () => {
    service.hasResourceProperties('AWS::ApiGateway::RestApi', {
      MinimumCompressionSize: 8192,
      BinaryMediaTypes: Match.absent(),
    });
  });

  test('supports a custom domain, which is retained when the service is deleted; the API also stays available at the address that AWS assigns', () => {
    data.resourceCountIs('AWS::ApiGateway::DomainName', 0);
    service.resourceCountIs('AWS::ApiGateway::BasePathMapping', 0);
    present(configured.data).hasResourceProperties('AWS::ApiGateway::DomainName', {
      DomainName: 'pay.shop.example',
      RegionalCertificateArn: CONFIGURED['payonce:certificateArn'],
      EndpointConfiguration: { Types: ['REGIONAL'] },
      SecurityPolicy: 'TLS_1_2',
    });
    present(configured.data).hasOutput('DomainTarget', {});
    present(configured.service).hasResourceProperties('AWS::ApiGateway::BasePathMapping', {
      DomainName: 'pay.shop.example',
      BasePath: 'money',
      Stage: { Ref: Match.stringLikeRegexp('live') },
    });
    present(configured.service).hasOutput('ApiUrl', { Value: 'https://pay.shop.example/money' });
    present(configured.service).hasResourceProperties('AWS::ApiGateway::RestApi', {
      DisableExecuteApiEndpoint: Match.absent(),
    });
  });

  test('passes the configured identity provider to the function that serves the console', () => {
    const CONSOLE_SIGN_IN = '{"issuer":"https://id.example","audience":"payonce","clientId":"console"}';
    present(configured.service).hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: Match.objectLike({ CONSOLE_SIGN_IN }) },
    });
    expect(JSON.stringify(service.toJSON())).not.toContain('CONSOLE_SIGN_IN');
  });

  test('stays well below the 500 resources that CloudFormation allows per stack', () => {
    expect(Object.keys(service.toJSON()['Resources'] as object).length).toBeLessThan(400);
  });

  test('enables logging in a new account, and retains the account’s log role when the stack is deleted', () => {
    data.hasResource('AWS::ApiGateway::Account', { DeletionPolicy: 'Retain' });
    // Only the data stack, which is deployed first, contains this resource.
    for (const template of [service, sandbox]) template.resourceCountIs('AWS::ApiGateway::Account', 0);
    present(configured.data).resourceCountIs('AWS::ApiGateway::Account', 0);
  });

  test('has a firewall only when the setting enables it', () => {
    service.resourceCountIs('AWS::WAFv2::WebACL', 0);
    const walled = present(configured.service);
    walled.hasResourceProperties('AWS::WAFv2::WebACL', {
      // This limit equals the maximum size of requests, so the firewall inspects every accepted body completely.
      AssociationConfig: { RequestBody: { API_GATEWAY: { DefaultSizeInspectionLimit: 'KB_32' } } },
      Rules: Match.arrayWith([
        // Processors' events may be larger than merchants' requests.
        Match.objectLike({
          Statement: {
            AndStatement: {
              Statements: [
                { SizeConstraintStatement: Match.objectLike({ Size: 32_768 }) },
                {
                  NotStatement: {
                    Statement: { RegexMatchStatement: Match.objectLike({ FieldToMatch: { UriPath: {} } }) },
                  },
                },
              ],
            },
          },
        }),
      ]),
    });
    walled.hasResourceProperties('AWS::WAFv2::WebACL', {
      Rules: Match.arrayWith([
        Match.objectLike({
          Name: 'RatePerAddress',
          Action: {
            Block: {
              CustomResponse: Match.objectLike({
                ResponseCode: 429,
                ResponseHeaders: [{ Name: 'Retry-After', Value: '60' }],
              }),
            },
          },
        }),
      ]),
    });
    walled.resourceCountIs('AWS::WAFv2::WebACLAssociation', 1);
    walled.hasResourceProperties('AWS::WAFv2::LoggingConfiguration', {
      RedactedFields: Match.arrayWith([
        { UriPath: {} },
        { QueryString: {} },
        { SingleHeader: { Name: 'authorization' } },
      ]),
    });
  });
});

test.each([
  ['/live/callbacks/stripe/live', true],
  ['/money/callbacks/stripe/test', true],
  ['/callbacks/external/test', true],
  ['/live/v1/payments/callbacks/x', false],
  ['/live/v1/callbacks/stripe/live', false],
  ['/live/callbacks/stripe/live/more', false],
  ['/v1/callbacks/stripe/live', false],
])('the firewall allows the callback body size for %s: %s', (path, isOne) => {
  const template = JSON.stringify(present(configured.service).toJSON());
  const [, text = ''] = /"RegexString":"([^"]+)"/.exec(template) ?? [];
  expect(new RegExp(text).test(path)).toBe(isOne);
});

test('the APIs refuse TLS versions below 1.2, including at their default AWS address', () => {
  for (const template of [service, sandbox])
    template.hasResourceProperties('AWS::ApiGateway::RestApi', {
      SecurityPolicy: Match.stringLikeRegexp('^SecurityPolicy_TLS13_1_2_'),
      EndpointAccessMode: 'BASIC',
    });
});

describe('every function', () => {
  test.each([
    ['service', service],
    ['sandbox', sandbox],
  ])('runs on Node 24 and arm64 in the %s, and has a log group with a limited retention', (_name, template) => {
    template.allResourcesProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      LoggingConfig: { LogFormat: 'JSON', LogGroup: Match.anyValue() },
    });
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 90 });
  });

  test('that claims the operation of a request has a timeout shorter than the lease', () => {
    const { service: whole } = everything;
    const functions = Object.entries(present(whole).findResources('AWS::Lambda::Function')) as [
      string,
      { readonly Properties: { readonly Timeout: number } },
    ][];
    const claiming = [...statementsByOwner(present(whole))]
      // Consumers have a lease of their own. The resolver limits each of its operations to the time of a request.
      .filter(([owner, each]) => each.some(({ Sid }) => Sid === 'Claims') && !/^(?:FollowUps|JobsPayments)/.test(owner))
      .map(([owner]) => owner);
    expect(claiming.toSorted()).toEqual(['Intake', 'OperatorsApi', 'Orders', 'Payments']);
    for (const owner of claiming) {
      const [, found] = functions.find(([id]) => id.startsWith(`${owner}Function`)) ?? [];
      expect(found?.Properties.Timeout).toBeLessThan(LEASE_SECONDS);
    }
  });

  test('uses the account’s shared concurrency, unless a setting reserves concurrency for payments', () => {
    service.allResourcesProperties('AWS::Lambda::Function', { ReservedConcurrentExecutions: Match.absent() });
    present(configured.service).hasResourceProperties('AWS::Lambda::Function', {
      Timeout: 24,
      ReservedConcurrentExecutions: 50,
    });
  });

  test('receives the configured retention of the records that it writes', () => {
    const variables = Object.values(present(configured.service).findResources('AWS::Lambda::Function')).map(
      ({ Properties }) =>
        z.object({ Environment: z.object({ Variables: z.looseObject({}) }) }).parse(Properties).Environment.Variables,
    );
    const writing = variables.filter((each) => 'IDEMPOTENCY_TABLE' in each);
    expect(writing.length).toBeGreaterThan(5);
    expect(writing.every((each) => each['RETENTION'] === '{"payments":24}')).toBe(true);
  });

  test('receives the peak rates, which the command line reads from the data stack', () => {
    const functions = Object.values(present(configured.service).findResources('AWS::Lambda::Function'));
    expect(functions.length).toBeGreaterThan(20);
    for (const { Properties } of functions)
      expect(Properties).toMatchObject({ Environment: { Variables: { PEAK_RATES: CONFIGURED['payonce:peakRates'] } } });
    present(configured.data).hasOutput('PeakRates', { Value: CONFIGURED['payonce:peakRates'] });
  });
});
