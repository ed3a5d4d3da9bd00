import { describe, expect, test } from '@jest/globals';
import { type GatewayEvent, gatewayRequest } from '../../lambdas/http/gateway-request.ts';
import { fc } from '../support/properties.ts';
import { gatewayEvent } from '../world/gateway-event.ts';

const read = (changes: Partial<GatewayEvent>) =>
  gatewayRequest({ ...gatewayEvent('GET', '/'), pathParameters: null, ...changes });

describe('headers', () => {
  test.each(['Idempotency-Key', 'idempotency-key', 'IDEMPOTENCY-KEY', 'iDeMpOtEnCy-KeY'])(
    'are found when spelled %s',
    (name) => {
      expect(read({ headers: { [name]: 'k' }, multiValueHeaders: null }).header('idempotency-key')).toEqual(['k']);
    },
  );

  test('are read from the map of single values, from the map of all values, or from both', () => {
    const single = { headers: { 'X-A': 'two' }, multiValueHeaders: {} };
    const multiple = { headers: {}, multiValueHeaders: { 'X-A': ['one', 'two'] } };

    expect(read(single).header('x-a')).toEqual(['two']);
    expect(read(multiple).header('x-a')).toEqual(['one', 'two']);
    expect(
      read({ ...single, multiValueHeaders: multiple.multiValueHeaders })
        .header('x-a')
        .toSorted(),
    ).toEqual(['one', 'two']);
  });

  test('contain a value once if both maps have it; names that differ only in case are merged', () => {
    const request = read({ headers: { 'x-a': 'one' }, multiValueHeaders: { 'X-A': ['one'], 'X-a': ['two'] } });

    expect(request.header('x-a')).toEqual(['one', 'two']);
  });

  test('are empty when the gateway sends none', () => {
    expect(read({ headers: null, multiValueHeaders: null }).header('x-a')).toEqual([]);
  });

  test('may have the name of a member of the object prototype', () => {
    expect(read({}).header('constructor')).toEqual([]);
    expect(read({ headers: JSON.parse('{"__proto__":"x"}') as Record<string, string> }).header('__proto__')).toEqual([
      'x',
    ]);
  });

  test('can be read from any maps without an error, and have no duplicate values', () => {
    const name = fc.string();
    const maps = fc.tuple(
      fc.option(fc.dictionary(name, fc.option(fc.string(), { nil: undefined }))),
      fc.option(fc.dictionary(name, fc.option(fc.array(fc.string()), { nil: undefined }))),
    );
    fc.assert(
      fc.property(maps, name, ([headers, multiValueHeaders], asked) => {
        const values = read({ headers: headers, multiValueHeaders: multiValueHeaders }).header(asked);
        expect(new Set(values).size).toBe(values.length);
      }),
    );
  });
});

describe('the root URL of the API', () => {
  test.each([
    ['/v1/payments', 'v1/payments'],
    ['/v1/payments/', 'v1/payments'],
    ['//v1//payments', 'v1/payments'],
    ['/v1/payments/pay_a/capture', 'v1/payments/pay_a/capture'],
    ['/v1', 'v1'],
    ['/', ''],
  ])(
    'is derived from a request to %s, with a stage, without one, and with the base path of a custom domain',
    (path, proxy) => {
      const rootFrom = (event: Partial<GatewayEvent>, address: string) =>
        new URL(read({ resource: '/{proxy+}', pathParameters: { proxy }, ...event }).root, address).href;

      // The path in the event does not contain the stage, but contains the base path of a custom domain.
      expect(rootFrom({ path }, `https://a.execute-api.example/live${path}`)).toBe(
        'https://a.execute-api.example/live/',
      );
      expect(rootFrom({ path }, `https://pay.example${path}`)).toBe('https://pay.example/');
      expect(rootFrom({ path: `/base${path}` }, `https://pay.example/base${path}`)).toBe('https://pay.example/base/');
    },
  );
});

describe('the path', () => {
  test.each([
    ['/v1/payments', ['v1', 'payments']],
    ['/v1/payments/', ['v1', 'payments']],
    ['//v1///payments', ['v1', 'payments']],
    ['/v1/%70ayments', ['v1', 'payments']],
    ['/v1/payments%2Fx', ['v1', 'payments/x']],
    ['/v1/%E0%A4%A', ['v1', '%E0%A4%A']],
    ['/v1/../v1/payments', ['v1', '..', 'v1', 'payments']],
    ['/', []],
    ['', []],
  ])('%s has the segments %j', (path, pieces) => {
    expect(read({ path }).path).toEqual(pieces);
  });

  test.each([
    ['/{proxy+}', { proxy: 'v1/payments' }, ['v1', 'payments']],
    ['/docs/{asset}', { asset: 'swagger-ui.css' }, ['docs', 'swagger-ui.css']],
    ['/docs', null, ['docs']],
    ['/', null, []],
  ])(
    'equals the path matched by the gateway at %s, without the base path of a custom domain',
    (resource, pathParameters, pieces) => {
      expect(read({ resource, path: `/prefix/${pieces.join('/')}`, pathParameters }).path).toEqual(pieces);
    },
  );
});

describe('the query', () => {
  test('contains the distinct values of each parameter', () => {
    const { query } = gatewayRequest(gatewayEvent('GET', '/x?a=1&a=2&b=3&a=1'));

    expect(Object.fromEntries(query)).toEqual({ a: ['1', '2'], b: ['3'] });
  });
});
