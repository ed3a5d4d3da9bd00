import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { gatewayProblemBodies } from '../../lib/constructs/gateway-problems.ts';
import { STAGE } from '../../lib/constructs/http-api.ts';
import { IS_PROOF_RUN, sliceOf } from '../support/slice.ts';
import { synthesize } from '../support/synth.ts';
import { captureExamples } from './capture-examples.ts';

const captured = readFileSync(new URL('../../generated/api-examples.json', import.meta.url), 'utf8');

describe('the examples in the documents', () => {
  // Capturing all examples takes as long as ten other test files. Each run therefore captures a part, and compares it
  // with the same part of generated/api-examples.json, which `npm ci` writes.
  test('equal the responses that the handlers return now (otherwise, run npm run generate)', async () => {
    const text = await captureExamples((all) => sliceOf(all, 8));
    const now = examplesIn(text);
    const before = examplesIn(captured);

    expect(now.size).toBeGreaterThan(20);
    expect(new Map([...before].filter(([place]) => now.has(place)))).toEqual(now);
    if (IS_PROOF_RUN) expect(text).toBe(captured);
  });

  test('show each gateway problem as the gateway is configured to return it', async () => {
    const responses = (await synthesize()).service?.findResources('AWS::ApiGateway::GatewayResponse') ?? {};
    const bodies = Object.values(responses).map((each) => JSON.parse(templateOf(each)) as unknown);

    for (const body of gatewayProblemBodies(`/${STAGE}`)) expect(bodies).toContainEqual(body);
  });
});

/** A key is a problem code, or consists of an operation, a part (`request` or a status) and a name. */
function examplesIn(text: string): ReadonlyMap<string, unknown> {
  const { operations, problems } = JSON.parse(text) as {
    readonly operations: Record<string, Record<string, Record<string, unknown>>>;
    readonly problems: Record<string, unknown>;
  };
  const ofOperations = Object.entries(operations).flatMap(([operation, parts]) =>
    Object.entries(parts).flatMap(([part, examples]) =>
      Object.entries(examples).map(([name, example]) => [`${operation} ${part} ${name}`, example] as const),
    ),
  );
  return new Map<string, unknown>([...Object.entries(problems), ...ofOperations]);
}

function templateOf(response: { [name: string]: unknown }): string {
  const { Properties: properties } = response as {
    Properties: { ResponseTemplates: { 'application/json': string } };
  };
  return properties.ResponseTemplates['application/json'];
}
