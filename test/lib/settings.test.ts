import { describe, expect, test } from '@jest/globals';
import { readSettings } from '../../lib/settings.ts';
import { flagsOf } from '../../lib/synthesized.ts';
import { PAYONCE } from '../../local/cdk.ts';
import { testApp } from './test-app.ts';

const OWN_PROCESSOR = { 'payonce:sandbox': 'false', 'payonce:processorUrl': 'https://processor.example' };
const BIGCOMMERCE = {
  'payonce:shop': 'bigcommerce',
  'payonce:bigcommerceStore': 'abc123',
  'payonce:emailSender': 'a@shop.example',
};

const settingsOf = (context: Record<string, unknown>) => readSettings(testApp(context).node);

describe('settings', () => {
  test('retain data and call no processor by default', () => {
    expect(settingsOf({ 'payonce:sandbox': undefined })).toEqual({
      sandbox: false,
      allowLoopbackWebhooks: false,
      processors: [],
      routes: [],
      retainData: true,
      claimsLost: false,
      eventArchive: true,
      archive: false,
      archiveMode: 'governance',
      archiveYears: 7,
      archiveBatchSeconds: 300,
      eventsLostAfterSeconds: 180,
      firewall: false,
      natsBridge: false,
      tracing: false,
      accountLogRole: true,
      throttlingRate: 200,
      throttlingBurst: 400,
      emailsPerRecipient: 20,
      tenantRate: 100,
      tenantBurst: 200,
      operatorRoleClaim: 'roles',
      approvalHours: 72,
      memoryMb: 512,
      logRetentionDays: 90,
    });
  });

  test('can be given as text on the command line or as values in cdk.json', () => {
    expect(settingsOf({ 'payonce:throttlingRate': '50', 'payonce:retainData': 'false' })).toMatchObject({
      throttlingRate: 50,
      retainData: false,
    });
    expect(settingsOf({ 'payonce:throttlingRate': 50, 'payonce:firewall': true })).toMatchObject({
      throttlingRate: 50,
      firewall: true,
    });
  });

  test('in cdk.json do not affect tests and generated documents, which use only the feature flags of that file', () => {
    const flag = '@aws-cdk/core:newStyleStackSynthesis';
    expect(flagsOf({ 'payonce:testProcessorUrl': 'https://x.example', [flag]: true })).toEqual({ [flag]: true });
    expect(flagsOf()).toMatchObject({ [flag]: true });
  });

  test('set the retention of each scope in hours', () => {
    expect(settingsOf({ 'payonce:retention': '{"payments":24,"events":700}' }).retention).toEqual({
      payments: 24,
      events: 700,
    });
    expect(() => settingsOf({ 'payonce:retention': '{"payments":0}' })).toThrow(
      /payonce:retention is .* 1 to 8760 hours/,
    );
  });

  test.each(['paymnts', 'Payments', 'default', 'membership'])('reject the retention of %s', (scope) => {
    expect(() => settingsOf({ 'payonce:retention': { payments: 24, [scope]: 24 } })).toThrow(
      `"${scope}":24}, but must be a JSON object that maps the scopes payments and events to 1 to 8760 hours`,
    );
  });

  test('reject an event retention that is shorter than the redelivery window', () => {
    expect(settingsOf({ 'payonce:retention': { events: 672 } }).retention).toEqual({ events: 672 });
    expect(() => settingsOf({ 'payonce:retention': { events: 671 } })).toThrow(
      'payonce:retention keeps records of events for 671 hours, but an event can be redelivered for 672 hours ' +
        '(an event up to 14 days old can be replayed, and can then wait in a queue for up to 14 days). Set events to 672 hours or more.',
    );
  });

  test('allow a processor on the same machine only to the local stack, and only in test mode', () => {
    const url = 'http://127.0.0.1:8790';
    const only = { 'payonce:sandbox': 'false' };
    const local = { ...only, 'payonce:allowLoopbackWebhooks': PAYONCE.context['payonce:allowLoopbackWebhooks'] };
    expect(settingsOf({ ...local, 'payonce:testProcessorUrl': url }).processors).toMatchObject([
      { mode: 'test', settings: { url } },
    ]);
    const refused = [
      { ...only, 'payonce:testProcessorUrl': url },
      { ...only, 'payonce:processorUrl': url },
      { ...local, 'payonce:processorUrl': url },
      { ...local, 'payonce:testProcessorUrl': `${url}/` },
      { ...local, 'payonce:testProcessorUrl': 'http://192.168.0.2:8790' },
      { ...local, 'payonce:testProcessorUrl': 'http://127.0.0.1.example' },
    ];
    for (const context of refused)
      expect(() => settingsOf(context)).toThrow(/rocessorUrl is .* must be an https address/);
  });

  test('accept a query in the URL of the return page, because Payonce appends no path to it', () => {
    const returnUrl = 'https://shop.example/paid?from=payonce';
    const context = { 'payonce:stripeAccount': 'acct_1', 'payonce:stripeReturnUrl': returnUrl };
    expect(settingsOf(context).processors.at(-1)).toMatchObject({ mode: 'live', settings: { returnUrl } });
  });

  const routesOf = (context: Record<string, unknown>) => settingsOf(context).routes;
  const LIVE = { 'payonce:stripeAccount': 'acct_1' };

  test('send all payments of a mode to its only processor', () => {
    expect(routesOf({})).toEqual([{ mode: 'test', processor: 'sandbox' }]);
    expect(routesOf(LIVE)).toEqual([
      { mode: 'test', processor: 'sandbox' },
      { mode: 'live', processor: 'stripe' },
    ]);
  });

  test('apply a rule to the modes of its processor, and add no default route for these modes', () => {
    const routes = JSON.stringify([{ currency: 'USD', processor: 'stripe' }]);
    expect(routesOf({ ...LIVE, 'payonce:routes': routes })).toEqual([
      { mode: 'live', currency: 'USD', processor: 'stripe' },
      { mode: 'test', processor: 'sandbox' },
    ]);
    const both = { ...LIVE, 'payonce:testStripeAccount': 'acct_1', 'payonce:sandbox': 'false' };
    expect(routesOf({ ...both, 'payonce:routes': routes })).toEqual([
      { mode: 'test', currency: 'USD', processor: 'stripe' },
      { mode: 'live', currency: 'USD', processor: 'stripe' },
    ]);
  });

  test.each<[Record<string, unknown>, string]>([
    [{ 'payonce:sandbox': 'maybe' }, 'payonce:sandbox is "maybe", but must be true or false'],
    [{ 'payonce:throttlingRate': '0' }, 'payonce:throttlingRate is "0", but must be a whole number from 1 to 50000'],
    [
      { 'payonce:throttlingRate': '1e3' },
      'payonce:throttlingRate is "1e3", but must be a whole number from 1 to 50000',
    ],
    [{ 'payonce:peakRates': '[]' }, 'but must be a JSON list of 1 to 10 objects with from'],
    [{ 'payonce:peakRates': '[{"from":"2026-02-30","payments":2,"tenantPayments":1}]' }, 'from (a UTC day, yyyy-mm-dd'],
    [{ 'payonce:peakRates': '[{"from":"2026-02-01","payments":2,"tenantPayments":3}]' }, 'at most payments'],
    [{ 'payonce:peakRates': '[{"from":"2026-02-01","payments":50000,"tenantPayments":3}]' }, 'payments (1 to 40000)'],
    [
      {
        'payonce:peakRates':
          '[{"from":"2026-02-02","payments":2,"tenantPayments":1},{"from":"2026-02-01","payments":2,"tenantPayments":1}]',
      },
      'later than in the previous entry',
    ],
    [{ 'payonce:operatorIssuer': 'http://id.example' }, 'but must be an https address'],
    [{ 'payonce:operatorIssuer': 'https://id.example' }, 'must be given together or not at all'],
    [{ 'payonce:approvalAbove': '{"EURO":5}' }, 'but must be a JSON object that maps currencies, or *, to'],
    [{ 'payonce:approvalAbove': '{"EUX":5,"*":9}' }, 'but must be a JSON object that maps currencies, or *, to'],
    [{ 'payonce:approvalAbove': '{"EUR":5,"*":0.5}' }, 'to amounts in minor units'],
    [{ 'payonce:approvalAbove': '{}' }, 'to amounts in minor units'],
    [{ 'payonce:operatorRoles': '{"staff":"boss"}' }, 'to viewer, operator, approver or owner'],
    [{ 'payonce:operatorRoles': '{"staff":"viewer"}' }, 'so payonce:operatorIssuer must be an https address'],
    [{ 'payonce:operatorClientId': 'console' }, 'so payonce:operatorIssuer must be an https address'],
    [{ 'payonce:memoryMb': 64 }, 'payonce:memoryMb is 64, but must be a whole number from 128 to 10240'],
    [{ 'payonce:logRetentionDays': '8' }, 'payonce:logRetentionDays is "8", but must be one of 1, 3, 5, 7'],
    [
      { 'payonce:sandbox': 'false', 'payonce:processorUrl': 'http://processor.example' },
      'payonce:processorUrl is "http://processor.example", but must be an https address without a trailing slash',
    ],
    [
      { 'payonce:sandbox': 'false', 'payonce:processorUrl': 'https://processor.example?shop=1' },
      'must be an https address without a trailing slash, a query or a fragment',
    ],
    [{ 'payonce:operatorIssuer': 'https://id.example#' }, 'but must be an https address'],
    [
      { 'payonce:testProcessorUrl': 'https://processor.example' },
      'sandbox and external are called in test mode, so payonce:routes must define which payments are sent to each of them',
    ],
    [
      { ...OWN_PROCESSOR, 'payonce:callbackScheme': 'jwt' },
      'payonce:callbackScheme is "jwt", but must be one of sandbox, stripe',
    ],
    [{ 'payonce:callbackScheme': 'stripe' }, 'but payonce:processorUrl is missing'],
    [{ 'payonce:testCallbackScheme': 'stripe' }, 'but payonce:testProcessorUrl is missing'],
    [
      { ...OWN_PROCESSOR, 'payonce:processorWithout': 'holds,refund' },
      'payonce:processorWithout is "holds,refund", but must be one or several of holds, partial-captures, refunds, partial-refunds, separated by commas',
    ],
    [
      { ...OWN_PROCESSOR, 'payonce:processorWithout': '' },
      'payonce:processorWithout is "", but must be one or several of',
    ],
    [
      { 'payonce:testProcessorWithout': 'holds' },
      'payonce:testProcessorWithout is holds, so payonce:testProcessorUrl must be an https address',
    ],
    [{ 'payonce:sandboxUrl': 'https://sandbox.example' }, 'there is no setting payonce:sandboxUrl'],
    [
      { 'payonce:routes': '[{"processor":"sandbox","mode":"live"}]' },
      'sends live payments to sandbox, which has only the mode test',
    ],
    [{ 'payonce:routes': '[{"processor":"sandbox","mode":"both"}]' }, 'but must be a JSON list of'],
    [
      { 'payonce:testStripeReturnUrl': 'https://shop.example' },
      'so payonce:testStripeAccount must be the id of a Stripe account',
    ],
    [
      { 'payonce:stripeAccount': 'me' },
      'payonce:stripeAccount is "me", but must be the id of a Stripe account, acct_…',
    ],
    [{ 'payonce:routes': '[{"processor":"paypal"}]' }, 'but must be a JSON list of'],
    [{ 'payonce:routes': '[{"processor":"sandbox","currency":"usd"}]' }, 'the upper-case code of a currency'],
    [{ 'payonce:routes': '[{"processor":"sandbox","currency":"EUX"}]' }, 'the upper-case code of a currency'],
    [{ 'payonce:routes': '[{"processor":"sandbox","tenant":""}]' }, 'with the id of a tenant'],
    [{ 'payonce:routes': '[{"processor":"sandbox","tenant":"desk"}]' }, 'with the id of a tenant'],
    [
      { 'payonce:shopUrl': 'https://shop.example' },
      'but the sandbox is enabled and simulates the shop and the e-mail service',
    ],
    [
      { 'payonce:emailSender': 'a@shop.example' },
      'but the sandbox is enabled and simulates the shop and the e-mail service',
    ],
    [{ 'payonce:emailSender': 'the shop' }, 'payonce:emailSender is "the shop", but must be an e-mail address'],
    [
      { ...OWN_PROCESSOR, 'payonce:shopUrl': 'https://shop.example' },
      'so payonce:emailSender must be an e-mail address',
    ],
    [
      { ...OWN_PROCESSOR, ...BIGCOMMERCE, 'payonce:emailSender': 'a@müller.example' },
      'must be an e-mail address of ASCII',
    ],
    [
      { ...OWN_PROCESSOR, ...BIGCOMMERCE, 'payonce:emailSender': 'a&b@shop.example' },
      'must be an e-mail address of ASCII',
    ],
    [{ ...OWN_PROCESSOR, 'payonce:emailSender': 'a@shop.example' }, 'so payonce:shopUrl must be an https address'],
    [
      { ...OWN_PROCESSOR, ...BIGCOMMERCE, 'payonce:shopUrl': 'https://shop.example' },
      'but payonce:shop is bigcommerce',
    ],
    [{ ...OWN_PROCESSOR, 'payonce:shop': 'shopify' }, 'but must be own or bigcommerce'],
    [{ ...OWN_PROCESSOR, 'payonce:bigcommerceStore': 'abc' }, 'so payonce:shop must be bigcommerce'],
    [
      { ...OWN_PROCESSOR, 'payonce:shop': 'bigcommerce', 'payonce:emailSender': 'a@shop.example' },
      'payonce:bigcommerceStore must be 1 to 30 lower-case letters and digits',
    ],
    [
      { ...OWN_PROCESSOR, 'payonce:shop': 'bigcommerce', 'payonce:bigcommerceStore': 'abc' },
      'payonce:emailSender must be',
    ],
    [{ 'payonce:shop': 'bigcommerce' }, 'but the sandbox is enabled and simulates the shop and the e-mail service'],
    [{ 'payonce:domainName': '*.shop.example' }, 'but must be a domain name in lower case, without a wildcard'],
    [{ 'payonce:domainName': 'pay.shop.example' }, 'so payonce:certificateArn must be the ARN of a certificate'],
    [{ 'payonce:certificateArn': 'arn:aws:iam::1:server-certificate/a' }, 'but must be the ARN of a certificate'],
    [{ 'payonce:basePath': 'a/b' }, 'payonce:basePath is "a/b", but must be one segment of letters'],
    [{ 'payonce:basePath': 'money' }, 'payonce:basePath is money, so payonce:domainName must be a domain name'],
    [{ 'payonce:alarmEmail': 'ops' }, 'payonce:alarmEmail is "ops", but must be an e-mail address'],
    [{ 'payonce:alarmTopicArn': 'pager' }, 'payonce:alarmTopicArn is "pager", but must be the ARN of an SNS topic'],
    [{ 'payonce:alarmTopicArn': 'arn:aws:sns:eu-central-1:123456789012:pager.fifo' }, 'that is not FIFO'],
    [
      {
        'payonce:alarmEmail': 'ops@shop.example',
        'payonce:alarmTopicArn': 'arn:aws:sns:eu-central-1:123456789012:pager',
      },
      'but alarms are sent to payonce:alarmTopicArn: set only one of them',
    ],
    [{ 'payonce:routes': '[' }, 'but must be a JSON list of'],
    [{ 'payonce:routes': '[{"processor":"stripe"}]' }, 'but payonce:testStripeAccount is missing'],
    [{ 'payonce:sandbx': 'false' }, 'there is no setting payonce:sandbx; the settings are payonce:'],
  ])('reject %j during the synthesis, and list the allowed values', (context, message) => {
    expect(() => settingsOf(context)).toThrow(message);
  });
});
