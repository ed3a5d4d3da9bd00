import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { gatewayProblemBodies } from '../../lib/constructs/gateway-problems.ts';
import { STAGE } from '../../lib/constructs/http-api.ts';
import { inTurn } from '../support/slice.ts';
import { synthesize } from '../support/synth.ts';
import { captureExamples } from './capture-examples.ts';

const captured = readFileSync(new URL('../../generated/api-examples.json', import.meta.url), 'utf8');

describe('the examples in the documents', () => {
  // Capturing takes as long as ten other files, so it does not run every time. `npm ci` has written the captured
  // examples.
  inTurn(test, { place: 2, of: 4, otherwise: test.skip })(
    'equal the responses that the handlers return now (otherwise, run npm run generate)',
    async () => {
      const now = await captureExamples();

      expect(JSON.parse(now)).toEqual(JSON.parse(captured));
      expect(now).toBe(captured);
    },
  );

  test('show each gateway problem as the gateway is configured to return it', async () => {
    const responses = (await synthesize()).service?.findResources('AWS::ApiGateway::GatewayResponse') ?? {};
    const bodies = Object.values(responses).map((each) => JSON.parse(templateOf(each)) as unknown);

    for (const body of gatewayProblemBodies(`/${STAGE}`)) expect(bodies).toContainEqual(body);
  });
});

function templateOf(response: { [name: string]: unknown }): string {
  const { Properties: properties } = response as {
    Properties: { ResponseTemplates: { 'application/json': string } };
  };
  return properties.ResponseTemplates['application/json'];
}
